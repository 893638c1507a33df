#!/bin/bash
# SPDX-License-Identifier: MIT
# knot.sh BUILD_DIR -- knot-resolver's kresd, linked with jemalloc, answers 4000 queries from its
# own table.
. "$(dirname "$0")/lib.sh"
need kresd dig jeprof python3

# Where LuaJIT's frames have no tables, the unwinder that jemalloc profiles with ends the process.
reference_conf=prof:false

session() {
    local port
    port=$(free_port)
    {
        echo "net.listen('127.0.0.1', $port)"
        echo "modules = { 'hints > iterate' }"
        echo "trust_anchors.remove('.')"
        echo "cache.open(10 * MB, 'lmdb://$here/cache')"
        for i in {1..2000}; do echo "hints['name$i.inside'] = '10.0.$((i / 250)).$((i % 250))'"; \
            done
        echo "policy.add(policy.suffix(policy.DENY, { todname('elsewhere') }))"
    } >"$here/config"
    for i in {1..2000}; do
        echo "name$i.inside A"
        echo "name$i.elsewhere A"
    done >"$here/queries"
    mkdir "$here/cache"
    serve 20 kresd -n -q -c "$here/config" "$here"
    wait_for 30 dig @127.0.0.1 -p "$port" +time=1 +tries=1 name1.inside ||
        fail "$side: it does not answer"
    runs_on_it "$started"
    dig @127.0.0.1 -p "$port" +noall +answer +time=5 -f "$here/queries" | awk '{ print $1, $5 }'
    ends "$started"
    clean_log 'panic'
}
each_library session
[ "$(grep -c ' 10\.0\.' "$work/ours.out")" -eq 2000 ] ||
    fail "$(grep -c ' 10\.0\.' "$work/ours.out") answers"
readable_dumps "$(command -v kresd)" 1
