# SPDX-License-Identifier: MIT
# clickhouse_server.bash -- starts ClickHouse servers of the caller's own on loopback, each with its
# own configuration and data below a folder: `source` it.

# write_clickhouse_config FOLDER HTTP_PORT TCP_PORT OTHER_TCP_PORT: of one server of the cluster
# "pair", whose other server has the last port.
write_clickhouse_config() {
    mkdir -p "$1/data" "$1/tmp"
    cat >"$1/config.xml" <<EOF_XML
<yandex>
<logger><level>warning</level><log>$1/server.log</log><errorlog>$1/errors.log</errorlog></logger>
<http_port>$2</http_port><tcp_port>$3</tcp_port><listen_host>127.0.0.1</listen_host>
<path>$1/data/</path><tmp_path>$1/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>268435456</mark_cache_size>
<remote_servers><pair>
<shard><replica><host>127.0.0.1</host><port>$3</port></replica></shard>
<shard><replica><host>127.0.0.1</host><port>$4</port></replica></shard>
</pair></remote_servers>
</yandex>
EOF_XML
    cat >"$1/users.xml" <<EOF_XML
<yandex>
<profiles><default><max_memory_usage>6000000000</max_memory_usage></default></profiles>
<quotas><default/></quotas>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default>
<keeper><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></keeper>
</users>
</yandex>
EOF_XML
}

# run_clickhouse FOLDER HTTP_PORT: starts the server, and waits until it answers; its PID is in
# FOLDER/pid.  Status 1 if it does not answer within a minute, 2 if it has ended.
run_clickhouse() {
    (cd "$1" && exec clickhouse-server --config-file="$1/config.xml" >output 2>&1) &
    echo $! >"$1/pid"
    local last=$((SECONDS + 60))
    until curl -fsS "http://127.0.0.1:$2/?query=SELECT+1" >/dev/null 2>&1; do
        kill -0 "$(cat "$1/pid")" 2>/dev/null || return 2
        [ "$SECONDS" -le "$last" ] || return 1
        sleep 0.1
    done
}

# start_clickhouse FOLDER: starts one server, FOLDER/a, or with a second argument also FOLDER/b, at
# ports that are free.  Sets http_a, http_b and clickhouse_pids.
start_clickhouse() {
    local try base
    for try in 1 2 3 4 5; do
        base=$((20000 + RANDOM % 10000 * 4))
        clickhouse_pids=()
        http_a=$base http_b=$((base + 1))
        write_clickhouse_config "$1/a" "$http_a" $((base + 2)) $((base + 3))
        run_clickhouse "$1/a" "$http_a" || continue
        clickhouse_pids+=("$(cat "$1/a/pid")")
        [ -n "${2:-}" ] || return 0
        write_clickhouse_config "$1/b" "$http_b" $((base + 3)) $((base + 2))
        if run_clickhouse "$1/b" "$http_b"; then
            clickhouse_pids+=("$(cat "$1/b/pid")")
            return 0
        fi
        kill -9 "${clickhouse_pids[@]}"
    done
    echo "clickhouse-server does not start: try $try" >&2
    tail -5 "$1/a/errors.log" >&2
    return 1
}
