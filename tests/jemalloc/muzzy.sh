#!/bin/bash
# SPDX-License-Identifier: MIT
# muzzy.sh BUILD_DIR -- free memory that the kernel may take.
set -euo pipefail
LD_LIBRARY_PATH=$1/lib/mallow/compat "$1/tests/jemalloc_muzzy"
LD_LIBRARY_PATH=$1/lib/mallow/compat MALLOC_CONF=background_thread:true "$1/tests/jemalloc_muzzy"
