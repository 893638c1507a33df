#!/bin/bash
# SPDX-License-Identifier: MIT
# heaps.sh BUILD_DIR SOURCE_DIR -- mimalloc's heaps, on each of mallow's libraries of that name and
# on Debian's.
. "$(dirname "$0")/lib.sh"
passes_on_all "$build/tests/mimalloc_heaps"
passes_on_reference "$build/tests/mimalloc_heaps"
