#!/bin/bash
# SPDX-License-Identifier: MIT
# headers.sh SOURCE_DIR BUILD_DIR COMPILER -- each header compiles alone, as C with the warnings of
# the project; the public ones also as C++.
set -euo pipefail
cd "$1"
build=$2
compiler=$3

read -ra packages < <(pkg-config --cflags libdw libelf libprotobuf-c zlib jansson)
common=(-fsyntax-only -D_GNU_SOURCE -DMALLOW_VERSION='"0"' -Wall -Wextra -Wconversion -Wshadow
    -Wundef -Werror -Iinclude -Isrc -I. -Itools/mallow -Icompat/jemalloc/include
    -Icompat/mimalloc/include -Icompat/gperftools/include -isystem "$build/tools/proto"
    "${packages[@]}")
checked=0
failed=0

# compile NAME LANGUAGE-OPTIONS...: one header, included twice, so that its guard is tested as well.
compile() {
    local name=$1
    shift
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
    compile "$name" -x c -std=gnu11 -Wmissing-prototypes -Wstrict-prototypes
    case $header in
    include/* | compat/*/include/*) compile "$name" -x c++ -std=gnu++17 ;;
    esac
done < <(find src compat tools/mallow include -name '*.h' 2>/dev/null | sort)

echo "$checked compiled with $compiler, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 0 ]
