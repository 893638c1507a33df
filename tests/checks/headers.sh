#!/bin/bash
# SPDX-License-Identifier: MIT
# headers.sh SOURCE_DIR BUILD_DIR -- each header compiles alone with gcc, as C with the warnings of
# the project; the public ones also as C++, and with clang.  Exit status 77 (skipped) if all is well
# but clang is not installed.
set -euo pipefail
cd "$1"
build=$2
compilers=(gcc)
if command -v clang >/dev/null; then
    compilers+=(clang)
fi

read -ra packages < <(pkg-config --cflags libdw libelf libprotobuf-c zlib jansson)
common=(-fsyntax-only -D_GNU_SOURCE -DMALLOW_VERSION='"0"' -Wall -Wextra -Wconversion -Wshadow
    -Wundef -Werror -Iinclude -Isrc -I. -Itools/mallow -Icompat/jemalloc/include
    -Icompat/mimalloc/include -Icompat/gperftools/include -isystem "$build/tools/proto"
    "${packages[@]}")
checked=0
failed=0

# compile COMPILER NAME LANGUAGE-OPTIONS...: one header, included twice, so that its guard is tested
# as well.
compile() {
    local compiler=$1 name=$2
    shift 2
    checked=$((checked + 1))
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
        "$compiler" "${common[@]}" "$@" - || {
        echo "$name: does not compile alone with $compiler"
        failed=$((failed + 1))
    }
}

while read -r header; do
    name=${header#src/}
    name=${name#tools/mallow/}
    name=${name#*include/}
    as_c=("$name" -x c -std=gnu11 -Wmissing-prototypes -Wstrict-prototypes)
    case $header in
    include/* | compat/*/include/*)
        for compiler in "${compilers[@]}"; do
            compile "$compiler" "${as_c[@]}"
            compile "$compiler" "$name" -x c++ -std=gnu++17
        done
        ;;
    *) compile gcc "${as_c[@]}" ;;
    esac
done < <(find src compat tools/mallow include -name '*.h' 2>/dev/null | sort)

echo "$checked compiled with ${compilers[*]}, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ] || exit 1
[ "${#compilers[@]}" -eq 2 ] || {
    echo "skipped: clang is not installed: the public headers were compiled with gcc alone"
    exit 77
}
