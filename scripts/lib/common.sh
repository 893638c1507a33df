# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# common.sh -- what every script shares: where the sources are, messages, the number of cores.
# Sourced first; needs only bash and coreutils.
set -euo pipefail

MALLOW_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export MALLOW_ROOT
cd "$MALLOW_ROOT"

# Where the release build goes; another place is for tests of these scripts.
MALLOW_BUILD=${MALLOW_BUILD:-$MALLOW_ROOT/build}

say() {
    printf '== %s\n' "$*"
}

die() {
    printf 'mallow: %s\n' "$*" >&2
    exit 2
}

job_count() {
    nproc 2>/dev/null || echo 2
}
