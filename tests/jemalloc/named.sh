#!/bin/bash
# SPDX-License-Identifier: MIT
# named.sh BUILD_DIR -- bind9's server, linked with jemalloc, answers 4000 queries.
. "$(dirname "$0")/lib.sh"
need named dig jeprof python3

session() {
    local port
    port=$(free_port)
    cat >"$here/named.conf" <<END
options { directory "$here"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; };
    recursion no;
    pid-file "$here/pid"; session-keyfile "$here/key"; managed-keys-directory "$here"; };
controls { };
zone "test" { type primary; file "zone"; };
END
    {
        echo "\$TTL 60"
        echo "@ SOA ns.test. root.test. 1 60 60 60 60"
        echo "@ NS ns.test."
        echo "ns A 127.0.0.1"
        for i in {1..2000}; do echo "name$i A 10.0.$((i / 250)).$((i % 250))"; done
    } >"$here/zone"
    for i in {1..4000}; do echo "name$i.test A"; done >"$here/queries"
    serve 20 named -g -c "$here/named.conf" -n 2
    wait_for 30 dig @127.0.0.1 -p "$port" +time=1 +tries=1 ns.test ||
        fail "$side: it does not answer"
    runs_on_it "$started"
    dig @127.0.0.1 -p "$port" +noall +answer +time=5 -f "$here/queries"
    ends "$started"
    clean_log 'fatal|core dump'
}
each_library session
[ "$(grep -c '10\.0\.' "$work/ours.out")" -eq 2000 ] ||
    fail "$(grep -c '10\.0\.' "$work/ours.out") answers"
readable_dumps "$(command -v named)" 3
