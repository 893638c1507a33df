#!/bin/bash
# SPDX-License-Identifier: MIT
# interrupted.sh BUILD_DIR [SAMPLES [PROGRAM...]] -- stacks of samples of CPU time, by mallow and by
# gdb at the same interrupted instruction, in real programs: SAMPLES of each (20).  At least 99.5 %
# must be identical in all, or all but two.  Skipped (77) without gdb, or on another machine than
# x86-64; programs that are not here are left out.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
wanted=${2:-20}
shift $(($# < 2 ? $# : 2))
export LC_ALL=C PATH=/usr/bin:/bin:/usr/sbin:/sbin
unset LD_PRELOAD MALLOC_CONF MALLOW_CONF
if ! command -v gdb >/dev/null || [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: no gdb, or another machine than x86-64"
    exit 77
fi
base=$(mktemp -d /tmp/mallow-interrupted.XXXXXX)
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
# The build may lie where servers' users cannot look.
library=$base/libmallow.so
cp "$build/lib/libmallow.so" "$library"
cp "$here"/gdb_*.py "$base/"
# shellcheck source=tests/unwind/compare/programs.sh
. "$here/programs.sh"
# shellcheck source=tests/unwind/compare/gdb_programs.sh
. "$here/gdb_programs.sh"
all_same=0
all_other=0
rounds_max=200

# In place of that of gdb_programs.sh, whose programs this is called by: `gdb_stacks STEP COMMAND`.
# Adds to $same and $other.
gdb_stacks() {
    shift
    command -v "$1" >/dev/null || return 0
    local wrapper="env LD_PRELOAD=$library MALLOC_CONF=prof_state_min:0,prof_cpu:1000"
    MW_SAMPLES=$((wanted - same - other)) timeout 300 ${as[@]+"${as[@]}"} \
        gdb -batch -nx -ex "set exec-wrapper $wrapper" -x "$base/gdb_interrupted.py" --args "$@" \
        >"$base/gdb" 2>&1
    read -r more_same more_other frames < <(
        awk '/^gdb: / { print $2, $4, $(NF - 1) }' "$base/gdb"
    ) || {
        tail -n 20 "$base/gdb"
        exit 1
    }
    same=$((same + more_same))
    other=$((other + more_other))
    grep '^other: ' "$base/gdb"
}

for program in ${@+"$@"} $([ $# -gt 0 ] || echo python3 redis postgres clang perl sqlite3); do
    same=0
    other=0
    frames=-
    # A program's work takes a second or less.
    for ((round = 0; round < rounds_max && same + other < wanted; round++)); do
        "gdb_$program" </dev/null
        rm -rf "$base/pg"
    done
    printf '%-10s %s same, %s other, the last distinct ones of %s frames\n' "$program" "$same" \
        "$other" "$frames"
    all_same=$((all_same + same))
    all_other=$((all_other + other))
done
echo "in all $all_same same, $all_other other"
allowed=$(((all_same + all_other) / 200))
[ "$all_same" -gt 0 ] && [ "$all_other" -le $((allowed > 2 ? allowed : 2)) ]
