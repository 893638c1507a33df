#!/bin/bash
# SPDX-License-Identifier: MIT
# afl.sh TARGET BUILD_DIR [SECONDS] -- the same targets under AFL++, which mutates by other rules
# than libFuzzer: builds one with afl-clang-fast and runs it for 60 seconds, from the corpus in the
# tree. What it finds goes to BUILD_DIR/afl-TARGET, inputs that do harm to .../default/crashes; the
# last line counts them.  Exit status 1 when there are any, 77 (skipped) without AFL++.
set -euo pipefail
target=$1 build=$2 seconds=${3:-60}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v afl-clang-fast >/dev/null || ! command -v afl-fuzz >/dev/null; then
    echo "skipped: afl++ is not installed"
    exit 77
fi
mkdir -p "$build"
log=$build/afl-$target.log
# No sanitizers: the target's own model is what notices, and AFL's map stays small.
if ! { AFL_QUIET=1 cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DMALLOW_WERROR=OFF \
    -DCMAKE_C_COMPILER=afl-clang-fast -DCMAKE_CXX_COMPILER=afl-clang-fast++ -DMALLOW_FUZZ=ON &&
    AFL_QUIET=1 cmake --build "$build" --target "fuzz_$target" make_seeds; } >"$log" 2>&1; then
    cat "$log"
    exit 1
fi
fuzzer=$(find "$build" -name "fuzz_$target" -type f -perm -u+x | sed -n 1p)
seeds=$(find "$build" -name make_seeds -type f -perm -u+x | sed -n 1p)

out=$build/afl-$target
rm -rf "$out" "$out-seeds"
mkdir -p "$out-seeds/state_file" "$out-seeds/profile" "$out-seeds/$target"
"$seeds" "$out-seeds/state_file" "$out-seeds/profile"
for folder in corpus found; do
    [ ! -d "$here/$folder/$target" ] || cp "$here/$folder/$target"/* "$out-seeds/$target"
done
# AFL wants at least one.
[ -n "$(ls -A "$out-seeds/$target")" ] || head -c 300 /dev/zero >"$out-seeds/$target/zeros"

# In containers and on CI there is no core pattern to change, no processor to bind to, no screen.
export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1
# -m none: the shadow map reserves a terabyte of address space.
status=0
afl-fuzz -i "$out-seeds/$target" -o "$out" -V "$seconds" -m none -t 5000 -- "$fuzzer" \
    >>"$log" 2>&1 || status=$?
if [ ! -s "$out/default/fuzzer_stats" ]; then
    tail -n 30 "$log"
    exit 1
fi
value() {
    sed -n "s/^$1 *: *//p" "$out/default/fuzzer_stats"
}
crashes=$(value saved_crashes) hangs=$(value saved_hangs)
echo "fuzz_$target under AFL++: $(value execs_done) runs in $(value run_time) s," \
    "$(value corpus_count) inputs kept, $crashes crashes, $hangs hangs"
[ "$status" -eq 0 ] && [ "$crashes" -eq 0 ] && [ "$hangs" -eq 0 ]
