#!/bin/bash
# SPDX-License-Identifier: MIT
# debug.sh BUILD_DIR SOURCE_DIR -- libtcmalloc_debug.so.4 ends programs that misuse the heap, with a
# line that says how, and the stacks that allocated and freed the block.
. "$(dirname "$0")/lib.sh"
compile misuse -L"$compat" -ltcmalloc_debug -Wno-error
need addr2line

# misuse MISTAKE [VARIABLE=VALUE...]: runs the program; status and output, addresses as ADDRESS
misuse() {
    local mistake=$1
    shift
    status=0
    env "$@" LD_LIBRARY_PATH="$compat" "$work/misuse" "$mistake" >"$work/said" 2>&1 || status=$?
    sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/thread [0-9]+/thread N/' "$work/said" >"$work/plain"
}

# finds MISTAKE LINE [HISTORY-LINE...]: the last line, and the lines that head stacks
finds() {
    local mistake=$1 line=$2 heading
    misuse "$mistake"
    [ "$status" = 134 ] || fail "$mistake: status $status, not 134 (SIGABRT): $(cat "$work/said")"
    [ "$(tail -n 1 "$work/plain")" = "mallow: $line" ] || fail "$mistake: $(cat "$work/said")"
    shift 2
    for heading; do
        grep -qxF "mallow: $heading" "$work/plain" || fail "$mistake: '$heading' is missing:
$(cat "$work/said")"
    done
}

# Whether the first frame behind the heading WHAT is in FUNCTION.
first_frame_is() {
    local place
    place=$(sed -nE "/was $1 by/{n;s/.*misuse\+(0x[0-9a-f]+)\)?\$/\1/p}" "$work/said")
    grep -q "$2" <<<"$(addr2line -f -e "$work/misuse" "$place")" ||
        fail "the stack of '$1' does not begin in $2: $(cat "$work/said")"
}

allocated='the block of 100 bytes at ADDRESS was allocated by malloc in thread N:'
freed='the block of 100 bytes at ADDRESS was freed by free in thread N:'
array='the block of 40 bytes at ADDRESS was allocated by operator new[] in thread N:'

finds malloc-delete 'operator delete(ADDRESS): wrong function: the block was allocated by malloc' \
    "$allocated" 'operator delete(ADDRESS) was called in thread N:'
first_frame_is allocated allocate_here
finds malloc-delete-array \
    'operator delete[](ADDRESS): wrong function: the block was allocated by malloc' "$allocated"
finds new-free 'free(ADDRESS): wrong function: the block was allocated by operator new[]' "$array"
finds array-delete \
    'operator delete(ADDRESS): wrong function: the block was allocated by operator new[]' "$array"
finds new-realloc 'realloc(ADDRESS): wrong function: the block was allocated by operator new[]'
finds verify-kind 'heap check(ADDRESS): wrong function: the block was allocated by malloc'
finds overrun 'free(ADDRESS): written right behind a block of 100 bytes, at ADDRESS' "$allocated"
finds underrun 'free(ADDRESS): written 3 bytes before a block of 100 bytes, at ADDRESS' "$allocated"
finds overrun-realloc \
    'realloc(ADDRESS): written 4 bytes after the end of a block of 100 bytes, at ADDRESS'
finds overrun-exit 'heap check(ADDRESS): written right behind a block of 100 bytes, at ADDRESS'
finds overrun-verify 'heap check(ADDRESS): written right behind a block of 100 bytes, at ADDRESS'
finds double-free 'free(ADDRESS): double free of a block of 100 bytes' "$allocated" "$freed" \
    'free(ADDRESS) was called in thread N:'
first_frame_is freed free_here
finds freed-realloc 'realloc(ADDRESS): double free of a block of 100 bytes' "$allocated" "$freed"
finds wrong-size 'operator delete(ADDRESS): wrong size 300: 100 bytes were requested'
finds written-exit \
    'ADDRESS: written after the block was freed: 7 bytes into a block of 100 bytes' "$freed"
finds written-reused \
    'ADDRESS: written after the block was freed: 7 bytes into a block of 100 bytes' "$freed"
# These are libmallow_secure's.
finds foreign 'free(ADDRESS): invalid pointer: mallow did not allocate it'
misuse inside
[ "$status" = 134 ] || fail "inside: status $status: $(cat "$work/said")"
grep -q 'invalid pointer: not the start of a block' "$work/plain" || fail "$(cat "$work/said")"

