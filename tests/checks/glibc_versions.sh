#!/bin/bash
# SPDX-License-Identifier: MIT
# glibc_versions.sh SOURCE_DIR BUILD_DIR -- no library below lib/ needs a version of glibc after
# 2.17: the loader of an older glibc refuses a library for a single such reference, a weak one too.
# Nor does one need a second library of glibc, as libpthread: it would be mapped at every start.
set -euo pipefail
build=$2
oldest=2.17
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t libraries < <(find "$build/lib" -type f -name '*.so*' ! -name 'libprogram_*' | sort)
[ "${#libraries[@]}" -ge 3 ] || { echo "only ${#libraries[@]} libraries below $build/lib"; exit 1; }
status=0
for library in "${libraries[@]}"; do
    readelf --wide --version-info "$library" |
        sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' >"$work/versions"
    newest=$(sort -V "$work/versions" | tail -n 1)
    if [ "$(printf '%s\n' "${newest:-0}" "$oldest" | sort -V | tail -n 1)" != "$oldest" ]; then
        echo "FAILED: ${library#"$build/"} needs GLIBC_$newest:"
        readelf --wide --dyn-syms "$library" | awk '$7 == "UND" { print $8 }' |
            sed -n 's/@GLIBC_/ /p' | sort -u | while read -r name version _; do
            [ "$(printf '%s\n' "$version" "$oldest" | sort -V | tail -n 1)" = "$oldest" ] ||
                echo "    $name, of glibc $version"
        done
        status=1
    fi
    if readelf --wide --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -E '^lib(pthread|dl|rt|m)\.so' >"$work/needed"; then
        echo "FAILED: ${library#"$build/"} needs $(tr '\n' ' ' <"$work/needed")"
        status=1
    fi
done
[ "$status" = 0 ] && echo "ok ${#libraries[@]} libraries"
exit "$status"
