#!/bin/bash
# SPDX-License-Identifier: MIT
# layers_test.sh SOURCE_DIR COMPILER -- layers.py finds what it is for: made-up trees, each with one
# fault, and one without.
set -euo pipefail
check=$1/tests/checks/layers.py
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# make_tree: two folders, low and high; high calls low, low calls high through a hook.
make_tree() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree"
    cd "$work/tree"
    mkdir -p src/low src/high tools/mallow/model scripts
    printf 'src/low:\nsrc/high: low\ntools/mallow/model:\n' >scripts/layers.txt
    echo "/* The folder's door. */" | tee src/low/low.h >src/high/high.h
    echo '#define MW_HOOK
int low(void); MW_HOOK int hook(void); int quiet(void);' >>src/low/low.h
    echo 'int high(void);' >>src/high/high.h
    printf '#include "low/low.h"\nint low(void) { return hook(); }\n' >src/low/low.c
    printf '#include "high/high.h"\n#include "low/low.h"\nint high(void) { return low(); }
int hook(void) { return 1; }\nint quiet(void) { return 2; }\n' >src/high/high.c
    echo 'int model;' >tools/mallow/model/model.c
}

# expect STATUS TEXT: what the check says of the tree, compiled.
expect() {
    local source object status=0 said
    while read -r source; do
        case $source in
        src/*) object=build/src/CMakeFiles/mallow_objects.dir/${source#src/}.o ;;
        *) object=build/tools/CMakeFiles/mallow_tool.dir/${source#tools/}.o ;;
        esac
        mkdir -p "${object%/*}"
        "$compiler" -c -Isrc -o "$object" "$source"
    done < <(find src tools -name '*.c')
    said=$("$check" . build 2>&1) || status=$?
    if [ "$status" -ne "$1" ] || [[ $said != *"$2"* ]]; then
        echo "status $status, not $1 with \"$2\":"
        echo "$said"
        failed=$((failed + 1))
    fi
}

make_tree
expect 0 ", 0 findings"
make_tree
echo '#include "high/high.h"' >>src/low/low.c
expect 1 'src/low may not include "high/high.h"'
make_tree
echo 'int other(void) { return quiet(); }' >>src/low/low.c
expect 1 'src/low may not use quiet of src/high/high.c'
make_tree
sed -i 's/^src\/high: low/src\/high:\n    low/' scripts/layers.txt
expect 0 ", 0 findings"
make_tree
sed -i 's/^src\/low:/& high/' scripts/layers.txt
expect 1 'a ring: src/high uses src/low uses src/high'
make_tree
mkdir src/middle
sed -i 's/^src\/high: low/src\/middle: low\nsrc\/high: low middle/' scripts/layers.txt
printf '#include "low/low.h"\nint middle(void) { return hook(); }\n' >src/middle/middle.c
expect 0 ", 0 findings"
make_tree
sed -i 1d src/low/low.h
expect 1 'src/low: 0 headers say that they are its door'
make_tree
mkdir src/new
echo 'int new;' >src/new/new.c
expect 1 'src/new/new.c: its folder has no row'
make_tree
sed -i 's/^src\/low:/& gone/' scripts/layers.txt
expect 1 'there is no gone'
# A folder of folders stands for them; it is not more than them.
make_tree
mkdir src/low/inner
mv src/low/low.? src/low/inner
sed -i 's,low/low.h,low/inner/low.h,' src/low/inner/low.c src/high/high.c
sed -i 's,^src/low:,src/low/inner:,' scripts/layers.txt
expect 0 ", 0 findings"
echo 'int own;' >src/low/own.c
expect 1 'src/high may not include "low/inner/low.h"'
echo "$failed of 11 trees not as expected"
[ "$failed" -eq 0 ]
