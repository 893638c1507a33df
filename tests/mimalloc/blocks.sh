#!/bin/bash
# SPDX-License-Identifier: MIT
# blocks.sh BUILD_DIR SOURCE_DIR -- mimalloc's functions without state of their own, on each of
# mallow's libraries of that name and on Debian's.
. "$(dirname "$0")/lib.sh"
passes_on_all "$build/tests/mimalloc_blocks"
passes_on_reference "$build/tests/mimalloc_blocks"
