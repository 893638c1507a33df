#!/bin/bash
# SPDX-License-Identifier: MIT
# zeros.sh BUILD_DIR SOURCE_DIR -- what resized blocks gain is zero where mimalloc's functions
# promise it, on each of mallow's libraries of that name.
. "$(dirname "$0")/lib.sh"
passes_on_all "$build/tests/mimalloc_zeros"
