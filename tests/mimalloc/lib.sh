# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what the scripts of tests/mimalloc share, beside tests/real/lib.sh: where the libraries
# are.
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
# shellcheck disable=SC2034 # all for the scripts that source this
source=${2:-}
compat=$build/lib/mallow/compat
# Debian's; empty when it is not installed.
reference=$(/sbin/ldconfig -p | sed -n 's/.*libmimalloc\.so\.2 .*=> //p' | sed -n 1p)
reference=${reference%/*}

# passes WHAT FOLDER PROGRAM [NAME=VALUE...]: the program ends with 0 on the library of that folder.
passes() {
    local what=$1 folder=$2 program=$3
    shift 3
    env LD_LIBRARY_PATH="$folder" "$@" "$program" >"$work/out" 2>&1 ||
        fail "$what: $(tail -n 3 "$work/out")"
    echo "ok $what"
}

# passes_on_all PROGRAM: on the plain, the hardened and the debug library, and however much is
# sampled.
passes_on_all() {
    local name
    passes "libmimalloc.so.2" "$compat" "$1"
    for name in secure debug; do
        passes "libmimalloc-$name.so.2" "$compat" "$1" "LD_PRELOAD=$compat/libmimalloc-$name.so.2"
    done
    for name in prof:false prof_sample:4096 prof_sample:1; do
        passes "$name" "$compat" "$1" "MALLOW_CONF=$name"
    done
}

# passes_on_reference PROGRAM: the test asks for what mimalloc does.
passes_on_reference() {
    [ -n "$reference" ] || return 0
    passes "Debian's library" "$reference" "$1" TEST_REFERENCE=1
}
