#!/bin/bash
# SPDX-License-Identifier: MIT
# fleet.sh BUILD_DIR [SERVICES] -- a store in ClickHouse with a day of many processes: bytes on disk
# for each sample, time of each question and of adding up an hour, puts a minute.  A service has 50
# processes, a process 96 profiles a day, a profile 300 stacks: 1.44 million samples a service.
# 200 services (the default) take 5 GB and a quarter of an hour.  Needs Debian's clickhouse-server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
services=${2:-200}
# shellcheck source=tests/support/clickhouse_server.bash
source "$here/../tests/support/clickhouse_server.bash"
work=$(mktemp -d "${TMPDIR:-/tmp}/mallow-fleet.XXXXXX")
end() {
    [ -z "${clickhouse_pids:-}" ] || kill -9 "${clickhouse_pids[@]}" 2>/dev/null
    wait
    rm -rf "$work"
}
trap end EXIT
start_clickhouse "$work"
url=clickhouse://127.0.0.1:$http_a/fleet
ask() {
    curl -fsS --data-binary "$1" \
        "http://127.0.0.1:$http_a/?database=fleet&max_insert_block_size=1048576"
}
fleet() {
    FLEET_SERVER=${clickhouse_pids[0]} "$build/bench/fleet" "$url" "$@"
}

day=2026-11-27
midnight=$(date -u -d "$day" +%s)
# The tables are made with the first question.
fleet ask none 0 1 >/dev/null
begin=$SECONDS
for ((first = 0; first < services; first += 10)); do
    made="SELECT $first + intDiv(number, 4800) AS svc, intDiv(number, 96) % 50 AS inst,
        number % 96 AS pr FROM system.numbers LIMIT $((10 * 50 * 96))"
    ask "INSERT INTO profiles (day, ts, time, number, attempt, service, kind, instance, host,
        version, build_id, tag_keys, tag_values, period, now_count, now_amount)
        SELECT toDate('$day'), toDateTime($midnight + pr * 900 + inst % 60) AS t,
        toInt64(toUInt32(t)) * 1000000000, cityHash64(svc, inst, pr) AS n, n,
        concat('svc', toString(svc)), 1, concat(toString(svc), ':', toString(inst)),
        concat('host', toString(svc * 50 + inst)), toString(intDiv(pr, 48)),
        concat('bid', toString(svc)), ['region'], [concat('r', toString(inst % 3))], 524288,
        100000, 400000000 + pr * 100000 FROM ($made)"
    ask "INSERT INTO samples (day, ts, service, kind, attempt, stack, now_count, now_amount,
        since_count, since_amount)
        SELECT toDate('$day'), toDateTime($midnight + pr * 900 + inst % 60),
        concat('svc', toString(svc)), 1, cityHash64(svc, inst, pr) AS n,
        cityHash64(svc, if(j < 200, j, 300 + cityHash64(svc, inst, intDiv(pr, 8), j) % 3000))
        AS id, intDiv(amount, 64 + id % 512) + 1,
        toInt64(intDiv(1000000000, (j + 1) * (j + 7)) + id % 4096 + if(j = 5, pr * 50000, 0))
        AS amount, intDiv(cityHash64(n, id) % 1000000, 64), cityHash64(n, id) % 1000000
        FROM (SELECT $first + intDiv(number, 1440000) AS svc, intDiv(number, 28800) % 50 AS inst,
        intDiv(number, 300) % 96 AS pr, number % 300 AS j
        FROM system.numbers LIMIT $((10 * 50 * 96 * 300)))"
    # Twenty frames of 50,000 locations.
    ask "INSERT INTO stacks (day, stack, locations) SELECT toDate('$day'), cityHash64(svc, j) AS id,
        arrayMap(x -> cityHash64(if(x < 11, intHash64(id + x) % 50000, svc * 10 + x)), range(20))
        FROM (SELECT $first + intDiv(number, 3300) AS svc, number % 3300 AS j
        FROM system.numbers LIMIT 33000)"
done
ask "INSERT INTO locations (day, location, named, build_id, path, offset, functions, system_names,
    files, lines, start_lines) SELECT toDate('$day'), cityHash64(number), 1, 'bid', '/usr/bin/made',
    number * 16, [concat('made_function_', toString(number))], [''],
    [concat('made_', toString(number % 100), '.c')], [number % 900], [1]
    FROM system.numbers LIMIT 50000"
echo "loaded in $((SECONDS - begin)) s"
ask "SELECT table, sum(rows) AS r, sum(bytes_on_disk) AS b, round(b / r, 1) FROM system.parts
    WHERE active AND database = 'fleet' GROUP BY table ORDER BY b DESC
    FORMAT PrettyCompactNoEscapes"
echo "Without hours:"
fleet ask svc7 "$midnight" $((midnight + 86400))
fleet hours $((midnight + 12 * 3600)) $((midnight + 13 * 3600))
fleet hours "$midnight" $((midnight + 86400))
echo "With hours:"
fleet ask svc7 "$midnight" $((midnight + 86400))
fleet put 200 3 300
grep -E 'VmHWM' "/proc/${clickhouse_pids[0]}/status"
