#!/bin/bash
# SPDX-License-Identifier: MIT
# zeros.sh BUILD_DIR -- resized blocks keep what was usable, and gain zeros where the program asks
# for them: on each library, with few and all blocks sampled, and on jemalloc.
set -euo pipefail
build=$1
. "$(dirname "$0")/lib.sh"
program=$build/tests/jemalloc_zeros

# tries WHAT SEED ALWAYS [NAME=VALUE...]
tries() {
    local what=$1 seed=$2 always=$3
    shift 3
    env "$@" "$program" "$seed" ${always:+always} >"$work/out" 2>&1 ||
        fail "$what, seed $seed: $(tail -n 3 "$work/out")"
}

for name in "" _secure _debug; do
    for conf in prof:false prof_sample:4096 prof_sample:1; do
        for seed in 1 2; do
            tries "libmallow$name.so, $conf" $seed "" \
                LD_PRELOAD="$build/lib/libmallow$name.so" MALLOW_CONF=$conf
            tries "libmallow$name.so, $conf, zero:true" $seed always \
                LD_PRELOAD="$build/lib/libmallow$name.so" MALLOW_CONF=$conf,zero:true
        done
    done
    ok "libmallow$name.so"
done
if [ -n "$reference" ]; then
    tries jemalloc 1 "" TEST_REFERENCE=1 LD_LIBRARY_PATH="$reference"
    tries "jemalloc, zero:true" 1 always TEST_REFERENCE=1 LD_LIBRARY_PATH="$reference" \
        MALLOC_CONF=zero:true
    ok "Debian's jemalloc"
fi
