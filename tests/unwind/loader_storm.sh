#!/bin/bash
# SPDX-License-Identifier: MIT
# loader_storm.sh BUILD_DIR [SECONDS [LIBRARY]] -- four threads load and unload plugins, eight
# allocate beside them, and every block is a sample (loader_storm.c), with the loaded objects in the
# library's own table (os/unwind/object_table.h). The program ends in time, and each stack in its
# profile that goes through a plugin has that plugin's own caller; none is cut.
# shellcheck source=tests/tool/lib.bash
source "$(dirname "$0")/../tool/lib.bash"
seconds=${2:-4}
library=${3:-$build/lib/libmallow.so}

for plugin in alpha beta; do
    for thread in 0 1 2 3; do
        cp "$build/tests/unwind_storm_$plugin.so" "$work/$plugin-$thread.so"
    done
done
try 0 timeout -s KILL $((seconds * 3 + 60)) env LD_PRELOAD="$library" MALLOW_TEST_OBJECT_TABLE=1 \
    MALLOW_CONF="prof_sample:1000,prof_cost_limit:0,prof_final:true,dump_name:$work/storm.pb" \
    "$build/tests/unwind_loader_storm" "$seconds" "$work"
[ ! -s err ] || fail "the program complains"
cat out
loads=$(sed -n 's/ loads$//p' out)
[ "${loads:-0}" -ge 50 ] || fail "only ${loads:-no} loads"

try 0 "$mallow" traces --sample-type alloc_objects storm.pb
# A stack begins with the innermost function; the callers stand behind it.
awk '
function look() {
    if (stack ~ /storm_alpha/ && (stack !~ /call_alpha/ || stack ~ /call_beta/)) bad++
    if (stack ~ /storm_beta/ && (stack !~ /call_beta/ || stack ~ /call_alpha/)) bad++
    if (stack ~ /truncated/) cut++
    if (stack ~ /call_(alpha|beta)/) { all++; if (stack ~ /storm_/) through++ }
    stack = ""
}
/^-----/ || /^$/ { look() }
{ stack = stack " " $0 }
END {
    look()
    printf "%d stacks of the callers, %d through plugins, %d with a wrong name, %d cut\n", all,
        through, bad, cut
    exit bad > 0 || cut > 0 || through < 2
}' out >verdict || { cat verdict; fail "stacks with wrong names"; }
cat verdict
