#!/bin/bash
# SPDX-License-Identifier: MIT
# mappings.sh BUILD_DIR SOURCE_DIR -- HEAP_PROFILE_MMAP, HEAP_PROFILE_ONLY_MMAP and
# HEAP_PROFILE_MMAP_LOG: exact figures, and the same stacks and lines as with gperftools' own
# library.
. "$(dirname "$0")/lib.sh"
compile mappings -pthread
ours=$compat/libtcmalloc.so.4
debian=$(ls /usr/lib/*/libtcmalloc.so.4 2>/dev/null)

# run PREFIX LIBRARY VARIABLE PART...: the lines of the profile are in PREFIX, stderr in PREFIX.log
run() {
    local prefix=$work/$1 library=$2 variable=$3
    shift 3
    env LD_PRELOAD="$library" HEAPPROFILE="$prefix" "$variable=1" "$work/mappings" "$@" \
        2>"$prefix.log" || fail "mappings $*: $(cat "$prefix.log")"
    sed '/^$/,$d' "$prefix.0001.heap" >"$prefix"
}
# counts FILE LINE...: the counts of the stacks
counts() {
    local file=$1
    shift
    diff <(printf '%s\n' "$@" | sort) \
        <(sed 1d "$work/$file" | sed -E 's/ @.*//; s/ +/ /g; s/^ //' | sort) ||
        fail "$file: counts (>) are not as wanted (<)"
}
# sums FILE: live bytes, mappings and bytes since the start, over all stacks
sums() {
    sed 1d "$work/$1" | tr -d '[]:@' | awk '{ live += $2; made += $3; bytes += $4 }
        END { print live, made, bytes }'
}

run own "$ours" HEAP_PROFILE_ONLY_MMAP maps fixed data segments
counts own '1: 1064960 [ 1: 1064960]' '2: 1851392 [ 1: 2129920]' '0: 0 [ 5: 1556480]' \
    '2: 524288 [ 1: 655360]' '1: 131072 [ 1: 131072]' '0: 0 [ 1: 212992]' '1: 425984 [ 1: 425984]' \
    '1: 65536 [ 1: 98304]' '1: 163840 [ 1: 163840]' '0: 0 [ 1: 163840]'
grep -qE '^heap profile: +0: +0 \[ +0: +0\] @ heapprofile$' "$work/own" ||
    fail "$(head -1 "$work/own")"
# Which functions: the reader knows the format.
"$build/bin/mallow" report --lines --no-pager "$work/own.0001.heap" >"$work/report" 2>&1 ||
    "$build/bin/mallow" report "$work/own.0001.heap" >"$work/report"
for function in map_cut map_whole map_covered remap extend_data attach; do
    grep -q "$function" "$work/report" || fail "no $function: $(cat "$work/report")"
done

run both "$ours" HEAP_PROFILE_MMAP maps
[ "$(wc -l <"$work/both")" -ge 6 ] || fail "few lines: $(cat "$work/both")"
run off "$ours" HEAP_PROFILE_CLEANUP maps
grep -q 2129920 "$work/off" && fail "mappings without HEAP_PROFILE_MMAP"

# Threads, handlers that interrupt calls and allocations, children: nothing is lost or counted
# twice.
run threads "$ours" HEAP_PROFILE_ONLY_MMAP threads
[ "$(sums threads)" = "0 8000 524288000" ] || fail "threads: $(sums threads)"
run handlers "$ours" HEAP_PROFILE_MMAP handlers
grep -E '\[ *[0-9]+: *[0-9]+\] @ 0x0040' "$work/handlers" | awk '$2 != 0' | grep . &&
    fail "handlers left something mapped"
[ "$(grep -cE '\[ *40000: 655360000\]' "$work/handlers")" = 1 ] || fail "handlers: calls were lost"
run children "$ours" HEAP_PROFILE_ONLY_MMAP children
[ "$(sums children)" = "0 2000 131072000" ] || fail "children: $(sums children)"
# Results and errno.
for variable in HEAP_PROFILE_ONLY_MMAP HEAP_PROFILE_MMAP_LOG HEAP_PROFILE_CLEANUP; do
    run failures "$ours" "$variable" failures
done

if [ -z "$debian" ]; then
    echo "skipped: no libtcmalloc.so.4 of Debian here"
    exit 77
fi
# gperftools counts a mapping of which a part is unmapped as freed, in its number but not in its
# bytes: numbers of live mappings are left out.  So are its own mappings.
stacks() {
    sed 1d "$work/$1" | sed -E 's/^ *-?[0-9]+://; s/0x7[0-9a-f]{11}/LIBRARY/g; s/ +/ /g' |
        grep ' @ 0x' | sort
}
run theirs "$debian" HEAP_PROFILE_MMAP maps
run ours "$ours" HEAP_PROFILE_MMAP maps
diff <(stacks theirs) <(stacks ours) || fail "stacks: theirs (<), ours (>)"
[ "$(stacks ours | wc -l)" = 5 ] || fail "stacks: $(stacks ours)"
# Addresses differ; Debian's says 0x0 or what the stack held for an address that is not passed.
log() {
    sed -E 's/0x7[0-9a-f]{11}/ADDRESS/g; s/(= |start=)0x[0-9a-f]{6,}/\1ADDRESS/g;
        s/new_addr=0x[0-9a-f]*/new_addr=X/' "$work/$1.log" |
        grep -E '^(mmap|munmap|mremap|sbrk)\(' | sed -n '/len=1064960/,$p'
}
run theirs "$debian" HEAP_PROFILE_MMAP_LOG maps fixed data
run ours "$ours" HEAP_PROFILE_MMAP_LOG maps fixed data
diff <(log theirs) <(log ours) || fail "log: theirs (<), ours (>)"
[ "$(log ours | wc -l)" = 20 ] || fail "log: $(log ours)"
echo "ok"
