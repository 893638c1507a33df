#!/bin/bash
# SPDX-License-Identifier: MIT
# tutorial.sh BUILD_DIR SOURCE_DIR -- the commands of gperftools' heap profiler page, one after the
# other, on mallow's library: link or preload, HEAPPROFILE, pprof with its options.  Each with
# gperftools' own pprof where it is installed, and with mallow under the name pprof.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
ln -sf "$build/bin/mallow" pprof
export XDG_CACHE_HOME=$work
readers=("$work/pprof")
command -v google-pprof >/dev/null && readers+=(google-pprof)

# `gcc [...] -o myprogram -ltcmalloc`, and `env HEAPPROFILE=/tmp/mybin.hprof myprogram`; or
# `env LD_PRELOAD="/usr/lib/libtcmalloc.so" <binary>`
compile tutorial
mv tutorial preloaded
compile tutorial -L"$compat" -ltcmalloc
for library in libtcmalloc.so libtcmalloc.so.4 libtcmalloc_minimal.so.4; do
    env LD_PRELOAD="$compat/$library" HEAPPROFILE="$work/$library" ./preloaded 2>log ||
        fail "LD_PRELOAD=$library: $(cat log)"
    [ -s "$library.0001.heap" ] || fail "LD_PRELOAD=$library: $(cat log)"
done
# Files as it grows, the first after 10 MiB in use.
env LD_LIBRARY_PATH="$compat" HEAPPROFILE="$work/profile" HEAP_PROFILE_INUSE_INTERVAL=10000000 \
    ./tutorial 2>log || fail "$(cat log)"
[ "$(find . -name 'profile.*.heap' | wc -l)" = 3 ] || fail "$(cat log)"

# shows PATTERN OPTION...: each reader's output
shows() {
    local pattern=$1 reader
    shift
    for reader in "${readers[@]}"; do
        "$reader" "$@" >out 2>err || fail "$reader $*: $(cat err)"
        grep -qE -- "$pattern" out || fail "$reader $*: no '$pattern': $(head -20 out; cat err)"
    done
}
shows_not() {
    local pattern=$1 reader
    shift
    for reader in "${readers[@]}"; do
        "$reader" "$@" >out 2>err || fail "$reader $*: $(cat err)"
        ! grep -qE -- "$pattern" out || fail "$reader $*: '$pattern': $(head -20 out)"
    done
}
last=profile.0003.heap
# `pprof --text gfs_master /tmp/profile.0100.heap`
shows '^ *22(\.0|MB).* fill' --text ./tutorial $last
shows '16.* grow_cache' --text ./tutorial $last
shows_not ' serve_request' --text ./tutorial $last
shows 'serve_request' --text --alloc_space ./tutorial $last
shows '^ *56 .* fill' --text --alloc_objects ./tutorial $last
shows '^ *40 .* fill' --text --inuse_objects ./tutorial $last
# `pprof --gv --focus=...`, `--ignore=...`: the picture without the viewer
shows 'digraph' --dot --focus=grow_cache ./tutorial $last
shows_not ' load_index' --text --focus=grow_cache ./tutorial $last
shows_not ' grow_cache' --text --ignore=grow_cache ./tutorial $last
# `pprof --base=/tmp/profile.0004.heap gfs_master /tmp/profile.0100.heap`: the growth alone
shows 'grow_cache' --text --base=profile.0001.heap ./tutorial $last
shows_not ' load_index' --text --base=profile.0001.heap ./tutorial $last
# `--lines`, `--list=...`, `--callgrind`, `--raw`
shows 'tutorial\.c:[0-9]+' --text --lines ./tutorial $last
shows 'memset' --list=fill ./tutorial $last
shows 'fn=.*grow_cache' --callgrind ./tutorial $last
if command -v dot >/dev/null; then
    shows '<svg' --svg ./tutorial $last
else
    echo "skipped: graphviz is not installed"
    exit 77
fi
echo "ok ${#readers[@]} readers"
