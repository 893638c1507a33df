#!/bin/bash
# SPDX-License-Identifier: MIT
# tutorial_server.sh BUILD_DIR [--record] -- replays doc/user/tutorial-server.md on redis-server:
# its module is compiled, its commands run, what they print is as the page has it, and the figures
# are what redis and the kernel count, within the error of sampling.  --record writes what the
# commands print into the page.
source "$(dirname "$0")/lib.bash"
needs python3 redis-server redis-cli
page=$here/../../doc/user/tutorial-server.md
export PATH=$build/bin:$PATH LC_ALL=C.UTF-8
# On a slow machine prof_cost_limit would take fewer samples, with larger errors.
export MALLOW_CONF=prof_cost_limit:0
# As installed: the loader finds the library without a path.
export LD_LIBRARY_PATH=$build/lib
at_end "redis-cli -s '$work/r.sock' shutdown nosave >/dev/null 2>&1"
PYTHONPATH=$here python3 -B "$here/tutorial_server.py" "$page" ${2:+"$2"} >"$work/out" 2>&1 ||
    fail "the tutorial"
rm -rf night
ok "$(tail -1 "$work/out")"
