# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lib.sh -- what the tests of gperftools' interface share.  Sourced with the script's arguments.
. "$(dirname "${BASH_SOURCE[0]}")/../real/lib.sh"
source=$2
here=$source/tests/gperftools
# shellcheck disable=SC2034 # for the scripts that source this
compat=$build/lib/mallow/compat
unset HEAPPROFILE HEAPPROFILE_USE_PID PERFTOOLS_VERBOSE MALLOCSTATS PMIX_RANK PMI_RANK OMPI_HOME
unset SLURM_JOB_ID SLURM_PROCID

# compile PROGRAM OPTION...: tests/gperftools/PROGRAM.c or .cc, as a user compiles for libtcmalloc
compile() {
    local name=$1 compiler=cc file=$here/$1.c
    shift
    if [ -e "$here/$name.cc" ]; then
        compiler=c++
        file=$here/$name.cc
    fi
    need "$compiler"
    "$compiler" -O1 -g -fno-builtin -no-pie -fno-optimize-sibling-calls -Wall -Wextra -Werror \
        -I"$source/compat/gperftools/include" "$file" -o "$work/$name" "$@"
}
