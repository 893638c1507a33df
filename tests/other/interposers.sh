#!/bin/bash
# SPDX-License-Identifier: MIT
# interposers.sh BUILD_DIR SOURCE_DIR -- a preloaded library that replaces a function of libc and
# allocates in it: for each function that libmallow.so calls, and for those that it replaces and
# passes on, in two ways (interposer.c), in front of mallow and behind it.
set -euo pipefail
build=$1 source=$2
library=$build/lib/libmallow.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Left out: where errno is, which no function of libc can do without; the loader's look-up, by which
# the replacements find libc's functions; the end of the program; and what is no function of libc.
left_out='__errno_location|dlsym|abort|_exit|__cxa_finalize|__gmon_start__|_ITM_.*|_Z.*'
lists="_IO_list_.*"
mapfile -t functions < <({
    nm -D --undefined-only "$library" | awk '$1 == "U" || $1 == "w" { print $2 }' |
        sed 's/@.*//'
    printf '%s\n' mmap munmap mremap madvise mprotect open openat read write close prctl \
        readlink secure_getenv fork fstat ftruncate getpid getrlimit sched_yield syscall uname \
        munlock dladdr dlclose dlopen pthread_attr_setstacksize pthread_create \
        pthread_key_create pthread_setspecific pthread_sigmask memchr memmove strchr strchrnul \
        strcmp strcspn strlen strncmp strnlen strrchr strspn strstr
} | sort -u | grep -Exv "$left_out|environ|__environ|__progname.*|__libc_.*|_dl_find_object|$lists")
[ "${#functions[@]}" -ge 50 ] || { echo "FAILED: only ${#functions[@]} functions"; exit 1; }

cc -O1 -fno-builtin -pthread "$source/tests/other/interposed.c" -o "$work/program"

# try FUNCTION KIND OPTIONS [ROUNDS]
try() {
    local mine=$work/$1-$2.so order
    cc -O1 -fno-builtin -w -shared -fPIC -D_GNU_SOURCE -DREPLACED="$1" -DKIND="$2" \
        "$source/tests/other/interposer.c" -o "$mine"
    for order in "$mine $library" "$library $mine"; do
        timeout -s KILL 60 env LD_PRELOAD="$order" MALLOW_CONF="$3" "$work/program" ${4+"$4"} \
            >"$mine.out" 2>&1 || {
            echo "FAILED: $1, kind $2, ${order// /, then }: status $?: $(tail -n 1 "$mine.out")"
            touch "$work/failed"
        }
    done
}

for function in "${functions[@]}"; do
    for kind in 1 2; do
        try "$function" "$kind" ""
    done
    # A state file from the start, and each block a sample.
    try "$function" 2 prof_state_min:0,prof_sample:1,prof_mappings:true
done
# Each block a sample: a sample calls none of these.
for function in memcpy memset memmove memcmp; do
    try "$function" 2 prof_sample:1
done
# Signals of samples interrupt malloc, and their handlers ask for the signal's action.
for kind in 1 2; do
    for event in "" ,prof_cpu_event:page-faults; do
        try sigaction "$kind" "prof_cpu:10000$event,prof_state_min:0" 100
    done
done
[ ! -e "$work/failed" ] || exit 1
echo "ok ${#functions[@]} functions"
