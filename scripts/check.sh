#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh [CTEST OPTION...] -- builds everything and runs every test and check.  The last line says
# how many passed and failed, counted from ctest's report; exit status 0 only if some ran and none
# failed.  `scripts/check.sh -R real/` runs the programs of tests/real alone.
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/tests.sh"

scripts/bootstrap.sh check
scripts/build.sh release
run_tests "$MALLOW_BUILD/check.xml" "$@"
