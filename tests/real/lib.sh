# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what every script of tests/real shares.  Sourced with the script's arguments:
# $1 is the build directory.  Each script works in a directory of its own ($work), which is removed
# at the end together with every process it named with `later_kill`.
set -euo pipefail

# Another library can stand in when a script itself is in doubt.
mallow_library=${MALLOW_TEST_LIBRARY:-$1/lib/libmallow.so}
# shellcheck disable=SC2034 # for the scripts that source this
build=$1
# The system's own programs, no translations, no options of the caller's: both runs see the same.
export LC_ALL=C TZ=UTC PATH=/usr/bin:/bin:/usr/sbin:/sbin
unset MALLOW_CONF MALLOC_CONF LD_PRELOAD

[ -r "$mallow_library" ] || {
    echo "$mallow_library: no such library"
    exit 1
}
work=$(mktemp -d /tmp/mallow-test.XXXXXX)
export XDG_CACHE_HOME=$work
pids=()

later_kill() {
    pids+=("$1")
}

# A server that does not end on being asked is killed: cleaning up must not hang.
cleanup() {
    local pid tries
    for pid in ${pids[@]+"${pids[@]}"}; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in ${pids[@]+"${pids[@]}"}; do
        tries=40
        while [ "$tries" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
            tries=$((tries - 1))
            sleep 0.05
        done
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap cleanup EXIT
# A time limit's signal ends the script through cleanup.
trap 'exit 143' TERM INT

fail() {
    echo "FAILED: $*"
    exit 1
}

# Skips the test: ctest counts it apart from those that ran.
need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "skipped: no $program here"
            exit 77
        }
    done
}

# The command under mallow.  Sampling is on with a small T unless the test says otherwise, so that
# the profiler works as hard in seconds as it would in hours.
under_mallow() {
    env LD_PRELOAD="$mallow_library" MALLOW_CONF="${mallow_options-prof_sample:65536}" "$@"
}

# start_plain LOG COMMAND...: in the background, without mallow; $started is its pid, to be ended by
# cleanup.  Not a function in the background: that would be a shell's pid.
start_plain() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null &
    started=$!
    later_kill "$started"
}

# start LOG COMMAND...: the same under mallow.
start() {
    local log=$1
    shift
    start_plain "$log" env LD_PRELOAD="$mallow_library" \
        MALLOW_CONF="${mallow_options-prof_sample:65536}" "$@"
}

# same NAME COMMAND...: runs the command without and with mallow; exit status and output must agree,
# and nothing may appear on stderr that was not there.  The command is run in a directory of its
# own.
same() {
    local name=$1 status_plain=0 status_mallow=0
    shift
    mkdir -p "$work/plain" "$work/mallow"
    (cd "$work/plain" && "$@") >"$work/$name.plain.out" 2>"$work/$name.plain.err" || status_plain=$?
    (cd "$work/mallow" && under_mallow "$@") >"$work/$name.mallow.out" 2>"$work/$name.mallow.err" ||
        status_mallow=$?
    if [ "$status_plain" -ne "$status_mallow" ]; then
        tail -n 20 "$work/$name.mallow.err"
        fail "$name: exit status $status_mallow with mallow, $status_plain without"
    fi
    diff -u "$work/$name.plain.out" "$work/$name.mallow.out" >"$work/diff" || {
        head -n 40 "$work/diff"
        fail "$name: the output differs"
    }
    diff -u "$work/$name.plain.err" "$work/$name.mallow.err" >"$work/diff" || {
        head -n 40 "$work/diff"
        fail "$name: what it says on stderr differs"
    }
    [ -s "$work/$name.plain.out" ] || fail "$name: no output to compare"
    echo "ok $name: exit status $status_plain, $(wc -c \
        <"$work/$name.plain.out") bytes of output alike"
}

# maps_mallow PID: the process has the library loaded.
maps_mallow() {
    grep -q "$(basename "$(readlink -f "$mallow_library")")" "/proc/$1/maps"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local tries=$(($1 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}
