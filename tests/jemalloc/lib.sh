# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what the scripts of tests/jemalloc share, beside tests/real/lib.sh: where the two libraries are.
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
# shellcheck disable=SC2034 # all for the scripts that source this
source=${2:-}
# shellcheck disable=SC2034
compat=$build/lib/mallow/compat
# Debian's; empty when it is not installed.
reference=$(/sbin/ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
reference=${reference%/*}

ok() {
    echo "ok $*"
}
