#!/bin/bash
# SPDX-License-Identifier: MIT
# foreign.sh BUILD_DIR -- recordings of heaptrack and massif: the same totals as their own programs
# print.
source "$(dirname "$0")/lib.bash"
needs python3 heaptrack heaptrack_print valgrind ms_print
cat >prog.cc <<'EOF'
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
static std::map<std::string, std::vector<int>> table;
static void fill() {
	for (int i = 0; i < 2000; i++)
		table["key number " + std::to_string(i)].resize(100 + i % 7);
}
static void shrink() {
	for (int i = 0; i < 1000; i++)
		table.erase("key number " + std::to_string(i * 2));
}
int main() {
	fill();
	shrink();
	_Exit(table.size() != 1000);
}
EOF
g++ -g -O1 prog.cc -o prog || fail "g++ failed"

# total TYPE FILE: in bytes, or objects.
total() {
    "$mallow" top --json --sample_index="$1" --trim=false "$2" >json || fail "top of $2"
    python3 -c 'import json; print(json.load(open("json"))["total"])'
}

heaptrack -o track ./prog >/dev/null 2>err || fail "heaptrack failed"
track=$(echo track.*)
heaptrack_print "$track" >printed 2>/dev/null
calls=$(sed -n 's/^calls to allocation functions: \([0-9]*\).*/\1/p' printed)
[ -n "$calls" ] || fail "heaptrack_print counts nothing"
[ "$(total alloc_objects "$track")" = "$calls" ] ||
    fail "$(total alloc_objects "$track") calls, heaptrack: $calls"
# It prints thousands with two decimals.
same() {
    awk -v bytes="$1" -v text="$2" 'BEGIN {
        unit = text ~ /K$/ ? 1e3 : text ~ /M$/ ? 1e6 : text ~ /G$/ ? 1e9 : 1
        difference = bytes / unit - text
        exit !(difference < 0.006 && difference > -0.006)
    }'
}
for pair in "peak_space:peak heap memory consumption" "inuse_space:total memory leaked"; do
    theirs=$(sed -n "s/^${pair#*:}: *//p" printed)
    same "$(total "${pair%%:*}" "$track")" "$theirs" ||
        fail "${pair%%:*}: $(total "${pair%%:*}" "$track"), heaptrack: $theirs"
done
try 0 "$mallow" top --lines "$track"
says out 'prog.cc:[0-9]+'
# As heaptrack_print, stacks begin with who calls operator new.
says_not out 'operator new'
says_not printed '^operator new'
try 0 "$mallow" top --nodecount=1 --sample_index=alloc_space "$track"
says out ' fill$'
ok "heaptrack"

valgrind --tool=massif --massif-out-file=massif.out --detailed-freq=1 --threshold=0.1 ./prog \
    >/dev/null 2>err ||
    fail "valgrind failed"
peak=$(awk -F= '/^mem_heap_B/ { bytes = $2 } /heap_tree=peak/ { print bytes }' massif.out)
[ "$(total peak_space massif.out)" = "$peak" ] ||
    fail "peak: $(total peak_space massif.out), massif: $peak"
last=$(awk -F= \
    '/^mem_heap_B/ { bytes = $2 } /heap_tree=(peak|detailed)/ { last = bytes } END { print last }' \
    massif.out)
[ "$(total inuse_space massif.out)" = "$last" ] ||
    fail "last: $(total inuse_space massif.out), massif: $last"
ms_print massif.out >printed
grep -q "($(sed -E ':a; s/([0-9])([0-9]{3})(,|$)/\1,\2\3/; ta' <<<"$peak")B)" printed ||
    fail "ms_print has no $peak"
try 0 "$mallow" tree massif.out
says out 'fill'
# libstdc++ has no names of functions that are its own.
says out '\[libstdc\+\+\.so'
says_not out '\?\?\?'
ok "massif"
