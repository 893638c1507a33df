#!/bin/bash
# SPDX-License-Identifier: MIT
# guest.sh -- the tests of the booted machine, one after the other.  Each has a line "begin NAME"
# and a line "passed NAME SECONDS" or "failed NAME WHY"; tests/checks/aarch64_system.sh reads them.
set -u
L=/opt/lib/libmallow.so
PROGRAMS=/opt/tests
cd /tmp || exit 1

# ---- what the tests share ----

fail() {
    echo "  $*"
    for file in out err; do
        [ ! -s "$file" ] || sed -n "1,30s/^/  $file: /p" "$file"
    done
    exit 1
}

# try STATUS COMMAND...: output in ./out and ./err.
try() {
    local want=$1 got
    shift
    timeout 120 "$@" >out 2>err
    got=$?
    [ "$got" = "$want" ] || fail "$*: status $got, not $want"
}

says() {
    grep -Eq -- "$1" out || fail "the output does not say '$1'"
}

await() {
    local last=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$last" ] || fail "waited in vain: $*"
        sleep 0.1
    done
}

is_known() {
    mallow status "$1" >/dev/null 2>&1
}

# start_worker MODE: its pid is in $pid; each block is a sample.
start_worker() {
    : >ready
    MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$L worker "$1" >ready 2>worker.err &
    pid=$!
    await 60 grep -q ready ready
    await 60 is_known "$pid"
}

end_jobs() {
    local status=$? job
    for job in $(jobs -p); do
        kill -9 "$job" 2>/dev/null
    done
    exit "$status"
}

# A test runs in a shell of its own, in a folder of its own.
run() {
    local name=$1 begin=$SECONDS
    shift
    echo "begin $name"
    mkdir -p /tmp/work
    if (cd /tmp/work && trap end_jobs EXIT && "$@"); then
        echo "passed $name $((SECONDS - begin))"
    else
        echo "failed $name"
    fi
    cd /tmp && rm -rf /tmp/work
}

# ---- programs ----

starts() {
    LD_PRELOAD=$L try 0 "$@"
    [ ! -s err ] || fail "$* said something on stderr"
}

hello() {
    starts busybox true
    starts bash -c 'echo hello; (echo child); exit 0'
    says child
    # shellcheck disable=SC2016 # perl's
    starts perl -e 'my @a = map { "x$_" x 30 } 1 .. 20000; print scalar(@a), "\n"'
    says '^20000$'
}

# program NAME [CONF [ARGUMENT...]]
program() {
    local name=$1 conf=${2:-prof_sample:65536}
    shift
    [ $# = 0 ] || shift
    MALLOW_TEST_FORKS=20 MALLOW_CONF=$conf LD_PRELOAD=$L try 0 "$PROGRAMS/$name" "$@"
}

python_threads() {
    cat >threads.py <<'P'
import os, threading
keep = []
def work(n):
    for i in range(4000): keep.append(("x%d" % i) * (i % 50 + 20))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
for i in range(3):
    if os.fork() == 0: os._exit(0)
    os.wait()
print(len(keep), flush=True)
os._exit(0)
P
    PYTHONMALLOC=malloc try 0 mallow run --rate 4K -o python.pb.gz -- python3 threads.py
    says '^16000$'
    try 0 mallow report --top 30 python.pb.gz
    says 'work  threads.py:4'
    try 0 mallow traces python.pb.gz
    says 'libc.so.6'
    ! grep -q truncated out || fail "stacks are truncated"
}

# Also whether the access was a read or a write.
guarded() {
    try 0 bash "$PROGRAMS/run.sh" "$L" "$PROGRAMS/expected.txt" "$PROGRAMS/guarded_cases"
}

# ---- the command ----

redis() {
    LD_PRELOAD=$L redis-server --port 0 --unixsocket r.sock --save '' >redis.log 2>&1 &
    local server=$!
    await 60 test -S r.sock
    try 0 redis-benchmark -s r.sock -n 10000 -r 10000 -d 300 -P 16 -t set,lpush -q
    await 60 is_known "$server"
    try 0 mallow ls
    says "$server .*redis-server"
    try 0 mallow report --top 5 "$server"
    says 'sds|lpNew|lpInsert'
    try 0 mallow status "$server"
    says 'Resident|resident'
    try 0 mallow leaks "$server"
    kill -9 "$server"
    wait "$server" 2>/dev/null
    try 0 mallow report --top 5 "$server"
    says 'Ended: +killed'
    says 'sds|lpNew|lpInsert'
}

stop_start() {
    start_worker allocate
    try 0 mallow stop --wait 30 "$pid"
    says 'was on'
    try 0 mallow start --wait 30 "$pid"
    says 'was off'
    try 0 mallow set --wait 30 "$pid" rate=64K
    try 0 mallow report "$pid"
    says keep_block
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    try 0 mallow report "$pid"
    says 'Ended: +killed'
    says keep_block
}

# One that computes looks whether its registers change.
goes_on() {
    sleep 0.3
    kill -0 "$pid" 2>/dev/null || fail "the program has ended"
}

# leaks MODE: 60 blocks are lost, and are found where they were allocated.
leaks() {
    start_worker "$1"
    try 1 mallow leaks "$pid"
    says lose_block
    ! grep -q keep_block out || fail "blocks that are in use count as leaked"
    goes_on
}

cpu_time() {
    start_worker compute
    try 0 mallow cpu --for 1s --rate 200 "$pid"
    says compute_on
    goes_on
}

# Page faults and CPU time with the kernel's frames.
cpu_events() {
    start_worker allocate
    try 0 mallow cpu --event cpu-clock --for 2s --rate 200 "$pid"
    says 'el0_svc|invoke_syscall|do_el0|schedule'
}

# Each table of the library that is little used is small in memory, whatever the size of pages.
resident() {
    local with without
    # shellcheck disable=SC2016 # perl's
    local say='open F, "/proc/self/smaps_rollup"; while (<F>) { print "$1\n" if /^Rss: +(\d+)/ }'
    without=$(perl -e "$say")
    with=$(LD_PRELOAD=$L perl -e "$say")
    echo "guest: perl has $without KiB resident without mallow, $with KiB with it"
    [ $((with - without)) -le 4096 ] || fail "more than 4 MiB above libc"
}

# ---- the list ----

page=$(awk '/^KernelPageSize/ { print $2, $3; exit }' /proc/self/smaps)
echo "guest $(uname -rm), pages of $page"
run hello hello
run resident resident
run python_threads python_threads
run redis redis
run stop_start stop_start
run leaks leaks allocate
run leaks_asleep leaks sleep
run leaks_computing leaks compute
run cpu cpu_time
run cpu_events cpu_events
# Others fork hundreds of processes or make millions of calls, which takes minutes in the emulator.
if [ "$page" = "4 kB" ]; then
    for name in corner_cases deepbind info nothrow own_api; do
        run "program/$name" program "$name"
    done
    run guarded guarded
else
    run program/corner_cases program corner_cases
fi
echo "guest done"
