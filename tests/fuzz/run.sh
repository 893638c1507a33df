#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh TARGET BUILD_DIR [SECONDS | corpus] -- builds a fuzz target by the preset asan and runs it
# for 10 seconds (heap_secure is heap on the hardened library, from the same corpus); "corpus": only
# the inputs in the tree and a fixed number of others that a fixed seed makes of them, the same at
# every run.  Exit status 77 (skipped) without clang's libFuzzer.
set -euo pipefail
target=$1 build=$2 seconds=${3:-10}
inputs=${target%_secure}
[ "$target" != view ] || inputs=profile
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *b, unsigned long n) { return b && n && 0; }' \
    >"$probe/p.c"
if ! clang -fsanitize=fuzzer,address,undefined "$probe/p.c" -o "$probe/p" 2>"$probe/log"; then
    echo "skipped: clang with libFuzzer is not installed"
    exit 77
fi

mkdir -p "$build"
# Configured once: a build looks itself whether that is out of date.
if ! { { [ -e "$build/build.ninja" ] || cmake --preset asan -S "$root" -B "$build"; } &&
    cmake --build "$build" --parallel 2 --target "fuzz_$target" make_seeds; } \
    >"$probe/log" 2>&1; then
    cat "$probe/log"
    exit 1
fi

# Programs with their packages behind them, plain and compressed.  Only the packages have the units.
make_packages() {
    local version
    mkdir "$probe/packed"
    cd "$probe/packed" # where -gsplit-dwarf leaves its files
    for version in 4 5; do
        clang -g -O1 -shared -gsplit-dwarf "-gdwarf-$version" -nostdlib \
            -fno-asynchronous-unwind-tables -x c++ ../a.cc -x c ../b.c -o split
        if [ "$version" = 4 ]; then
            dwp ./*.dwo -o package
        else
            "$root/tests/tool/pack_dwp.py" package ./*.dwo
        fi || echo "no package of DWARF $version"
        rm ./*.dwo
        [ -e package ] || continue
        objcopy --compress-debug-sections=zlib-gabi package compressed
        cat split package >"$probe/object/package-$version"
        cat split compressed >"$probe/object/compressed-$version"
        rm package
    done
}

# Small programs with all kinds of debug information: inlined calls, DWARF 4 and 5, packed, of units
# apart, two units, a symbol table only, not linked.
make_objects() {
    cat >"$probe/a.cc" <<'END'
namespace n { template <int K> struct S { int v[K];
	int sum() const { int s = 0; for (int i : v) s += i; return s; } }; }
static inline int twice(int i) { return 2 * i; }
int outer(int i) { n::S<3> s{{i, twice(i), 1}};
	auto f = [&](int k) { return s.sum() + k; }; return f(twice(i + 1)); }
END
    cd "$probe" # where -gsplit-dwarf leaves its files
    echo 'int other(int (*f)(int)) { { int k = f(1); return k + f(k); } }' >"$probe/b.c"
    local way=0 options
    while read -r options; do
        way=$((way + 1))
        # shellcheck disable=SC2086 # words
        clang $options -nostdlib -fno-asynchronous-unwind-tables -Wl,--build-id -x c++ \
            "$probe/a.cc" -x c "$probe/b.c" \
            -o "$probe/object/$way" 2>/dev/null || echo "no seed with $options"
    done <<'END'
-g -O1 -shared
-g -O1 -shared -gdwarf-4 -gdwarf-aranges
-g -O0 -shared -gz=zlib
-g -O2 -shared -flto
-g -O1 -shared -gsplit-dwarf -gdwarf-5
-gline-tables-only -O2 -shared
-O1 -shared
END
    clang -g -O1 -c "$probe/a.cc" -o "$probe/object/relocatable"
    make_packages
    cd "$root"
}

mkdir -p "$probe/state_file" "$probe/profile" "$probe/unwind" "$probe/heap" "$probe/object" \
    "$probe/jit" "$probe/modules" "$build/crashes"
seeds=$(find "$build" -name make_seeds -type f -perm -u+x | sed -n 1p)
fuzzer=$(find "$build" -name "fuzz_$target" -type f -perm -u+x | sed -n 1p)
"$seeds" "$probe/state_file" "$probe/profile" "$probe/modules"
if [ "$target" = object ]; then
    make_objects
    # Libraries that leave memory behind on damaged files do so in a process that ends.
    export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0
fi
for folder in corpus found; do
    [ ! -d "$here/$folder/$inputs" ] || cp "$here/$folder/$inputs"/* "$probe/$inputs"
done
how=(-max_total_time="$seconds")
if [ "$seconds" = corpus ]; then
    how=(-seed=1 -runs=1000)
    case $target in
    object) how=(-seed=1 -runs=100) ;; # each in a process of its own
    heap_secure) how=(-seed=1 -runs=500) ;; # heap has run more of them
    esac
else
    # Any bytes are a sequence of operations; long ones from the start, new at each run.
    for i in 1 2 3 4 5 6 7 8; do
        head -c 3000 /dev/urandom >"$probe/heap/$i"
    done
fi
# 1 GiB: what no small file may cost.  128 KiB: twice the largest seed.
limits=(-max_len=131072)
[ "$inputs" != heap ] || limits=(-max_len=6000 -len_control=0)
if ! "$fuzzer" "$probe/$inputs" "${how[@]}" -rss_limit_mb=1024 "${limits[@]}" \
    -timeout=10 -artifact_prefix="$build/crashes/" >"$probe/log" 2>&1; then
    tail -n 40 "$probe/log"
    echo "the input is in $build/crashes"
    exit 1
fi
tail -n 2 "$probe/log"
