#!/bin/bash
# SPDX-License-Identifier: MIT
# vm_children.sh BUILD_DIR -- a child that shares the memory of its parent, by vfork(2) or
# clone(CLONE_VM), allocates and frees: the parent's profile has all of it, and the child's _exit(2)
# ends neither the profile nor the state file.
source "$(dirname "$0")/lib.bash"
cc -g -O1 -fno-builtin -o vm_children "$here/vm_children.c" || fail "cc"
for kind in vfork clone; do
    for library in libmallow.so libmallow_secure.so; do
        conf=prof_sample:1,prof_state_min:0
        rm -f pipe
        mkfifo pipe
        MALLOW_CONF=$conf LD_PRELOAD=$build/lib/$library ./vm_children $kind <pipe >said &
        pid=$!
        started+=("$pid")
        exec {input}>pipe
        await 60 grep -q ready said
        try 0 "$mallow" status "$pid"
        says out 'vm_children \(pid [0-9]+\): running'
        try 0 "$mallow" report --sample-type inuse_objects "$pid"
        says out '^ *1000 .* by_child'
        says out '^ *1500 .* by_parent'
        echo >&"$input"
        exec {input}>&-
        wait "$pid" || fail "$kind, $library: status $?"
        ! compgen -G "/dev/shm/mallow-*/$pid.*" || fail "$kind, $library: the file is left"
        ok "$kind, $library"
    done
done
