#!/bin/bash
# SPDX-License-Identifier: MIT
# test.sh [CTEST OPTION...] -- builds, and runs the units, the misuse tests and the command's tests:
# what a change is tried with before check.sh.  It installs only what the build needs; tests that
# need more are skipped and named.
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/tests.sh"

scripts/build.sh release
run_tests "$MALLOW_BUILD/test.xml" -R '^(unit|misuse|tool)/' "$@"
