#!/bin/bash
# SPDX-License-Identifier: MIT
# exports.sh SOURCE_DIR BUILD_DIR -- libmallow.so and its hardened and debug variations export the
# names of src/api/exports.map and compat/*/exports.txt, each of them and no other, and need
# nothing but libc.  The command needs at its start what each of its subcommands uses, no more.
set -euo pipefail
map=$1/src/api/exports.map
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names between "global:" and "local:", comments taken out.  Patterns are not allowed: the list
# says what is exported, to the name.
sed -e 's|/\*[^*]*\*/||g' -e 's|#.*||' "$map" |
    awk '/global:/ { on = 1; sub(/.*global:/, "") } /local:/ { on = 0 } on' |
    tr ';' '\n' | tr -d ' \t' | grep -v '^$' >"$work/names"
# "name" or "name bytes"; "name = target" is of a library of lib/mallow/compat/ alone.
sed -e 's|#.*||' "$1"/compat/*/exports.txt | grep -v = | awk 'NF { print $1 }' >>"$work/names"
sort "$work/names" >"$work/listed"
if uniq -d "$work/listed" | grep .; then
    echo "listed twice"
    exit 1
fi
if grep -n '[*?{}"]' "$work/listed"; then
    echo "the export list must hold plain names only"
    exit 1
fi
for library in libmallow libmallow_secure libmallow_debug; do
    nm --dynamic --defined-only "$2/lib/$library.so" |
        awk '$2 !~ /^[A]$/ { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/exported"
    if ! diff -u "$work/listed" "$work/exported"; then
        echo "$library.so (+) differs from src/api/exports.map and compat/*/exports.txt (-)"
        exit 1
    fi

    # What programs that are linked with it ask for: doc/internals/release.md.
    soname=$(readelf -d "$2/lib/$library.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    [ "$soname" = "$library.so.1" ] || { echo "$library.so has the SONAME $soname"; exit 1; }
    readelf -d "$2/lib/$library.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
    if grep -vE '^(libc\.so\.6|ld-linux-[a-z0-9-]+\.so\.[0-9]+)$' "$work/needed"; then
        echo "$library.so may need libc only"
        exit 1
    fi
    echo "$library.so: $(wc -l <"$work/listed") names exported, needs: $(tr '\n' ' ' \
        <"$work/needed")"
done

readelf -d "$2/bin/mallow" | sed -n 's/.*(NEEDED).*\[lib\(.*\)\.so[.0-9]*\]/\1/p' >"$work/needed"
if grep -vxE 'dw|elf|protobuf-c|z|zstd|jansson|pcre2-8|m|c' "$work/needed"; then
    echo "mallow loads this library at each start: see tools/mallow/libraries/"
    exit 1
fi
