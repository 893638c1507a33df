# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what the scripts of tests/jemalloc share, beside tests/real/lib.sh: where the two
# libraries are.
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
# shellcheck disable=SC2034 # all for the scripts that source this
source=${2:-}
# shellcheck disable=SC2034
include=$source/compat/jemalloc/include
# shellcheck disable=SC2034
compat=$build/lib/mallow/compat
# Debian's; empty when it is not installed.
reference=$(/sbin/ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | sed -n 1p)
reference=${reference%/*}
need_reference() {
    [ -n "$reference" ] || {
        echo "skipped: Debian's libjemalloc2 is not installed"
        exit 77
    }
}

# Also from within a function whose output is kept.
exec 3>&1
fail() {
    echo "FAILED: $*" >&3
    exit 1
}

ok() {
    echo "ok $*"
}

# What follows runs a server with either library in turn, and compares what it answered.

# each_library FUNCTION: calls it with $side, $library and a directory $here; what it prints must be
# the same.
each_library() {
    for side in ours ${reference:+theirs}; do
        library=$compat
        [ "$side" = ours ] || library=$reference
        here=$work/$side
        mkdir "$here"
        "$1" >"$work/$side.out" ||
            fail "$side: $(tail -n 5 "$work/$side.out" "$here"/*log 2>/dev/null)"
    done
    [ -s "$work/ours.out" ] || fail "no output to compare"
    [ -z "$reference" ] || diff "$work/theirs.out" "$work/ours.out" >"$work/diff" ||
        fail "with jemalloc and with mallow the output differs: $(head -n 10 "$work/diff")"
}

# serve LG_INTERVAL PROGRAM ARGUMENT...: in the background; $started is its pid, $here/log what it
# says. A script that sets reference_conf runs it on jemalloc with that instead.
reference_conf=
serve() {
    local conf=prof:true,lg_prof_interval:$1,prof_prefix:$here/jeprof
    shift
    [ "$side" = ours ] || conf=${reference_conf:-$conf}
    env LD_PRELOAD= LD_LIBRARY_PATH="$library" MALLOC_CONF="$conf" "$@" >"$here/log" 2>&1 \
        </dev/null &
    started=$!
    later_kill "$started"
}

# ends PID: asks a server to end, and waits until it did.
ends() {
    kill "$1"
    wait_for 20 eval "! kill -0 $1" || fail "$side: it does not end"
    wait "$1" || true
}

# Not one that the kernel gives to clients: of thousands of queries one would come from it.
free_port() {
    python3 - <<'END'
import random, socket
while True:
    port = random.randrange(10000, 32000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
END
}

# runs_on_it PID: ours is loaded, and no other jemalloc.
runs_on_it() {
    grep -q "$library/libjemalloc.so.2" "/proc/$1/maps" || fail "$side: $1 runs on another library"
}

# clean_log PATTERN: nothing from the allocator, and nothing that looks like trouble.
clean_log() {
    if grep -Ei "<jemalloc>|^mallow:|segmentation|assert|$1" "$here/log"; then
        fail "$side: the log is not clean"
    fi
}

# readable_dumps PROGRAM LEAST: jemalloc's names, and jeprof sums up the last but one, if there are
# several: the program may have been killed while it wrote the last.
readable_dumps() {
    local name dumps dump
    for name in ours ${reference:+theirs}; do
        [ "$name" = ours ] || [ -z "$reference_conf" ] || continue
        mapfile -t dumps < <(find "$work/$name" -name 'jeprof.*.i*.heap' | sort -V)
        [ "${#dumps[@]}" -ge "$2" ] || fail "$name: ${#dumps[@]} dumps"
        [[ ${dumps[0]##*/} =~ ^jeprof\.[0-9]+\.0\.i0\.heap$ ]] ||
            fail "$name: the first dump is ${dumps[0]}"
        dump=${dumps[${#dumps[@]} > 1 ? -2 : -1]}
        jeprof --text "$1" "$dump" >"$work/jeprof" 2>/dev/null ||
            fail "$name: jeprof cannot read $dump"
        grep -Eq '^Total: [0-9.]+ MB' "$work/jeprof" || fail "$name: $(head -n 3 "$work/jeprof")"
        [ "$(wc -l <"$work/jeprof")" -ge 3 ] || fail "$name: no functions in the profile"
    done
    echo "ok $(basename "$1"): the same answers, ${#dumps[@]} dumps"
}

# on_any_sampling PROGRAM: it passes with no block sampled, many, and all, on mallow and on its
# debug build.
on_any_sampling() {
    local conf preload
    for preload in "" "$build/lib/libmallow_debug.so"; do
        for conf in prof:false prof:true,lg_prof_sample:12 prof:true,lg_prof_sample:0; do
            LD_PRELOAD=$preload LD_LIBRARY_PATH=$compat MALLOC_CONF=$conf "$1" >"$work/any" || {
                tail -n 2 "$work/any"
                echo "FAILED: ${preload##*/} $conf"
                exit 1
            }
        done
    done
    echo "ok with every, some and no blocks sampled, and with the debug build"
}

# on_both PROGRAM BUILD_DIR OUTPUT: it passes on mallow and, so that it asks for what jemalloc does,
# on the other.
on_both() {
    LD_LIBRARY_PATH=$2/lib/mallow/compat "$1"
    [ -n "$reference" ] || return 0
    LD_LIBRARY_PATH=$reference "$1" >"$3" || {
        echo "Debian's jemalloc does not pass"
        tail -n 2 "$3"
        exit 1
    }
    echo "ok both libraries pass"
}
