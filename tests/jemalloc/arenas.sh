#!/bin/bash
# SPDX-License-Identifier: MIT
# arenas.sh BUILD_DIR -- arenas with hooks, reset, destroyed, bound to threads.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/lib.sh"
on_both "$build/tests/jemalloc_arenas" "$build" "$work/out"
# Each block sampled: records go with the arena.
MALLOW_CONF=prof_sample:1 LD_LIBRARY_PATH=$build/lib/mallow/compat "$build/tests/jemalloc_arenas"
for library in secure debug; do
    LD_PRELOAD=$build/lib/libmallow_$library.so "$build/tests/jemalloc_arenas"
done
