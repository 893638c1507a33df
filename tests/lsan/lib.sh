# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what the tests of LeakSanitizer's interface share.  Sourced with the script's arguments.
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
source=$2
# shellcheck disable=SC2034 # for the scripts that source this
compat=$build/lib/mallow/compat
unset LSAN_OPTIONS PPROF_PATH
need gcc
echo 'int main(void) { return 0; }' >"$work/probe.c"
if ! gcc -fsanitize=leak "$work/probe.c" -o "$work/probe" 2>/dev/null ||
    ! "$work/probe" 2>/dev/null; then
    echo "skipped: no LeakSanitizer of gcc here"
    exit 77
fi

# compile PROGRAM OPTION...: tests/lsan/annotated.c; gcc's library walks stacks by frame pointers
compile() {
    gcc -O1 -g -fno-builtin -fno-optimize-sibling-calls -fno-inline \
        -fno-omit-frame-pointer -Wall -Wextra -Werror \
        "$source/tests/lsan/annotated.c" -o "$work/$1" -pthread "${@:2}"
}
