#!/bin/bash
# SPDX-License-Identifier: MIT
# combinations.sh [PRESET...] -- builds the library with another compiler or level of
# optimisation, and runs the tests that such a difference can break: units, misuse, stacks,
# torture.  Without arguments all of gcc and clang at -O0, -O3 and with link-time optimisation:
# about ten minutes on two cores.
. "$(dirname "$0")/lib/common.sh"

[ $# -gt 0 ] || set -- gcc-O0 gcc-O3 gcc-lto clang-O0 clang-O3 clang-lto
scripts/bootstrap.sh check
failed=0
for preset in "$@"; do
    say "$preset"
    tests/checks/build_preset.sh . "$MALLOW_BUILD" "$preset" \
        -R '^(unit/|misuse/|unwind/|torture/(static|sample-4096|secure-exact))' || failed=1
done
exit "$failed"
