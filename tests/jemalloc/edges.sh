#!/bin/bash
# SPDX-License-Identifier: MIT
# edges.sh BUILD_DIR -- rare uses of the interface, with each library.
set -euo pipefail
build=$1
. "$(dirname "$0")/lib.sh"
MALLOW_CONF=prof:false LD_LIBRARY_PATH=$build/lib/mallow/compat "$build/tests/jemalloc_edges"
for library in secure debug; do
    LD_PRELOAD=$build/lib/libmallow_$library.so "$build/tests/jemalloc_edges"
done
ok "each library"
