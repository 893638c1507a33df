#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh -- clang-tidy over the library and the command, shellcheck over the scripts, and the style
# checks of tests/checks.  Needs a configured build for the compilation database.
. "$(dirname "$0")/lib/common.sh"

scripts/bootstrap.sh build lint
[ -s "$MALLOW_BUILD/compile_commands.json" ] || scripts/build.sh release
tests/checks/shell.sh "$MALLOW_ROOT" "$MALLOW_BUILD"
tests/checks/layers.py "$MALLOW_ROOT"
tests/checks/sizes.sh "$MALLOW_ROOT"
tests/checks/documents.py "$MALLOW_ROOT"
tests/checks/format.sh "$MALLOW_ROOT"
# The compilation database is gcc's; clang has not all of its flags.
find src compat tools/mallow -name '*.c' -print0 |
    xargs -0 -n 4 -P "$(job_count)" clang-tidy --quiet -p "$MALLOW_BUILD" \
        --extra-arg=-Wno-ignored-optimization-argument
