#!/bin/bash
# SPDX-License-Identifier: MIT
# forced_page.sh SOURCE_DIR BUILD_DIR -- the unit tests of heap, prof, os and state as on a kernel
# with pages of 64 KiB: the testing library then refuses what such a kernel refuses or rounds up.
set -uo pipefail
shopt -s nullglob
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=("$2"/tests/unit_{heap,prof,os,state}_*)
export MALLOW_TEST_PAGE_BYTES=65536 work
# shellcheck disable=SC2016 # the inner shell's
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P 2 bash -c '
    timeout 900 "$1" >"$work/${1##*/}.said" 2>&1 || touch "$work/${1##*/}.failed"' one
failed=("$work"/*.failed)
for file in "${failed[@]}"; do
    name=${file##*/}
    echo "FAILED: ${name%.failed}"
    tail -n 12 "${file%.failed}.said" | sed 's/^/  /'
done
ran=("$work"/*.said)
echo "${#ran[@]} programs with pages of 64 KiB, ${#failed[@]} failed"
[ "${#failed[@]}" = 0 ] && [ "${#ran[@]}" = "${#programs[@]}" ] && [ "${#ran[@]}" -ge 60 ]
