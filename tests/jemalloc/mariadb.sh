#!/bin/bash
# SPDX-License-Identifier: MIT
# mariadb.sh BUILD_DIR -- MariaDB's server with the library preloaded, as its manual has it: it
# finds jemalloc by mallctl() and says so, and four clients insert, group and delete 20000 rows.
. "$(dirname "$0")/lib.sh"
need mariadbd mariadb-install-db mariadb jeprof

user=$(id -un)
mariadb-install-db --no-defaults --user="$user" --datadir="$work/data" \
    --auth-root-authentication-method=normal \
    --skip-test-db >"$work/install" 2>&1 || fail "$(tail -n 5 "$work/install")"

sql() {
    mariadb --no-defaults -S "$here/socket" -u root -N -e "$1"
}

# One client: its own table, the same numbers each time.
client() {
    sql "use test; create table rows_$1 (number int auto_increment primary key, text varchar(200));
        insert into rows_$1 (text) select repeat(char(65 + seq % 26), seq % 200) from seq_1_to_5000;
        select count(*), sum(length(text)) from rows_$1;
        select text, count(*) from rows_$1 group by text order by count(*) desc, text limit 3;
        delete from rows_$1 where number % 3 = 0; select sum(number) from rows_$1" \
            >"$here/client.$1"
}

session() {
    local i
    cp -r "$work/data" "$here/data"
    serve 22 env LD_PRELOAD="$library/libjemalloc.so.2" mariadbd --no-defaults --user="$user" \
        --datadir="$here/data" \
        --socket="$here/socket" --skip-networking --pid-file="$here/pid" \
            --innodb-buffer-pool-size=32M
    wait_for 60 sql 'select 1' >"$here/up" 2>&1 ||
        fail "$side: it does not answer: $(tail -n 3 "$here/log")"
    runs_on_it "$started"
    sql "show variables like 'version_malloc_library'" | grep -o 'jemalloc 5\.3' ||
        fail "$side: jemalloc is not found"
    sql 'create database test'
    local clients=()
    for i in 1 2 3 4; do
        client $i &
        clients+=($!)
    done
    wait "${clients[@]}"
    cat "$here"/client.?
    ends "$started"
    clean_log '\[ERROR\]|got signal'
}
each_library session
[ "$(grep -c '^5000' "$work/ours.out")" -eq 4 ] ||
    fail "$(grep -c '^5000' "$work/ours.out") clients"
readable_dumps "$(command -v mariadbd)" 3
