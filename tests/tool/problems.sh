#!/bin/bash
# SPDX-License-Identifier: MIT
# problems.sh BUILD_DIR -- problems of servers: each is named by a function of the program, in one
# or two commands that somebody would try who does not know what it is.
# shellcheck source=tests/tool/lib.bash
source "$(dirname "$0")/lib.bash"

g++ -g -O2 -pthread -o problems "$here/problems.cc" -lz || fail "problems.cc does not compile"

# named PROBLEM PATTERN COMMAND [COMMAND]: the server is asked again until the last command's output
# has the pattern, in which PID stands for the process.
named() {
    local problem=$1 pattern=$2
    shift 2
    LD_PRELOAD=$build/lib/libmallow.so ./problems "$problem" &
    pid=$!
    started+=("$pid")
    await 60 is_known "$pid"
    answers() {
        local command
        for command in "$@"; do
            # shellcheck disable=SC2086 # options are words
            "$mallow" ${command//PID/$pid} >out 2>err
        done
        grep -qE -- "${pattern//PID/$pid}" <<<"$(tr '\n' ' ' <out | tr -s ' ')"
    }
    await 90 answers "$@" || fail "$problem is not named"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    ok "$problem: $*"
}

named slow-leak 'only grows: .* open_session holds' 'advise PID'
named slow-leak 'held by the variable failed_logins.* in problems' 'leaks --growth 2 PID'
named rare-leak 'blocks leaked.*#1 .* format_error [^ ]*problems\.cc' 'leaks PID'
named cache 'only grows: .* PriceCache::lookup holds' 'advise PID'
named cache 'held by the variable price_cache in problems' 'leaks --growth 2 PID'
named fragmentation 'fragmentation: .* import_rows' 'advise PID'
named spike 'Total: .* [0-9.]+ [KM]iB +[0-9.]+% [^%]*% [^%]*% nightly_report [^ ]*problems\.cc' \
    'timeline PID' 'report --peak-space --top 1 PID'
named hot-path '% [^%]* (handle|split) ' 'cpu --memory-cost --for 2s PID'
named convoy 'registry_mutex .* waited .* in register_client .* held by' \
    'cpu --locks --for 2s PID'
named library 'libz\.so\.1@0x.* compress_page' 'cpu --for 2s PID'
