#!/bin/bash
# SPDX-License-Identifier: MIT
# attach_filters.sh BUILD_DIR -- `mallow attach` and programs that forbid themselves system calls
# (seccomp(2)): one thread of several, and one that begins to while it is attached.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ -s "$build/lib/mallow/attach.bin" ] || {
    echo "skipped: no code for this processor"
    exit 77
}
# Calls through slots, and addresses that are read from them.
cc -O1 -g -fno-builtin -fPIC -pthread -o filters "$here/attach_filters.c" || fail "cc"

asleep ./filters before
await 60 grep -q '^State:.S' "/proc/$pid/status"
cp "/proc/$pid/maps" before
try 2 "$mallow" attach "$pid"
one_line_error
says err "it filters its system calls, and (the filter forbids|only root can read)"
cp "/proc/$pid/maps" after
cmp -s before after || fail "a refused process has other mappings: $(diff before after)"
ends "a program with a filter"

asleep ./filters thread
try 2 "$mallow" attach --exact "$pid"
one_line_error
says err "its threads have different filters .*'mallow attach --outside $pid'"
try 1 "$mallow" doctor "$pid"
says out "note +attach +'mallow attach $pid' cannot: its threads have different filters"
ends "a thread with a filter of its own"

for how in later copied; do
    for option in --exact --rate=64K; do
        asleep ./filters "$how"
        try 0 "$mallow" attach "$option" "$pid"
        echo >&"$input"
        ends "a filter that is set while attached: $how, $option"
        state=$(echo /dev/shm/mallow-"$(id -u)"/"$pid".*)
        try 0 "$mallow" status "$state"
        says out 'detached .*, because the program was about to filter its system calls'
        rm -f "$state"
    done
done
