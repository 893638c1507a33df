#!/bin/bash
# SPDX-License-Identifier: MIT
# clickhouse.sh BUILD_DIR -- the store in ClickHouse: what holds for all stores, on one server and
# on a cluster of two, and puts whose connection or server is lost on the way.
# The servers are Debian's, started on loopback with folders of their own.  Where they are not
# installed, MALLOW_TEST_STORE=clickhouse://127.0.0.1:PORT names one; databases are made there.
# MALLOW_TEST_CUTS and MALLOW_TEST_RESTARTS: see tests/unit/tools/store/clickhouse.
source "$(dirname "$0")/lib.bash"
# shellcheck source=tests/support/clickhouse_server.bash
source "$here/../support/clickhouse_server.bash"
tests=$build/tests
needs curl python3
if [ -n "${MALLOW_TEST_STORE:-}" ]; then
    try 0 "$tests/unit_tools_store_test_conformance"
    try 0 "$tests/unit_tools_store_clickhouse_test_lost_requests"
    ok "the server $MALLOW_TEST_STORE"
    exit 0
fi
needs clickhouse-server

# In memory: some disks take a millisecond for each of the thousands of small files.
servers=$(mktemp -d /dev/shm/mallow-clickhouse.XXXXXX)
# shellcheck disable=SC2016 # expanded when the script ends
at_end 'kill -9 $(cat "$servers"/?/pid) 2>/dev/null; wait; rm -rf "$servers"'
start_clickhouse "$servers" pair || fail "no server"
store=clickhouse://127.0.0.1:$http_a
other=clickhouse://127.0.0.1:$http_b

# As many as leave time for the rest; more by hand.
puts=${MALLOW_TEST_PUTS:-16}
MALLOW_TEST_PUTS=$puts MALLOW_TEST_STORE=$store try 0 "$tests/unit_tools_store_test_conformance"
ok "one server"

# A profile that is pushed twice counts once.
cc -g -O1 -o example "$here/example.c" || fail "cc"
try 0 "$mallow" run --exact --quiet -o example.pb.gz ./example
for _ in 1 2; do
    try 0 "$mallow" push --state state example.pb.gz --to "$store/pushed" --label "quote='\"\\;--"
done
for type in inuse_objects inuse_space alloc_objects alloc_space; do
    sums=()
    for target in example.pb.gz "$store/pushed/example?from=-1h"; do
        try 0 "$mallow" top --sample-type "$type" --unit B "$target"
        sums+=("$(sed -nE 's/^Showing .* of ([0-9]+)[a-zA-Z]* total$/\1/p' out)")
    done
    [ "${sums[0]:-none}" = "${sums[1]}" ] || fail "$type: ${sums[*]}"
done
ok "mallow push: sums"

# The panels of the dashboard, with the time and the service that Grafana would fill in.
python3 - "$here/../../contrib/fleet/grafana.json" >panels <<'END' || fail "grafana.json"
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(target["rawSql"].replace("$__timeFilter(ts)", "ts > toDateTime(0)")
              .replace("${service}", "example"))
END
[ "$(wc -l <panels)" -ge 6 ] || fail "panels: $(wc -l <panels)"
while read -r sql; do
    curl -fsS --data-binary "$sql" "http://127.0.0.1:$http_a/?database=pushed" >rows 2>err ||
        fail "$sql: $(cat err)"
    [ -s rows ] || [[ $sql = *"kind = 3"* ]] || fail "no rows: $sql"
done <panels
ok "the dashboard"
MALLOW_TEST_STORE=$store MALLOW_TEST_OTHER=$other MALLOW_TEST_CLUSTER=pair \
    MALLOW_TEST_PUTS=$((puts / 2)) try 0 "$tests/unit_tools_store_test_conformance"
ok "a cluster of two"

# The command: a profile goes there and comes back, on a store of two servers.
"$mallow" run --exact -o made.pb.gz -- "$(command -v bash)" -c : >/dev/null 2>&1
try 0 "$mallow" store init --cluster pair "$store/cli" "$other/cli"
says out 'is ready$'
try 0 "$mallow" push made.pb.gz --to "$other/cli" --service shell
try 0 "$mallow" push made.pb.gz --to "$store/cli" --service shell
try 0 "$mallow" collapsed --inuse_space made.pb.gz
sort out >want
[ -s want ] || fail "the profile is empty"
try 0 "$mallow" collapsed --inuse_space "$store/cli/shell?at=now&within=1d"
sort out | cmp - want || fail "the store has another profile"
try 0 "$mallow" services --json "$store/cli?within=1d"
says out '"shell"'
MALLOW_STORE=$store/cli try 0 "$mallow" store hours --older 1d
says out 'hours were added up$'
try 0 "$mallow" store drop --older 0s "$store/cli" "$other/cli"
try 0 "$mallow" store drop "$(date -u +%F)" "$(date -u -d yesterday +%F)" "$store/cli" "$other/cli"
says out 'was dropped$'
try 2 "$mallow" top "$store/cli/shell?within=1d"
one_line_error
try 2 "$mallow" store drop 2026-13-01 "$store/cli"
one_line_error
try 2 "$mallow" store hours dir:///nowhere
one_line_error
try 2 "$mallow" services "clickhouse://me:s3cret@127.0.0.1/cli"
one_line_error
says_not err s3cret
ok "mallow store, push and views"
# Users and passwords.
try 2 "$mallow" services "clickhouse://keeper@127.0.0.1:$http_a/cli"
one_line_error
MALLOW_STORE_PASSWORD=s3cret try 0 "$mallow" services --json \
    "clickhouse://keeper@127.0.0.1:$http_a/cli"
ok "passwords"

# Kills server a, and starts it again.
cat >restart.sh <<EOF_SH
source "$here/../support/clickhouse_server.bash"
kill -9 "\$(cat "$servers/a/pid")"
while kill -0 "\$(cat "$servers/a/pid")" 2>/dev/null; do sleep 0.05; done
run_clickhouse "$servers/a" "$http_a"
EOF_SH
MALLOW_TEST_STORE=$store MALLOW_TEST_RESTART="bash $work/restart.sh" \
    MALLOW_TEST_RESTARTS=${MALLOW_TEST_RESTARTS:-6} \
    try 0 "$tests/unit_tools_store_clickhouse_test_lost_requests"
has_line out 'attempts of [0-9]+ puts were cut' || fail "nothing was cut"
ok "lost requests and killed servers"
