#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh -- searches remote.pml to the end, then once for each seeded bug, which must be found.
# Exit status 77 (skipped) without spin.
set -euo pipefail
model=$(cd "$(dirname "$0")" && pwd)/remote.pml
if ! command -v spin >/dev/null; then
    echo "skipped: spin is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search LEVEL [DEFINE]: runs the verifier, compiled at that level; its report is in the file
# "report". Optimising takes ten seconds, which only the longest search makes up for.
search() {
    local level=$1
    shift
    spin -a "$@" "$model" >report 2>&1 || { cat report; exit 1; }
    # -DSAFETY: assertions and deadlocks; collapse compression keeps it within 0.9 GiB.
    gcc "$level" -w -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c
    ./pan -m4000000 >report 2>&1 || true
}

for variant in "" -DBINS; do
    if [ -z "$variant" ]; then search -O2; else search -O0 "$variant"; fi
    if ! grep -q "errors: 0" report ||
        grep -qi "not completed\|max search depth too small\|out of memory" report; then
        cat report
        echo "the model ${variant:-as it is} has an error, or could not be searched to the end"
        exit 1
    fi
    sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1 states, no error/p' report
done

status=0
mapfile -t bugs < <(sed -n 's/^#ifn*def \(BUG_[A-Z_]*\).*/\1/p' "$model" | sort -u)
for bug in "${bugs[@]}"; do
    search -O0 "-D$bug"
    if grep -q "^pan:1: assertion violated" report; then
        echo "$bug: $(sed -n 's/^pan:1: //p' report)"
    else
        echo "$bug: not noticed"
        status=1
    fi
done
exit $status
