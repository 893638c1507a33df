#!/bin/bash
# SPDX-License-Identifier: MIT
# extension.sh BUILD_DIR SOURCE_DIR -- MallocExtension: its C++ object has the layout of gperftools'
# own, and properties, limits and releases do what they say.
. "$(dirname "$0")/lib.sh"
compile extension -L"$compat" -ltcmalloc -pthread
LD_LIBRARY_PATH=$compat "$work/extension" || fail "extension"
LD_LIBRARY_PATH=$compat LD_PRELOAD=$compat/libtcmalloc_debug.so.4 "$work/extension" layout ||
    fail "the layout with libtcmalloc_debug.so.4"
for debian in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$debian" ] || continue
    "$work/extension" layout || fail "compiled with mallow's header, on $debian"
done

# Each property of properties.def exists, and MALLOCSTATS prints the text of GetStats at exit.
cat >"$work/one.c" <<'EOF'
#include <stdlib.h>
int main(void) { return malloc(10) == NULL; }
EOF
cc -O0 "$work/one.c" -o "$work/one"
library=$compat/libtcmalloc.so.4
MALLOCSTATS=1 LD_PRELOAD=$library "$work/one" 2>"$work/stats" || fail "MALLOCSTATS"
grep -qE '^MALLOC: {9,}[0-9]+ \( +[0-9]+\.[0-9] MiB\) Bytes in use by application$' "$work/stats" ||
    fail "MALLOCSTATS=1 prints $(cat "$work/stats")"
grep -q 'PageHeap:' "$work/stats" && fail "MALLOCSTATS=1 prints the page heap"
grep -q '^PageHeap: ' <<<"$(MALLOCSTATS=2 LD_PRELOAD=$library "$work/one" 2>&1)" ||
    fail "MALLOCSTATS=2 prints no page heap"

# The lines are those of gperftools, but for numbers.
shape() {
    sed -n '/^-----/,/^Bytes released/p' "$1" | sed 's/[0-9.]\+/N/g; s/ \+/ /g'
}
for debian in /usr/lib/*/libtcmalloc.so.4; do
    [ -e "$debian" ] || continue
    MALLOCSTATS=1 LD_PRELOAD=$debian "$work/one" 2>"$work/theirs"
    diff <(shape "$work/theirs") <(shape "$work/stats") || fail "GetStats has another form (>)"
done

# Bad values: one line each, which names the variable, and the program runs.
hostile() {
    local variable=$1 value=$2 said
    said=$(env "$variable=$value" LD_PRELOAD="$library" "$work/one" 2>&1) ||
        fail "$variable=$value ends the program: $said"
    [ "$(grep -c . <<<"$said")" = 1 ] || fail "$variable=$value says: $said"
    grep -qF "$variable: '$value' is not" <<<"$said" || fail "$variable=$value says: $said"
}
for variable in TCMALLOC_HEAP_LIMIT_MB TCMALLOC_SAMPLE_PARAMETER TCMALLOC_RELEASE_RATE \
    MALLOCSTATS; do
    hostile $variable -7
    hostile $variable 99999999999999999999999
    hostile $variable 12x
done
export LD_LIBRARY_PATH=$compat
TCMALLOC_HEAP_LIMIT_MB=64 "$work/extension" limited || fail "TCMALLOC_HEAP_LIMIT_MB has no effect"
"$work/extension" limited && fail "100 MiB are refused without a limit"
echo "ok"
