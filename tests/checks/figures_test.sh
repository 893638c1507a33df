#!/bin/bash
# SPDX-License-Identifier: MIT
# figures_test.sh SOURCE_DIR -- figures.py finds a wrong figure of each kind: in the table of
# README.md, in production.md, in a sentence and in a table of goals.md, in the measurements
# themselves, and a figure that it does not know.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/doc/user" "$work/doc/measurements"
cp "$source/README.md" "$work"
cp "$source/doc/user/production.md" "$work/doc/user"
cp "$source"/doc/measurements/*.md "$work/doc/measurements"
check=$source/tests/checks/figures.py
status=0

"$check" "$work" >"$work/out" || { cat "$work/out"; echo "nothing was planted"; exit 1; }

# plant FILE EXPRESSION FINDING: after sed's EXPRESSION the check fails and prints FINDING.
plant() {
    local file=$work/$1
    cp "$file" "$work/before"
    sed -i -E "$2" "$file"
    if cmp -s "$file" "$work/before"; then
        echo "$1: nothing to change: $2"
        status=1
    elif "$check" "$work" >"$work/out" || ! grep -q "$3" "$work/out"; then
        echo "$1: $2 was not found:"
        cat "$work/out"
        status=1
    fi
    cp "$work/before" "$file"
}

plant README.md '/sampling off; on/s/45\.4/44.4/' 'README.md: 44.4; 46.0, but'
plant README.md '/processor time of/s/0\.541/0.641/' 'README.md: .*0.641.*, but'
plant README.md 's/time of 55 workloads/time of 54 workloads/' 'is of 55 workloads'
plant README.md 's/^(\| time of git.*)$/\1\n| another figure | 3.14 | | same |/' 'not in .*3.14'
plant doc/user/production.md 's/0\.2 % of processor/0.1 % of processor/' 'production.md: 0.1, but'
plant doc/user/production.md 's/^## Look at it/It takes 7.5 % more.\n&/' 'not in figures.py: 7.5 %'
plant doc/measurements/goals.md '/^\| survivors/s/1\.18/1.08/' 'survivors 1.08, but'
# shellcheck disable=SC2016 # backquotes of the page
plant doc/measurements/goals.md 's/`json` 1\.06/`json` 1.01/' 'json 1.01, but'
plant doc/measurements/README.md '/^\| the same: jemalloc/s/116\.3/53.0/' \
    'README.md: .*116.3; 53, but'
plant doc/measurements/workloads.md '/geometric mean/s/1\.127/1.227/' \
    'workloads.md: 1.227, but'
exit $status
