#!/bin/bash
# SPDX-License-Identifier: MIT
# hooks.sh BUILD_DIR SOURCE_DIR -- MallocHook and GetStackTrace.
. "$(dirname "$0")/lib.sh"
compile hooks -L"$compat" -ltcmalloc -pthread
LD_LIBRARY_PATH=$compat "$work/hooks" || fail "hooks"
echo "ok"
