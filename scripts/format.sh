#!/bin/bash
# SPDX-License-Identifier: MIT
# format.sh [--check] -- clang-format over all C and C++ sources; --check only names what differs.
. "$(dirname "$0")/lib/common.sh"

command -v clang-format >/dev/null || scripts/bootstrap.sh lint
mapfile -t sources < <(find src compat tools tests bench include \
    \( -name '*.[ch]' -o -name '*.cc' \) | sort)
[ ${#sources[@]} -gt 0 ] || die "no sources found under $MALLOW_ROOT"
if [ "${1:-}" = --check ]; then
    clang-format --dry-run --Werror "${sources[@]}"
    echo "${#sources[@]} files are in format"
else
    clang-format -i "${sources[@]}"
fi
