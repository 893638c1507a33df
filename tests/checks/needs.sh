#!/bin/bash
# SPDX-License-Identifier: MIT
# needs.sh SOURCE_DIR -- a script of tests/tool that calls a program which a system of Debian need
# not have names it (`needs`, `command -v`), so that `make test` skips it there instead of failing.
set -euo pipefail
cd "$1/tests/tool"

count=0 missing=0
for program in python3 ps pgrep pkill groff openssl curl tmux gdb valgrind redis-server jeprof; do
    # At the beginning of a command, or behind one that starts another.
    call="^([^#]*(\\\$\\(|\\| |; |&& |! |then |do |try [0-9] |await [0-9]+ |-- |env |as_user "
    call+="|profile [a-z]+ ))? *$program( |\$)"
    mapfile -t scripts < <(grep -lE "$call" -- *.sh)
    for script in ${scripts[@]+"${scripts[@]}"}; do
        count=$((count + 1))
        grep -qE "needs .*$program|command -v $program|^has_$program|has_$program" "$script" || {
            echo "tests/tool/$script calls $program, but does not say that it needs it"
            missing=$((missing + 1))
        }
    done
done
[ "$count" -ge 40 ] || {
    echo "only $count calls are found: the pattern is wrong"
    exit 1
}
[ "$missing" = 0 ] && echo "$count scripts name what they call"
