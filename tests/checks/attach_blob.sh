#!/bin/bash
# SPDX-License-Identifier: MIT
# attach_blob.sh SOURCE_DIR BUILD_DIR -- build/lib/mallow/attach.bin is what state/attach.h promises
# to the command that loads it: two segments, relocations of two kinds, no symbol that somebody else
# defines, the note, and thread-local variables that fit into a thread's record and begin as zeros.
set -euo pipefail
blob=$2/lib/mallow/attach.bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "attach.bin: $*"
    exit 1
}

readelf -lW "$blob" >"$work/headers"
# "R E" is two words of the line.
[ "$(awk '$1 == "LOAD" { print $7 ($8 == "E" ? $8 : "") }' "$work/headers" | xargs)" = "RE RW" ] ||
    fail "it has other segments than one to execute and one to write"
grep -q INTERP "$work/headers" && fail "it asks for a dynamic linker"

readelf -rW "$blob" | awk '$3 ~ /^R_/ { print $3 }' | sort | uniq -c >"$work/relocations"
awk '$2 == "R_X86_64_RELATIVE" { found = $1 } END { exit !(found > 30) }' "$work/relocations" ||
    fail "the table of replacements is not relocated"
grep -v R_X86_64_RELATIVE "$work/relocations" | grep -v '^ *1 R_X86_64_DTPMOD64$' &&
    fail "it has relocations that the command does not apply"

readelf -dW "$blob" | grep NEEDED && fail "it needs a library"
# A name beside the first, empty one would be exported, or expected from elsewhere.
readelf --dyn-syms -W "$blob" | awk '$1 ~ /^[1-9][0-9]*:$/ { print $8 }' | grep . &&
    fail "it has dynamic symbols"
nm --undefined-only "$blob" | grep . && fail "it calls functions that it does not have"

room=$(sed -n 's/^#define MW_ATTACH_TLS_BYTES \([0-9]*\)u$/\1/p' "$1/src/attach/thread_records.h")
read -r in_file in_memory < <(awk '$1 == "TLS" { print $5, $6 }' "$work/headers")
((in_file == 0)) || fail "a thread-local variable does not begin as zero"
((in_memory > 0 && in_memory <= room)) ||
    fail "thread-local variables take $((in_memory)) bytes, a record has $room"

# Accesses of thread-local storage of the linker's: all but the thread pointer itself, and what is
# beside it, by which readers of interpreters find variables of the program.
objdump -d --no-show-raw-insn "$blob" | grep -E '%[fg]s:' | grep -vE '%fs:0x[08](,|$)' &&
    fail "it uses thread-local storage that is not its own"
readelf -nW "$blob" >"$work/notes"
grep -q "^ *mallow *0x0000000c.*NT_ARCH" "$work/notes" || fail "it lacks the note of its entry"
size "$blob" | awk 'NR == 2 { printf "%d bytes of code and data\n", $1 + $2 }'
