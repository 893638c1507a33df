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

# The version, from the one place that declares it.
mallow_version() {
    sed -n 's/^project(mallow VERSION \([0-9.]*\) .*/\1/p' "$MALLOW_ROOT/CMakeLists.txt"
}

# True where git knows the sources: not in an unpacked tar ball, wherever it lies.
is_repository() {
    [ -e "$MALLOW_ROOT/.git" ] && git -C "$MALLOW_ROOT" rev-parse HEAD >/dev/null 2>&1
}

# The time that packages carry, in seconds since the epoch: of the last commit, or, without git, of
# the tar ball's files.
source_epoch() {
    if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif is_repository; then
        git -C "$MALLOW_ROOT" log -1 --format=%ct
    else
        stat -c %Y "$MALLOW_ROOT/CMakeLists.txt"
    fi
}
