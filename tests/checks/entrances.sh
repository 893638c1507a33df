#!/bin/bash
# SPDX-License-Identifier: MIT
# entrances.sh SOURCE_DIR -- what other users may influence comes in by one place in src/ and
# compat/: environment variables by os/platform/secure_environment.h, which has none for set-uid
# programs, and files that are written by base/put.h and os/file/, which refuse what somebody else
# may have planted.
set -euo pipefail
cd "$1"
status=0
# only PATTERN FILE...: code matches in these files alone; comments do not count
only() {
    local pattern=$1 found
    shift
    found=$(grep -rnE --include='*.c' --include='*.h' -- "$pattern" src compat |
        grep -vE ':[0-9]+:\s*(/?\*|//)' || true)
    for file; do
        grep -q "^src/$file:" <<<"$found" || {
            echo "$file has no '$pattern' any more: take it from this list"
            status=1
        }
        found=$(grep -v "^src/$file:" <<<"$found" || true)
    done
    [ -z "$found" ] || {
        echo "$found"
        status=1
    }
}
# attach/libc_calls.c defines these functions for code without libc.
only '\b(getenv|secure_getenv|environ|__environ)\b' os/platform/secure_environment.h \
    attach/libc_calls.c
only '\bAT_SECURE\b' os/platform/secure_environment.h
only '\b(O_CREAT|O_TRUNC|creat|fopen|fopen64|mkstemp)\b' base/put.c os/file/file.c \
    attach/libc_calls.c
[ "$status" = 0 ] || echo "use os/platform/secure_environment.h, base/put.h or os/file/file.h"
exit $status
