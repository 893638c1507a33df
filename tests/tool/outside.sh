#!/bin/bash
# SPDX-License-Identifier: MIT
# outside.sh BUILD_DIR -- `mallow attach --outside` and `mallow leaks --outside`: sums against what
# a program says that it allocated, all allocators that are installed, a static program; the guard;
# tools that are killed, two at once, targets that end, stacks that are none.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ "$(uname -m)" = x86_64 ] || skip "--outside knows x86-64 only"
[ "$(id -u)" = 0 ] || skip "it takes root to have probes"
flags=(-O1 -g -fno-builtin -pthread)
cc "${flags[@]}" -o outside "$here/outside.c" -lm || fail "cc"
# tell WORDS: the program does it; $answer is what it says.
tell() {
    echo "$*" >&"$to"
    read -r -t 120 answer <&"$from" || fail "the program did not do '$*'"
}
# attach ARGUMENTS: in the background, until the probes are there; its pid is in $tool.
attach() {
    : >err.tool
    "$mallow" attach --outside --force --for 0 -o now.pb.gz "$@" "$pid" >out.tool 2>err.tool &
    tool=$!
    started+=("$tool")
    await 60 has_begun 'sampling from outside'
}
detach() {
    kill -INT "$tool"
    wait "$tool" || fail "mallow attach: status $?: $(cat err.tool)"
}
# total_of: of a view's JSON on standard input.
total_of() {
    sed -n 's/.*"total": \([0-9]*\).*/\1/p'
}
# total TYPE: of the profile.
total() {
    "$mallow" top --json --sample-type "$1" now.pb.gz | total_of
}
# near NAME GOT WANT SIGMA: within four standard deviations, which chance leaves once in 16,000.
near() {
    awk -v got="$2" -v want="$3" -v sigma="$4" \
        'BEGIN { d = got - want; exit !(d <= 4 * sigma + 0.5 && -d <= 4 * sigma + 0.5) }' ||
        fail "$1: $2, not $3 +- 4 * $4"
    echo "   $1: $2, true $3, sigma $4"
}

start ./outside
if ! "$mallow" attach --outside --for 0.2 "$pid" >out 2>err; then
    grep -q 'CAP_BPF\|has no BPF\|has none (CONFIG_UPROBES)' err || fail "attach"
    skip "this kernel or container has no probes: $(cat err)"
fi
finish

# Each call is sampled: sums are exact, whichever function calls another one.
# exact COMMAND...
exact() {
    start "$@"
    tell b
    before=$answer
    attach --rate 1
    tell x 1
    read -r bytes _ live _ <<<"$answer"
    detach
    near "$* allocated" "$(total alloc_space)" "$bytes" 0
    near "$* live" "$(total inuse_space)" "$live" 0
    tell b
    [ "$answer" = "$before" ] || fail "malloc's code is not as it was: $answer, before: $before"
    finish
}
exact ./outside
ok "all functions of glibc's malloc, exactly"
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    file=/usr/lib/x86_64-linux-gnu/$library
    if [ -e "$file" ]; then
        exact env LD_PRELOAD="$file" ./outside
        ok "$library, exactly"
    else
        leave_out "$library is not installed"
    fi
done
cc "${flags[@]}" -static -o static "$here/outside.c" -lm || fail "cc -static"
exact ./static
ok "a static program, exactly"
if command -v musl-gcc >/dev/null; then
    musl-gcc "${flags[@]}" -o musl "$here/outside.c" || fail "musl-gcc"
    exact ./musl
    ok "musl's malloc, exactly"
else
    leave_out "musl-gcc is not installed"
fi

start ./outside
attach --rate 64K
tell s 65536
read -r bytes sigma live live_sigma <<<"$answer"
detach
near "sampled" "$(total alloc_space)" "$bytes" "$sigma"
near "sampled and live" "$(total inuse_space)" "$live" "$live_sigma"
try 0 "$mallow" report --sample-type alloc_space now.pb.gz
says out ' allocate .*outside\.c'
says out ' start_thread|clone'
ok "sums of samples of 4 threads are right, stacks are whole"

# leaks: what was not freed.
leak() {
    "$mallow" leaks --outside 1s --for 60 --force --rate 64K "$@" "$pid" >out.tool 2>err.tool &
    tool=$!
    started+=("$tool")
    : >err.tool
    await 60 has_begun 'sampling from outside'
    tell l
    sleep 1.5 # older than 1 s
    kill -INT "$tool"
    wait "$tool"
    status=$?
    cp out.tool out
    cp err.tool err
}
leak
[ "$status" = 1 ] || fail "leaks: status $status"
says out '#1  .* blocks \(.* to .*\), oldest '
grep -q ' leak .*outside\.c' <<<"$(grep -A1 '^#1 ' out)" || fail "the first stack is not leak()'s"
says_not out ' use .*outside\.c'
leak --json
valid leaks_outside
near "leaked" "$(total_of <out)" 5000000 550000
try 0 "$mallow" leaks --outside 0.1s --force "$pid"
ok "leaks shows the stacks of blocks that stay, and no others"

