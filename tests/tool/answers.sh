#!/bin/bash
# SPDX-License-Identifier: MIT
# answers.sh BUILD_DIR -- which program a profile is of, whatever the program wrote over its
# arguments; which sample types have threads; why a table is empty; how long a process ran; which
# debug information is missing.
source "$(dirname "$0")/lib.bash"
cc -O1 -fno-builtin -o titled "$here/titled.c" || fail "titled.c does not compile"
export MALLOW_CONF=prof_sample:4096,prof_state_min:0

# start TITLE: the child's pid is in `child`, the parent's in `pid`
start() {
    rm -f ready # the last daemon may still have it open
    mkfifo ready || fail "mkfifo failed"
    LD_PRELOAD=$build/lib/libmallow.so ./titled "$1" >ready &
    pid=$!
    started+=("$pid")
    { read -r one && read -r other; } <ready || fail "the daemon ended"
    child=$one
    [ "$child" != "$pid" ] || child=$other
    started+=("$child")
}
for title in 'server: master process /usr/sbin/server -c /etc/server/main.conf' \
    '/usr/sbin/daemon: worker 3 /x/y' 'user@pts/0: idle/now' 'idle' 'a b'; do
    start "$title"
    wanted=titled
    [ "$title" != idle ] || wanted=idle # as a link would be called
    try 0 "$mallow" report "$child"
    says out "^Program: $wanted "
    try 0 "$mallow" top "$child"
    says out "^File: $wanted\$"
    try 0 "$mallow" status --json "$child"
    says out "\"program\": \"$wanted\""
    kill -9 "$child" "$pid"
    wait "$pid" 2>/dev/null
done
ok "programs that write a title over their arguments"

start server
try 0 "$mallow" threads "$child"
says out 'titled|server'
try 2 "$mallow" threads --sample-type alloc_space "$child"
says err 'no thread_id for alloc_space; it does for (.*, )?inuse_space'
for view in top report; do
    try 2 "$mallow" "$view" --thread "$child" --sample-type alloc_space "$child"
    says err '^mallow: --thread: alloc_space is not stored by thread; these are: .*inuse_space'
done
try 0 "$mallow" top --thread "$child" "$child"
says_not err note
# The parent holds nothing of what it allocated.
"$mallow" threads --sample-type alloc_space "$pid" >out 2>err
[ $? = 2 ] || fail "threads of what was allocated"
says err 'not for alloc_space|no thread_id for alloc_space'
ok "types by thread"

# Samples without a stack; a selection without a value.
printf '%s\n' 'heap profile: 3: 3072 [3: 3072] @ heapprofile' ' 3: 3072 [3: 3072] @' >bare.heap
try 0 "$mallow" report bare.heap
says out '^Total: +3\.00 KiB'
says_not out 'all values are 0'
says out 'nothing: the samples have no stacks|unknown'
printf 'a;b 3\nc;d 4\nc;e 0\n' >some.folded
for view in 'report --focus=e' 'report --stacks --focus=e'; do
    # shellcheck disable=SC2086 # words
    try 0 "$mallow" $view some.folded
    says_not out '^Total: +7'
done
try 0 "$mallow" threads --focus=e some.folded
says_not out 'all values are 0'
ok "empty tables"

# heaptrack maps the loader first; the command names the program.
printf '%s\n' 'v 10400 3' 'X /opt/tools/busy --fast /etc/x' 'I 1000 2000' \
    's 1b /lib64/ld-linux-x86-64.so.2' 's f /opt/tools/busy' 's 4 main' 'i 1000 1' 'i 401000 2 3' \
    't 1 0' 't 2 1' 'a 64 2' '+ 0' >busy.heaptrack
try 0 "$mallow" top busy.heaptrack
says out '^File: busy$'
try 0 "$mallow" report busy.heaptrack
says out '^Program: busy'
ok "heaptrack's program"

# sleep itself closes its stderr before it ends.
MIMALLOC_SHOW_STATS=1 LD_PRELOAD=$build/lib/mallow/compat/libmimalloc.so.2 \
    LD_LIBRARY_PATH=$build/lib:$build/lib/mallow/compat bash -c 'sleep 0.3; :' 2>err ||
    fail "$(cat err)"
says err '^ *elapsed: +(0\.[3-9]|[1-9])'
ok "the time of a process"

# Debug information in files beside the objects (-gsplit-dwarf): inlined functions, while these are
# there; a line that says what is missing, when they are not.
cat >split.c <<'END'
#include <stdlib.h>
static void *volatile kept[300];
static inline __attribute__((always_inline)) void *inlined(int i) { return malloc(8000 + i); }
__attribute__((noinline)) void outer(void) { for (int i = 0; i < 300; i++) kept[i] = inlined(i); }
int main(void) { outer(); return 0; }
END
for version in 4 5; do
    gcc -g -gdwarf-$version -gsplit-dwarf -O1 -c split.c || fail "gcc failed"
    gcc -o split split.o || fail "gcc failed"
    [ -s split.dwo ] || fail "gcc made no split.dwo"
    "$mallow" run --rate 4K -o split.heap -- ./split >out 2>err || fail "split does not run"
    export XDG_CACHE_HOME=$work/cache$version
    try 0 "$mallow" top split.heap
    says out ' inlined'
    says_not err dwo
    mv split.dwo kept.dwo
    export XDG_CACHE_HOME=$work/cache$version.again
    try 0 "$mallow" top split.heap
    says out ' outer$'
    says err '^mallow: note: .*/split: its debug information is in split.dwo .* not there'
done
ok "split debug information"
