#!/bin/bash
# SPDX-License-Identifier: MIT
# chroot.sh BUILD_DIR -- a process whose root is another folder, in which /proc, /dev/shm or both
# are missing, so that its library knows neither its start time nor its name, and may have no place
# for a state file. A daemon changes its root after its start, before its heap has grown. The
# command outside sees the process as any other.
source "$(dirname "$0")/lib.bash"
[ -n "${MALLOW_TEST_OWN_PIDS:-}" ] || skip "chroot(2) takes root"
needs python3
cc -g -O1 -o chrooted "$here/chrooted.c" || fail "cc"
at_end "umount -l $work/jail/proc 2>/dev/null"

# jail FOLDER...: the root, with these folders.
jail() {
    rm -rf jail
    mkdir jail || fail "mkdir"
    (cd jail && mkdir -p bin lib "$@") || fail "mkdir"
    cp "$build/lib/libmallow.so" jail/lib/
    cp chrooted jail/bin/
    # shellcheck disable=SC2046 # paths without blanks
    cp --parents $(ldd chrooted | grep -o '/[^ ]*') jail/ || fail "the libraries cannot be copied"
}
# begin COMMAND...: in the background; it ends with $input.
begin() {
    rm -f ready pipe && mkfifo pipe
    MALLOW_CONF=background_thread:false,prof_sample:65536 "$@" <pipe >ready 2>said &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
}
# field KEYS...: of the JSON in ./out.
field() {
    python3 -c "import functools, json, sys
print(functools.reduce(lambda at, key: at[key], sys.argv[1:], json.load(open('out'))))" "$@"
}
# looks WHAT: what each command says of it. The process finds its threads in /proc, so without that
# `leaks` says why there is no check.
looks() {
    local command
    await 60 is_known "$pid"
    try 0 "$mallow" ls
    says out "^ *$pid running .* chrooted"
    try 0 "$mallow" status --json "$pid"
    [ "$(field program)" = chrooted ] || fail "$1: program: $(field program)"
    [ "$(($(date +%s) - $(field started_ns) / 1000000000))" -le 600 ] ||
        fail "$1: started at $(field started_ns)"
    try 0 "$mallow" report --lines "$pid"
    says out 'keep .*chrooted\.c:'
    for command in 'set rate=64k' mark 'dump -o p.pb' reset 'cpu --for 0.1s' stop start threads; do
        # shellcheck disable=SC2086 # words
        try 0 "$mallow" $command "$pid"
    done
    case $1 in
    *with\ proc*)
        try 1 "$mallow" leaks --wait 60 "$pid"
        says out 'blocks leaked'
        ;;
    *)
        try 2 "$mallow" leaks "$pid"
        one_line_error
        says err "^mallow: pid $pid: no leak check: .* has no /proc"
        ;;
    esac
    kill -0 "$pid" || fail "$1: the process has ended"
}
ends() {
    exec {input}>&-
    wait "$pid" || fail "$1: status $?"
    ok "$1"
}

for places in "proc dev/shm" "proc" "dev/shm" ""; do
    what="root with ${places:-neither proc nor dev/shm}"
    # shellcheck disable=SC2086 # folders
    jail $places
    case " $places" in *\ proc*) mount -t proc proc jail/proc || fail "mount" ;; esac
    # The loader of chroot(1) says that it finds no such library.
    begin env LD_PRELOAD=/lib/libmallow.so chroot jail /bin/chrooted
    looks "$what"
    ends "$what"
    case " $places" in *\ proc*) umount -l jail/proc || fail "umount" ;; esac
done

# No library but those that are loaded is there any more.
mkdir -p empty
begin env LD_PRELOAD="$build/lib/libmallow.so" ./chrooted empty
looks "a daemon in an empty folder"
ends "a daemon in an empty folder"
