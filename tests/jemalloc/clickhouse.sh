#!/bin/bash
# SPDX-License-Identifier: MIT
# clickhouse.sh BUILD_DIR -- clickhouse-server, linked with jemalloc: a million rows, grouped.
. "$(dirname "$0")/lib.sh"
need clickhouse-server clickhouse-client jeprof python3

session() {
    local port
    port=$(free_port)
    mkdir "$here/data" "$here/tmp"
    cat >"$here/config.xml" <<END
<yandex>
    <logger><level>warning</level><console>1</console></logger>
    <tcp_port>$port</tcp_port><listen_host>127.0.0.1</listen_host>
    <path>$here/data/</path><tmp_path>$here/tmp/</tmp_path>
    <users_config>users.xml</users_config><default_profile>default</default_profile>
    <default_database>default</default_database><mark_cache_size>5368709120</mark_cache_size>
</yandex>
END
    cat >"$here/users.xml" <<'END'
<yandex>
    <profiles><default><max_threads>2</max_threads></default></profiles>
    <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile><quota>default</quota></default></users>
    <quotas><default></default></quotas>
</yandex>
END
    serve 27 clickhouse-server --config-file="$here/config.xml"
    ask() {
        LD_LIBRARY_PATH=$library clickhouse-client --host 127.0.0.1 --port "$port" --query "$1"
    }
    wait_for 60 ask "SELECT 1" || fail "$side: it does not answer: $(tail -n 5 "$here/log")"
    runs_on_it "$started"
    ask "CREATE TABLE t (k UInt64, v String) ENGINE = MergeTree ORDER BY k"
    ask "INSERT INTO t SELECT number, concat('value ', toString(number % 1000))
        FROM system.numbers LIMIT 1000000"
    ask "SELECT count(), sum(k), uniqExact(v) FROM t"
    ask "SELECT v, count(), sum(k) FROM t GROUP BY v ORDER BY v LIMIT 500"
    ask "SELECT k % 50000 AS g, groupArray(v)[1], max(k) FROM t GROUP BY g ORDER BY g LIMIT 20"
    ends "$started"
    clean_log '<(Error|Fatal)>'
}
each_library session
grep -q '^1000000	499999500000	1000$' <<<"$(head -n 1 "$work/ours.out")" ||
    fail "$(head -n 3 "$work/ours.out")"
readable_dumps "$(command -v clickhouse-server)" 2
