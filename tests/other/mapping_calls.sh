#!/bin/bash
# SPDX-License-Identifier: MIT
# mapping_calls.sh BUILD_DIR SOURCE_DIR -- libraries that watch what the program maps see each call
# with mallow preloaded: in front of mallow, behind it, and those that patch libc's code; also while
# mallow records the mappings itself.  In a child of a process whose dynamic linker is locked the
# functions do not look anything up.
set -euo pipefail
build=$1 source=$2/tests/other
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
watcher=$work/watcher.so
cc -O1 -fno-builtin -w -shared -fPIC "$source/mapping_watcher.c" -o "$watcher"
cc -O1 -fno-builtin -pthread "$source/mapping_calls.c" -o "$work/program"

# try WHAT PRELOAD [ARGUMENT...]
try() {
    local what=$1 preload=$2 conf
    shift 2
    for conf in prof:true prof_mappings:true; do
        if env LD_PRELOAD="$preload" MALLOW_CONF=$conf "$work/program" "$@" >"$work/out" 2>&1; then
            echo "ok $what, $conf"
        else
            echo "FAILED: $what, $conf: $(tail -n 1 "$work/out")"
            touch "$work/failed"
        fi
    done
}

try "without mallow" "$watcher"
try "patch, without mallow" "" patch
try "child, without mallow" "" child "$watcher"
for name in mallow mallow_secure mallow_debug; do
    library=$build/lib/lib$name.so
    try "$name, then the watcher" "$library $watcher"
    try "the watcher, then $name" "$watcher $library"
    try "$name, and a patch of libc" "$library" patch
    try "$name, in a child" "$library" child "$watcher"
done
[ ! -e "$work/failed" ]