# The kernel takes the probes away with the tool, however that ends.
tell b
before=$answer
attach --rate 64K
tell b
[ "$answer" != "$before" ] || fail "malloc's code shows no probe"
kill -9 "$tool"
wait "$tool" 2>/dev/null
is_as_before() {
    tell b
    [ "$answer" = "$before" ]
}
await 60 is_as_before
ok "probes vanish with a killed tool"

attach --rate 64K
first=$tool
cp err.tool err.first
"$mallow" attach --outside --force --for 1 --rate 64K -o second.pb.gz "$pid" >out 2>err &
second=$!
wait "$second" || fail "a second tool: status $?"
tool=$first
detach
for file in now.pb.gz second.pb.gz; do
    [ -s "$file" ] || fail "two tools at once: there is no $file"
done
ok "two tools at once"

attach --rate 1
tell h
[ "$answer" = "done" ] || fail "disturbed"
detach
try 0 "$mallow" report --sample-type alloc_space now.pb.gz
says out ' (disturb|call_malloc) .*outside\.c'
ok "stacks whose contents are no frames"

attach --rate 64K
finish
wait "$tool" || fail "the process ended: status $?"
grep -q "note: pid $pid: the process ended after" err.tool || fail "the end is not told"
ok "the process may end"

# Real programs: what they keep, by their own count.
cat >keeper.py <<'END'
import sys
print("ready", flush=True)
kept = []
for line in sys.stdin:
    if line.startswith("q"):
        break
    for i in range(2000):
        kept.append(bytes(10000))
    print("done", flush=True)
END
start "$(readlink -f "$(command -v python3)")" keeper.py
attach --rate 64K
tell go
detach
near "python3's blocks" "$(total inuse_space)" 20066000 1150000
try 0 "$mallow" report --native now.pb.gz
says out 'PyBytes|bytes_new|python3'
finish
ok "python3"

if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
    redis-server --port 0 --unixsocket "$work/redis" --save '' --appendonly no >redis.out 2>&1 &
    pid=$!
    started+=("$pid")
    redis() {
        redis-cli -s "$work/redis" "$@"
    }
    answers() {
        [ "$(redis ping 2>/dev/null)" = PONG ]
    }
    used() {
        redis info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p'
    }
    await 60 answers
    before=$(used)
    attach --rate 64K
    redis eval "for i = 1, 20000 do redis.call('set', i, string.rep('x', 1000)) end" 0 >out
    grew=$(($(used) - before))
    detach
    # redis counts sizes as jemalloc rounds them up: some hundredths more.
    near "redis-server's blocks" "$(total inuse_space)" "$((grew * 24 / 25))" 1500000
    try 0 "$mallow" report now.pb.gz
    says out 'redis|sds|zmalloc|raxNew|dict'
    ok "redis-server under load"
else
    leave_out "redis-server is not installed"
fi

start ./outside
echo f >&"$to"
is_busy() {
    try 2 "$mallow" attach --outside --for 0.1 "$pid"
}
is_busy
one_line_error
says err "pid $pid: it calls its allocator [0-9]+ times a second: probes would take .*--force"
kill -9 "$pid"
wait "$pid" 2>/dev/null
exec {to}>&- {from}<&-
ok "a process that allocates without pause is refused, with the figure"

try 2 "$mallow" attach --outside 999999999
one_line_error
says err 'pid 999999999: no such process'
try 2 "$mallow" attach --outside abc
one_line_error
LD_PRELOAD=$build/lib/libmallow.so sleep 600 &
started+=($!)
preloaded=$!
has_library() {
    grep -q libmallow "/proc/$preloaded/maps"
}
await 60 has_library
try 2 "$mallow" attach --outside "$preloaded"
one_line_error
says err 'runs with mallow already'
if command -v setpriv >/dev/null; then
    user=65534
    share_build
    setpriv --reuid=$user --regid=$user --clear-groups sleep 600 &
    other=$!
    started+=("$other")
    is_sleep() {
        grep -q sleep "/proc/$other/comm"
    }
    await 60 is_sleep
    try 2 setpriv --reuid=$user --regid=$user --clear-groups env XDG_CACHE_HOME=/nonexistent \
        "$mallow" attach --outside -o /tmp/outside.pb.gz "$other"
    one_line_error
    says err 'CAP_|root'
else
    leave_out "setpriv is not installed"
fi
ok "refusals are one line"
