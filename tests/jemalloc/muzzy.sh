#!/bin/bash
# SPDX-License-Identifier: MIT
# muzzy.sh BUILD_DIR -- free memory that the kernel may take.
set -euo pipefail
build=$1
. "$(dirname "$0")/lib.sh"
LD_LIBRARY_PATH=$build/lib/mallow/compat MALLOC_CONF=background_thread:true \
    "$build/tests/jemalloc_muzzy"
on_any_sampling "$build/tests/jemalloc_muzzy"
