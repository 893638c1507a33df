#!/bin/bash
# SPDX-License-Identifier: MIT
# checker.sh BUILD_DIR SOURCE_DIR -- HEAPCHECK and <gperftools/heap-checker.h>: modes, variables,
# messages, files and exit status; a program gives the answers that it gives with gperftools' own
# library, where that is installed.
. "$(dirname "$0")/lib.sh"
unset "${!HEAP_CHECK@}" HEAPCHECK PPROF_PATH
compile checker -L"$compat" -ltcmalloc -pthread
cd "$work" || fail "cd"
mkdir dumps
ln -s "$build/bin/mallow" pprof
debian=$(ls /usr/lib/*/libtcmalloc.so.4 2>/dev/null) || true

# check STATUS VARIABLE... -- CASE...: what the program prints is in ./out and ./err
check() {
    local expected=$1 status=0 their_status=0
    shift
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    env "${variables[@]}" LD_LIBRARY_PATH="$compat" HEAP_CHECK_DUMP_DIRECTORY="$work/dumps" \
        PPROF_PATH="$work/pprof" ./checker "$@" >out 2>err || status=$?
    [ "$status" = "$expected" ] ||
        fail "${variables[*]} $*: status $status; $(cat out err | tail -n 5)"
    [ -n "$debian" ] && [ -z "${ours_alone:-}" ] || return 0
    env "${variables[@]}" LD_PRELOAD="$debian" HEAP_CHECK_DUMP_DIRECTORY="$work/dumps" \
        ./checker "$@" >their-out 2>their-err || their_status=$?
    [ "$their_status" = "$status" ] || fail "${variables[*]} $*: their status"
    diff their-out out || fail "${variables[*]} $*: theirs (<), ours (>)"
}
says() { grep -Eq -- "$2" "$1" || fail "no line '$2' in: $(cat "$1")"; }
says_not() { ! grep -Eq -- "$2" "$1" || fail "a line '$2' in: $(cat "$1")"; }

# --- explicit checks ---
check 0 HEAPCHECK=local -- lost list head disabled ignored hidden thread
says out '^active, no check at the end$'
says out '^lost: leaks, 300 bytes in 3 objects$'
says out '^list: no leaks, 0 bytes in 0 objects$'
says out '^head: leaks, 640 bytes in 10 objects$'
says out '^disabled: no leaks, 0 bytes in 0 objects$'
says out '^ignored: no leaks, 0 bytes in 0 objects$'
says out '^hidden: leaks, 96 bytes in 1 objects$'
says out '^thread: leaks, 240 bytes in 5 objects$'
says err '^WARNING: Perftools heap leak checker is active -- Performance may suffer$'
says err '^Leak check lost detected leaks of 300 bytes in 3 objects$'
says err '^The 1 largest leaks:$'
says err '^Leak of 300 bytes in 3 objects allocated from:$'
none='^No leaks found for check "list" \(but no 100% guarantee that there aren.t any\): found'
says err "$none [0-9]+ reachable heap objects of [0-9]+ bytes\$"
ls dumps/checker.*.lost-end.heap >/dev/null || fail "no profile: $(ls dumps)"
echo "ok explicit checks"

ours_alone=1
check 0 HEAPCHECK=local -- unignored
says out '^unignored: leaks, 96 bytes in 1 objects$'
check 0 -- lost
says out '^not active, no check at the end$'
says out '^lost: no leaks$'
says err '^Heap checker is not active, hence checker "lost" will do nothing!$'
check 134 HEAPCHECK=nonsense --
says err 'Unsupported heap_check flag: nonsense; allowed: minimal, normal, strict'
unset ours_alone
echo "ok what is not active"

# --- the check at the end ---
for mode in minimal normal strict as-is; do
    check 0 HEAPCHECK=$mode -- list
    check 1 HEAPCHECK=$mode -- lost list
    says out '^active, a check at the end$'
    says err '^Leak check _main_ detected leaks of 300 bytes in 3 objects$'
    says err '^	@ [0-9a-f]+ lose'
    says err '^	@ [0-9a-f]+ main$'
    options='--inuse_objects --lines --heapcheck  --edgefraction=1e-10 --nodefraction=1e-10 --gv'
    says err "^.*pprof ./checker \"$work/dumps/checker\.[0-9]+\._main_-end\.heap\" $options\$"
    says err '^Exiting with error code \(instead of crashing\) because of whole-program memory'
done
check 1 HEAPCHECK=normal -- lost global
says out '^global: leaks$'
check 0 HEAPCHECK=normal -- lost cancel
says err '^Canceling the automatic at-exit whole-program memory leak check$'
check 0 HEAPCHECK=normal -- cleaned disabled ignored
check 1 HEAPCHECK=normal -- fork lost
says out '^child: status 7$'
echo "ok the check at the end"

# Without roots what the program holds is leaked, too, but not what is exempt.
ours_alone=1
check 1 HEAPCHECK=draconian -- list disabled ignored
says out '^list: leaks, 640 bytes in 10 objects$'
says out '^disabled: no leaks, 0 bytes in 0 objects$'
says out '^ignored: no leaks, 0 bytes in 0 objects$'
says err '^Not looking for thread stacks; objects reachable only from there will be'
check 0 HEAPCHECK=local HEAP_CHECK_IGNORE_GLOBAL_LIVE=0 -- list
says out '^list: leaks, 640 bytes in 10 objects$'
unset ours_alone
echo "ok without roots"

# --- pointers ---
check 0 HEAPCHECK=local -- inside
says out '^inside: leaks, 8192 bytes in 1 objects$'
check 0 HEAPCHECK=local HEAP_CHECK_MAX_POINTER_OFFSET=-1 -- inside
says out '^inside: no leaks'
check 0 HEAPCHECK=local HEAP_CHECK_TEST_POINTER_ALIGNMENT=1 -- unaligned lost
says out '^unaligned: leaks, 80 bytes in 1 objects$'
says err '^Found no leaks without pointer alignment: something might be placing pointers at'
says err '^Found leaks without pointer alignment as well: unaligned pointers must not be'
check 0 HEAPCHECK=local HEAP_CHECK_POINTER_SOURCE_ALIGNMENT=1 -- unaligned
says out '^unaligned: no leaks'
echo "ok unaligned pointers, and pointers far inside a block"

# --- output ---
ours_alone=1
check 0 HEAPCHECK=local HEAP_CHECK_IDENTIFY_LEAKS=1 -- lost
[ "$(grep -c '^leaked 100 byte object 0x' err)" = 3 ] || fail "the blocks are not named"
check 134 HEAPCHECK=normal HEAP_CHECK_IDENTIFY_LEAKS=1 -- lost
says err 'Whole-program memory leaks found\.$'
check 1 HEAPCHECK=normal HEAP_CHECK_MAX_LEAKS=1 -- lost thread
says err '^The 1 largest leaks:$'
check 1 HEAPCHECK=normal HEAP_CHECK_MAX_LEAKS=0 -- lost thread
says err '^The 2 largest leaks:$'
rm -r dumps
check 1 HEAPCHECK=normal PERFTOOLS_VERBOSE=0 -- lost
says err '^Could not write pprof profile to .*/dumps/checker\.[0-9]+\._main_-end\.heap$'
mkdir dumps
check 1 HEAPCHECK=normal HEAPPROFILE="$work/profile" -- lost
says err '^Leak check _main_ detected leaks of 300 bytes in 3 objects$'
[ -s profile.0001.heap ] || fail "no heap profile beside the leak check"
check 1 HEAPCHECK=normal PERFTOOLS_VERBOSE=-3 -- lost
[ ! -s err ] || fail "PERFTOOLS_VERBOSE=-3 shows: $(cat err)"
# What the files hold, read by the command that the message names.
heap=$(find dumps -name '*._main_-end.heap' | sort -V | tail -n 1)
./pprof --text --inuse_objects --lines --heapcheck ./checker "$heap" >out 2>err ||
    fail "pprof: $(cat err)"
says out '^Total: 3 objects|^ *3 +100'
says out 'lose'
echo "ok messages and files"
