#!/bin/bash
# SPDX-License-Identifier: MIT
# shell.sh SOURCE_DIR -- shellcheck over every script.
set -euo pipefail
cd "$1"
mapfile -t scripts < <(find scripts tests bench contrib -name '*.sh' | sort)
shellcheck --external-sources --source-path=SCRIPTDIR "${scripts[@]}" .ci/run
echo "${#scripts[@]} scripts looked at"