# The page fence: SIGSEGV at the access.
fenced() {
    misuse "$1" TCMALLOC_PAGE_FENCE=1 "${@:3}"
    [ "$status" = 139 ] || fail "$1: status $status, not 139 (SIGSEGV): $(cat "$work/said")"
    grep -qxF "mallow: page fence: access at ADDRESS, $2" "$work/plain" ||
        fail "$1: $(cat "$work/said")"
}
fenced fence-overrun '12 bytes after the end of a block of 100 bytes'
fenced fence-freed '7 bytes into a block of 100 bytes that was freed'
fenced fence-freed '7 bytes into a block of 100 bytes that was freed' TCMALLOC_RECLAIM_MEMORY=0
fenced fence-read '12 bytes after the end of a block of 100 bytes' TCMALLOC_PAGE_FENCE_READABLE=1

# Variables of the environment.
misuse double-free TCMALLOC_MAX_FREE_QUEUE_SIZE=0 # libmallow_secure finds it, without stacks
if [ "$status" != 134 ] || grep -q 'was freed by' "$work/said"; then
    fail "without a queue: status $status: $(cat "$work/said")"
fi
misuse written-reused TCMALLOC_RECLAIM_MEMORY=false
[ "$status" = 3 ] || fail "without an end of the wait: status $status: $(cat "$work/said")"
misuse double-free TCMALLOC_SYMBOLIZE_STACKTRACE=0
! grep -q '__libc_start_main' "$work/said" || fail "names although they are off"
misuse nothing TCMALLOC_MAX_FREE_QUEUE_SIZE=many
expect_line() {
    if [ "$status" != 0 ] || [ "$(grep -c '' "$work/said")" != 1 ] ||
        ! grep -q "$1" "$work/said"; then
        fail "not one line '$1': status $status: $(cat "$work/said")"
    fi
}
expect_line "^mallow: TCMALLOC_MAX_FREE_QUEUE_SIZE: 'many' is not a whole number"
misuse nothing TCMALLOC_TRACE=1 TCMALLOC_TRACE_FILE="$work/no/such/folder"
expect_line '^mallow: TCMALLOC_TRACE_FILE: cannot open'
misuse double-free TCMALLOC_TRACE=1 TCMALLOC_TRACE_FILE="$work/trace"
line=$'^(malloc|realloc|free)\t[0-9]+\t0x[0-9a-f]+\t[0-9]+(\t0x[0-9a-f]+)+$'
! grep -vE "$line" "$work/trace" || fail "lines of the trace"
[ "$(cut -f1,2 "$work/trace" | grep -cE $'^(malloc|free)\t100$')" = 2 ] ||
    fail "the trace: $(cat "$work/trace")"

# Programs without mistakes.
for variables in A=1 TCMALLOC_PAGE_FENCE=1 TCMALLOC_MAX_FREE_QUEUE_SIZE=0; do
    misuse nothing "$variables"
    if [ "$status" != 0 ] || [ -s "$work/said" ]; then
        fail "a program without mistakes, $variables: status $status: $(cat "$work/said")"
    fi
done
said=$(PYTHONMALLOC=malloc LD_PRELOAD=$compat/libtcmalloc_debug.so.4 python3 -c \
    'import json; print(len(json.dumps([{"a": i, "b": str(i)} for i in range(9999)])))' 2>&1)
[ "$said" = "257754" ] || fail "python3: $said"

# Freed is freed: blocks that wait count as in use nowhere.
compile waiting -L"$compat" -ltcmalloc_debug -Wno-error
LD_LIBRARY_PATH=$compat "$work/waiting" >"$work/said" 2>"$work/errors" ||
    fail "waiting: $(cat "$work/said" "$work/errors")"
for bytes in 100 10000 200000 3000000; do
    grep -qx "$bytes taken 1 left 0 deleted 1" "$work/said" || fail "waiting: $(cat "$work/said")"
done
grep -qx 'profile 1' "$work/said" || fail "waiting: $(cat "$work/said")"
cat >"$work/all_freed.c" <<'END'
#include <stdlib.h>
int main(void) {
	static void *volatile blocks[500];
	for (int i = 0; i < 500; i++)
		blocks[i] = malloc(10000);
	for (int i = 0; i < 500; i++)
		free(blocks[i]);
	return 0;
}
END
cc -O1 -o "$work/all_freed" "$work/all_freed.c" || fail "all_freed.c does not compile"
HEAPCHECK=draconian LD_PRELOAD=$compat/libtcmalloc_debug.so.4 "$work/all_freed" \
    >"$work/said" 2>&1 || fail "draconian: status $?: $(cat "$work/said")"
echo "ok"
