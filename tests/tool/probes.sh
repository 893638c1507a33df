#!/bin/bash
# SPDX-License-Identifier: MIT
# probes.sh BUILD_DIR -- the probe points for other profilers: their notes in the library, and that
# the kernel counts samples by them where it lets us attach.
source "$(dirname "$0")/lib.bash"
library=$build/lib/libmallow.so

try 0 readelf -n "$library"
says out 'Provider: otel_memory'
says out 'Name: alloc'
says out 'Name: free'
cp out notes

# Some readers take the arguments from the registers of a function's arguments and read no
# descriptors, which say what the compiler did.  One note for each probe: readers attach to each.
case $(uname -m) in
aarch64) registers=(x0 x1 x2) ;;
*) registers=(%rdi %rsi %rdx) ;;
esac
for file in "$library" "$build/lib/libmallow_secure.so" "$build/lib/libmallow_debug.so" \
    "$build/tests/torture_static"; do
    try 0 readelf -n "$file"
    for probe in alloc free; do
        [ "$(grep -c "Name: $probe\$" out)" = 1 ] || fail "$file: not one note of $probe"
    done
    grep -qxE " *Arguments: 8@${registers[0]} 8@${registers[1]} 8@${registers[2]}" \
        <<<"$(grep -A2 'Name: alloc$' out)" || fail "$file: arguments of alloc"
    grep -qxE " *Arguments: 8@${registers[0]}" <<<"$(grep -A2 'Name: free$' out)" ||
        fail "$file: arguments of free"
done
ok "the arguments are where the calling convention has them"

# The instruction is a nop: nothing happens while nobody looks.
location() {
    grep -A1 "Name: $1" notes | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p'
}
try 0 objdump -h "$library"
read -r text_address text_offset < <(awk '$2 == ".text" { print "0x" $4, "0x" $6 }' out)
for probe in alloc free; do
    address=$(location "$probe")
    offset=$((address - text_address + text_offset))
    byte=$(od -An -tx1 -j "$offset" -N 1 "$library" | tr -d ' ')
    [ "$byte" = 90 ] || fail "$probe: no nop at $address but $byte"
    eval "offset_$probe=$offset"
done
ok "notes and nops"

cc -O1 -o probes "$here/probes.c" || fail "cc"
cc -O1 -fno-builtin -o example "$here/example.c" || fail "cc"
for probe in alloc free; do
    offset=offset_$probe
    # The example makes 120 blocks and frees none; ls frees some.
    command=./example
    [ "$probe" = alloc ] || command="ls"
    ./probes "${!offset}" "$library" env LD_PRELOAD="$library" MALLOW_CONF=prof_sample:1 $command \
        >counted 2>err
    case $? in
    0) ;;
    77) skip "the kernel lets us attach no uprobe: $(cat err)" ;;
    *) fail "the probe could not be counted" ;;
    esac
    count=$(tail -1 counted)
    [ "$probe" = free ] || [ "$count" = 120 ] || fail "alloc was passed $count times"
    [ "$count" -gt 0 ] || fail "$probe was not passed"
    echo "# $probe: passed $count times"
done
ok "samples counted by uprobes"
