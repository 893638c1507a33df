#!/bin/bash
# SPDX-License-Identifier: MIT
# compare.sh BUILD_DIR [PROGRAM...] -- stacks at malloc, by mallow and by libunwind at the same points, in
# real programs; and by gdb in a few.  Prints the table of doc/unwinding.md.  At least 99.5 % must be
# identical in each program.  Skipped (77) without libunwind; programs that are not here are left out.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
export LC_ALL=C PATH=/usr/bin:/bin:/usr/sbin:/sbin
unset LD_PRELOAD MALLOC_CONF MALLOW_CONF
tally=$build/tests/unwind_tally
[ -x "$tally" ] || {
    echo "skipped: built without libunwind"
    exit 77
}
base=$(mktemp -d /tmp/mallow-compare.XXXXXX)
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
# The build may lie where servers' users cannot look.
library=$base/libunwind_compare.so
cp "$build/tests/libunwind_compare.so" "$library"
# shellcheck source=tests/unwind/compare/programs.sh
. "$here/programs.sh"
failed=0

# The command whose absence leaves a program out.
command_of() {
    case $1 in
    gcc | cxx) echo g++ ;;
    clang) echo clang++ ;;
    redis) echo redis-server ;;
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
    "$tally" make "$base/tally"
    (
        export MW_COMPARE_FILE=$base/tally MW_COMPARE_STEP=3 MW_COMPARE_MAX=4000
        "run_$name"
    ) >"$base/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 5 "$base/log"
        echo "$name: the program ended with status $status"
        failed=1
    fi
    "$tally" show "$name" "$base/tally" || failed=1
}

# gdb_stacks STOP_STEP COMMAND...
gdb_stacks() {
    local name=${2##*/} step=$1
    shift
    command -v gdb >/dev/null && command -v "$1" >/dev/null || return 0
    "$tally" make "$base/tally"
    local wrapper="env LD_PRELOAD=$library MW_COMPARE_FILE=$base/tally MW_COMPARE_STEP=3 MW_COMPARE_STOP=$step"
    timeout 60 gdb -batch -nx -ex "set exec-wrapper $wrapper" -x "$here/gdb_stacks.py" --args "$@" \
        </dev/null >"$base/gdb" 2>&1
    printf '%-10s %s\n' "$name" "$(grep '^gdb: ' "$base/gdb" | tail -n 5)"
    grep -qE '^gdb: ([5-9]|1[0-9]) same, 0 other' "$base/gdb" || {
        tail -n 20 "$base/gdb"
        failed=1
    }
}

if [ $# -gt 0 ]; then
    for program; do compare "$program"; done
    exit "$failed"
fi
for program in python3 redis postgres clang node perl git sqlite3 gcc nginx ruby php rg cxx; do
    compare "$program"
done
gdb_stacks 100 /usr/bin/sqlite3 -batch :memory: 'CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1
UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, i * 7 FROM n;
CREATE INDEX x ON t(b); SELECT count(*) FROM (SELECT group_concat(a) FROM t GROUP BY b % 10)'
# shellcheck disable=SC2016 # perl's own dollars
gdb_stacks 50 /usr/bin/perl -e 'my %h; push @{$h{"k" . $_ % 977}}, "x" x ($_ % 40) for 1 .. 20000;
my $t = join ";", sort { $a cmp $b } keys %h; $t =~ s/k(\d)/<$1>/g; print length $t, "\n"'
gdb_stacks 50 /usr/bin/python3 -c 'import json; len(json.dumps([{"a": i, "b": [i] * 9} for i in range(9000)]))'
gdb_stacks 50 /usr/bin/ruby -e 'h = {}; 50000.times { |i| h["k#{i % 5000}"] = [i, i.to_s * 3] }'
exit "$failed"
