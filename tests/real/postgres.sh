#!/bin/bash
# SPDX-License-Identifier: MIT
# postgres.sh BUILD_DIR -- PostgreSQL: initdb, a server with its forked backends, pgbench, a clean
# end. The server refuses root: as root everything runs as the user postgres (or nobody).
. "$(dirname "$0")/lib.sh"

# The newest installed version's programs; Debian keeps them out of PATH.
programs=
for directory in /usr/lib/postgresql/*/bin; do
    [ ! -x "$directory/initdb" ] || programs=$directory
done
[ -n "$programs" ] || {
    echo "skipped: no PostgreSQL here"
    exit 77
}
as_user=()
if [ "$(id -u)" -eq 0 ]; then
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user" "$work"
    as_user=(runuser -u "$user" --)
    # The build may lie where that user cannot look: a copy can be read by all.
    cp "$mallow_library" "$work/libmallow.so"
    chmod 755 "$work/libmallow.so"
    mallow_library=$work/libmallow.so
fi
cd "$work"

# run LOG COMMAND...: with mallow, as the user; says what went wrong.
run() {
    local log=$work/$1.log
    shift
    under_mallow "${as_user[@]}" "$@" >"$log" 2>&1 || {
        tail -n 20 "$log"
        fail "$* ended with status $?"
    }
}

run initdb "$programs/initdb" -D "$work/data" -U postgres -A trust --no-sync --locale=C -E UTF8
start "$work/server.log" "${as_user[@]}" "$programs/postgres" -D "$work/data" -k "$work" \
    -c listen_addresses= -c fsync=off -c shared_buffers=32MB
server=$started
wait_for 30 "${as_user[@]}" "$programs/pg_isready" -q -h "$work" || {
    tail -n 20 "$work/server.log"
    fail "the server does not answer"
}
read -r postmaster <"$work/data/postmaster.pid"
maps_mallow "$postmaster" || fail "the server runs without mallow"
later_kill "$postmaster"

export PGHOST=$work PGUSER=postgres
run pgbench-init "$programs/pgbench" -q -i -s 2 postgres
run pgbench "$programs/pgbench" -c 4 -j 2 -t 500 -n postgres
grep -q 'number of failed transactions: 0 ' "$work/pgbench.log" || fail "transactions failed"
grep -q 'number of transactions actually processed: 2000/2000' "$work/pgbench.log" ||
    fail "transactions are missing"
balance=$("${as_user[@]}" "$programs/psql" -At -c \
    'SELECT (SELECT sum(abalance) FROM pgbench_accounts)
    = (SELECT sum(delta) FROM pgbench_history), (SELECT count(*) FROM pgbench_history)' postgres)
[ "$balance" = "t|2000" ] || fail "the books do not balance: $balance"

kill -INT "$postmaster"
status=0
wait "$server" || status=$?
[ "$status" -eq 0 ] || fail "the server ended with status $status"
if grep -E 'was terminated by signal|PANIC|out of memory' "$work/server.log"; then
    fail "a backend died"
fi
echo "ok postgres: 2000 transactions, the books balance"
