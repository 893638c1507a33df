#!/bin/bash
# SPDX-License-Identifier: MIT
# variables.sh BUILD_DIR SOURCE_DIR -- environment variables of mimalloc: what they do, and one line
# for each value that makes no sense.
. "$(dirname "$0")/lib.sh"
library=$compat/libmimalloc.so.2

# run NAME=VALUE...: stderr of a program that does little
run() {
    env "$@" LD_PRELOAD="$library" /bin/true 2>&1
}
# expect WHAT PATTERN TEXT
expect() {
    grep -q -- "$2" <<<"$3" || fail "$1: '$3' lacks '$2'"
}

[ -z "$(run A=b MIMALLOC=1)" ] || fail "output without variables"
expect show_stats '^heap stats: ' "$(run MIMALLOC_SHOW_STATS=1)"
expect show_stats ' committed: ' "$(run mimalloc_show_stats=0 MIMALLOC_SHOW_STATS=yes)"
text=$(run MIMALLOC_VERBOSE=1 MIMALLOC_PURGE_DELAY=17 MIMALLOC_ARENA_RESERVE=2GiB \
    MIMALLOC_RESET_DECOMMITS=0)
expect verbose '^mallow .* with the interface of mimalloc 2\.2\.4$' "$text"
expect verbose "^option 'purge_delay': 17$" "$text"
expect verbose "^option 'arena_reserve': 2097152 KiB$" "$text"
expect "an earlier name" "^option 'purge_decommits': 0$" "$text"

# said NAME=VALUE LINE: the line, and no other
said() {
    [ "$(run "$1")" = "$2" ] || fail "$1: '$(run "$1")', not '$2'"
}
said MIMALLOC_PURGE_DELAY=soon \
    "mallow: MIMALLOC_PURGE_DELAY: 'soon' is not a number; the variable is ignored"
said MIMALLOC_PURGE_DELAY=99999999999999999999 \
    "mallow: MIMALLOC_PURGE_DELAY: '99999999999999999999' is not a number; the variable is ignored"
said MIMALLOC_SHOW_STATS=maybe \
    "mallow: MIMALLOC_SHOW_STATS: 'maybe' is not a number, true or false; the variable is ignored"
said MIMALLOC_ARENA_RESERVE=-1 \
    "mallow: MIMALLOC_ARENA_RESERVE: '-1' is not a number; the variable is ignored"
said MIMALLOC_ARENA_RESERVE=9000000000000000T \
    "mallow: MIMALLOC_ARENA_RESERVE: '9000000000000000T' is not a number; the variable is ignored"
unknown='not an option of mimalloc that mallow knows; the variable is ignored'
said MIMALLOC_SHOW_STATISTICS=1 "mallow: MIMALLOC_SHOW_STATISTICS: $unknown"
said MIMALLOC_=1 "mallow: MIMALLOC_: $unknown"

# The messages of errors.
cat >"$work/large.c" <<'END'
#include <mimalloc.h>
int main(void) { volatile size_t size = (size_t)1 << 46; return mi_malloc(size) != NULL; }
END
cc -I"$source/compat/mimalloc/include" "$work/large.c" -o "$work/large" -L"$compat" -lmimalloc
[ "$(MIMALLOC_SHOW_ERRORS=1 LD_LIBRARY_PATH=$compat "$work/large" 2>&1)" = \
    "mallow: no memory for 70368744177664 bytes" ] || fail "show_errors"
[ -z "$(LD_LIBRARY_PATH=$compat "$work/large" 2>&1)" ] || fail "errors without show_errors"
echo "ok variables"
