#!/bin/bash
# SPDX-License-Identifier: MIT
# lengths.sh BUILD_DIR SOURCE_DIR -- every control name that both libraries know is read and written
# with right and wrong lengths: both return the same, and leave the same length.
. "$(dirname "$0")/lib.sh"
need_reference

# arena.<i>.name writes where its old value points to; arenas.lookup looks up whatever is not
# passed.
# shellcheck disable=SC2016 # the backquotes are Markdown's
grep -v '| ENOENT |' "$source/doc/reference/mallctl.md" | sed -n 's/^| `\([^`]*\)` .*/\1/p' |
    sed 's/<i>/0/g' |
    grep -vx 'arena\.0\.name\|arenas\.lookup' >"$work/names"
run() {
    MALLOC_CONF=prof:true,prof_active:false LD_LIBRARY_PATH=$1 "$build/tests/jemalloc_lengths" \
        <"$work/names"
}
run "$compat" >"$work/mallow"
run "$reference" >"$work/jemalloc"
# Names of later versions than the reference's are known to one only; some of its own it was built
# without.
awk '$2 == "read" && $4 != "2," { print $1 }' "$work/jemalloc" | sort -u >"$work/both"
for library in mallow jemalloc; do
    awk 'NR == FNR { both[$1] = 1; next } both[$1]' "$work/both" "$work/$library" \
        >"$work/$library.shared"
done
diff "$work/jemalloc.shared" "$work/mallow.shared" >"$work/diff" || {
    echo "$(grep -c '^>' "$work/diff") answers differ from jemalloc's (<):"
    head -n 40 "$work/diff"
    exit 1
}
echo "ok $(wc -l <"$work/mallow.shared") answers about $(cut -d' ' -f1 "$work/mallow.shared" |
    sort -u | wc -l) names"
