#!/bin/bash
# SPDX-License-Identifier: MIT
# compare.sh BUILD_DIR [PROGRAM...] -- stacks at malloc, by mallow and by libunwind at the same
# points, in real programs; and by gdb in a few.  Prints the table of doc/internals/unwinding.md.
# At least 99.5 % must be identical in each program.  Skipped (77) without libunwind; programs that
# are not here are left out.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
export LC_ALL=C PATH=/usr/bin:/bin:/usr/sbin:/sbin
unset LD_PRELOAD MALLOC_CONF MALLOW_CONF
totals=$build/tests/unwind_totals
[ -x "$totals" ] || {
    echo "skipped: built without libunwind"
    exit 77
}
base=$(mktemp -d /tmp/mallow-compare.XXXXXX)
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
# The build may lie where servers' users cannot look.
library=$base/libunwind_compare.so
cp "$build/tests/libunwind_compare.so" "$library"
cp "$here"/gdb_*.py "$base/"
# shellcheck source=tests/unwind/compare/programs.sh
. "$here/programs.sh"
# shellcheck source=tests/unwind/compare/gdb_programs.sh
. "$here/gdb_programs.sh"
failed=0

# The command whose absence leaves a program out.
command_of() {
    case $1 in
    gcc | cxx) echo g++ ;;
    clang) echo clang++ ;;
    redis) echo redis-server ;;
    java_int) echo java ;;
    lua) echo lua5.3 ;;
    octave) echo octave-cli ;;
    postgres) printf '%s\n' /usr/lib/postgresql/*/bin/initdb | tail -n 1 ;;
    *) echo "$1" ;;
    esac
}

compare() {
    local name=$1 command status=0
    command=$(command_of "$name")
    if [ -z "$command" ] || ! command -v "$command" >/dev/null; then
        printf '%-10s not here\n' "$name"
        return
    fi
    work=$base/$name
    mkdir "$work"
    "$totals" make "$base/totals"
    (
        export MW_COMPARE_FILE=$base/totals MW_COMPARE_STEP=3 MW_COMPARE_MAX=4000
        "run_$name"
    ) >"$base/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 5 "$base/log"
        echo "$name: the program ended with status $status"
        failed=1
    fi
    "$totals" show "$name" "$base/totals" || failed=1
}

if [ $# -gt 0 ]; then
    for program; do
        compare "$program"
        ! declare -F "gdb_$program" >/dev/null || "gdb_$program" </dev/null
    done
    exit "$failed"
fi
for program in python3 redis postgres clang node perl git sqlite3 gcc nginx ruby php rg cxx; do
    compare "$program"
done
for program in python3 redis postgres clang node perl sqlite3 ruby; do
    "gdb_$program" </dev/null
done
exit "$failed"
