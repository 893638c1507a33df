#!/bin/bash
# SPDX-License-Identifier: MIT
# tutorial_heap.sh BUILD_DIR [--record] -- replays doc/user/tutorial-heap.md: its programs are
# compiled, its commands run, what they print is as the page has it, and the figures are what the
# programs allocate, within the error of sampling.  --record writes what the commands print into
# the page.
source "$(dirname "$0")/lib.bash"
needs python3 dot
page=$here/../../doc/user/tutorial-heap.md
export PATH=$build/bin:$PATH LC_ALL=C.UTF-8
# On a slow machine prof_cost_limit would take fewer samples, with larger errors.  The page sets
# first the one variable for a command, later the other.
export MALLOW_CONF=prof_cost_limit:0 MALLOC_CONF=prof_cost_limit:0
# As installed: the loader, the compiler and the linker find the library without a path.
export LD_LIBRARY_PATH=$build/lib LIBRARY_PATH=$build/lib C_INCLUDE_PATH=$here/../../include
PYTHONPATH=$here python3 -B "$here/tutorial_heap.py" "$page" ${2:+"$2"} >"$work/out" 2>&1 ||
    fail "the tutorial"
rm -rf dumps limits
ok "$(tail -1 "$work/out")"
