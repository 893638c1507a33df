#!/bin/bash
# SPDX-License-Identifier: MIT
# format.sh SOURCE_DIR -- every C source is as clang-format and .clang-format would have it.
set -euo pipefail
cd "$1"
scripts/format.sh --check
