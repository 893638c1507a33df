#!/bin/bash
# SPDX-License-Identifier: MIT
# stack_need.sh BUILD_DIR -- how much stack malloc and its kin take: a coroutine of 4 KiB does not
# overflow where no sample is taken.  doc/internals/stack-need.md has the table.
source "$(dirname "$0")/lib.bash"
# Not by lazy binding: the loader takes stack of its own when it binds a function.
cc -O1 -fno-builtin -pthread -Wl,-z,now -o stack_need "$here/stack_need.c" || fail "cc"

# need LIMIT CONF PATH [thread]: the bytes that the path takes, which are at most LIMIT, are in
# $bytes.
need() {
    bytes=$(MALLOW_CONF=$2 LD_PRELOAD=$preloaded ./stack_need "${@:3}" </dev/null | tail -1)
    [ -n "$bytes" ] || fail "${*:3}, $2: no answer"
    printf '%-24s %-18s %-42s %6s\n' "$(basename "$preloaded")" "${*:3}" "$2" "$bytes"
    [ "$bytes" -le "$1" ] || fail "${*:3}, $2: $bytes bytes of stack, more than $1"
}

for library in libmallow.so libmallow_secure.so; do
    preloaded=$build/lib/$library
    need 256 prof_active:false pair
    for path in first sizes large growing of-others; do
        need 2048 prof:false "$path"
        need 2048 prof_active:false,prof_state_min:0 "$path"
        # The state file is made on this stack.
        need 2048 prof_active:false,prof_state_min:100k "$path"
        need 8192 prof_sample:1,prof_state_min:0 "$path"
        # A thread's own stack may be as small.
        need 2048 prof_active:false,prof_state_min:0 "$path" thread
        need 2048 prof_active:false,prof_state_min:100k "$path" thread
    done
    need 2048 prof_active:false,prof_state_min:0,dump_live:1m growing
done
ok "paths of malloc"

preloaded=$build/lib/libmallow.so
mkfifo pipe
MALLOW_CONF=prof_active:false,prof_state_min:0 LD_PRELOAD=$preloaded ./stack_need requested \
    <pipe >said &
pid=$!
started+=("$pid")
exec {input}>pipe
await 60 grep -qs ready said
await 60 is_known "$pid"
# No samples are taken: prof_active:false.
try 0 "$mallow" set --wait 60 "$pid" rate=1M
try 0 "$mallow" reset --wait 60 "$pid"
try 0 "$mallow" dump --in-process "$pid"
exec {input}>&-
wait "$pid" || fail "requested: status $?"
bytes=$(tail -1 said)
[ "$bytes" -le 2048 ] || fail "requests of tools: $bytes bytes of stack"
ok "requests of tools: $bytes"

# The handler of CPU samples, beside what the kernel takes for any signal.
need 8192 prof_active:false any-signal
any=$bytes
need 16384 prof_active:false,prof_cpu:1000 cpu-time
[ "$bytes" -gt "$any" ] || fail "no CPU sample was taken: $bytes bytes of stack"
[ $((bytes - any)) -le 3072 ] || fail "the handler takes $((bytes - any)) bytes, more than 3072"
ok "the handler of CPU samples: $((bytes - any)) bytes"
