#!/bin/bash
# SPDX-License-Identifier: MIT
# older_kernel.sh BUILD_DIR [CALL...] -- system calls that Linux got after 3.10 fail as on a kernel
# without them (older_kernel.c): each alone, then all. A program with mallow runs, while it runs and
# at its end its profile is right, it answers requests, and no block counts as leaked.
# shellcheck source=tests/tool/lib.bash
source "$(dirname "$0")/../tool/lib.bash"
programs=$build/tests/other
only=("${@:2}")

# total FUNCTION: MiB below the function in ./out, a table.
total() {
    awk -v name="$1" '$8 == name { mib = $5
        if ($6 == "GiB") mib *= 1024; if ($6 == "KiB") mib /= 1024; print mib; exit }' out
}

# near FUNCTION MIB WHAT: it holds so much, give or take a sixth.
near() {
    local found
    found=$(total "$1")
    awk -v a="${found:-0}" -v b="$2" 'BEGIN { exit !(a > b * 5 / 6 && a < b * 7 / 6) }' ||
        fail "$calls: $3: ${found:-no} MiB below $1, not $2"
}

look() {
    try 0 "$mallow" report "$2"
    near keep_large 48 "$1"
    near keep_small "$small" "$1"
}

one() {
    calls=$1
    local conf=prof_sample:65536,prof_seed:7,background_thread:true
    conf+=,prof_final:true,dump_name:$work/at-end.pb
    rm -f at-end*
    mkfifo input
    : >said
    env LD_PRELOAD="$2" MALLOW_CONF="$conf" "$programs/older_kernel" "$calls" \
        "$programs/older_kernel_program" <input >said 2>complaints &
    pid=$!
    started=("$pid")
    exec 3>input
    await 60 grep -q ready said || fail "$calls: the program does not start: $(cat complaints)"
    look "while it runs" "$pid"
    try 0 "$mallow" stop "$pid"
    try 0 "$mallow" start "$pid"
    try 0 "$mallow" leaks "$pid"
    exec 3>&-
    wait "$pid" || fail "$calls: the program ends with status $?: $(cat complaints)"
    started=()
    [ ! -s complaints ] || fail "$calls: $(cat complaints)"
    set -- at-end.pb
    [ -r "$1" ] || fail "$calls: no profile at the end"
    look "at the end" "$1"
    rm -f input
    echo "ok $calls"
}

mapfile -t names < <("$programs/older_kernel" list)
[ "${#names[@]}" -ge 20 ] || fail "only ${#names[@]} calls"
if [ "${#only[@]}" -gt 0 ]; then names=("${only[@]}"); fi
small=32
for name in "${names[@]}" all; do
    one "$name" "$build/lib/libmallow.so"
done
# The hardened library's blocks of 256 bytes have 320.
for variation in secure debug; do
    if [ "$variation" = secure ]; then small=40; else small=32; fi
    one all "$build/lib/libmallow_$variation.so"
done
