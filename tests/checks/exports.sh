#!/bin/bash
# SPDX-License-Identifier: MIT
# exports.sh SOURCE_DIR BUILD_DIR -- libmallow.so exports the names of src/api/exports.map, each of
# them and no other, and needs nothing but libc.
set -euo pipefail
map=$1/src/api/exports.map
library=$2/lib/libmallow.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names between "global:" and "local:", comments taken out.  Patterns are not allowed: the list
# says what is exported, to the name.
sed -e 's|/\*[^*]*\*/||g' -e 's|#.*||' "$map" |
    awk '/global:/ { on = 1; sub(/.*global:/, "") } /local:/ { on = 0 } on' |
    tr ';' '\n' | tr -d ' \t' | grep -v '^$' | sort >"$work/listed"
if grep -n '[*?{}"]' "$work/listed"; then
    echo "the export list must hold plain names only"
    exit 1
fi
nm --dynamic --defined-only "$library" |
    awk '$2 !~ /^[A]$/ { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/exported"
if ! diff -u "$work/listed" "$work/exported"; then
    echo "libmallow.so (+) differs from src/api/exports.map (-)"
    exit 1
fi

readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
if grep -vE '^(libc\.so\.6|ld-linux-[a-z0-9-]+\.so\.[0-9]+)$' "$work/needed"; then
    echo "libmallow.so may need libc only"
    exit 1
fi
echo "$(wc -l <"$work/listed") names exported, needs: $(tr '\n' ' ' <"$work/needed")"
