# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016,SC2034 # the caller's variables; others' dollars
# gdb_programs.sh -- what gdb looks at: a command for each program, and how often it stops in it, so
# that some twenty stops are spread over its life.

# The user that commands run as; nobody: this one.
as=()

# gdb_stacks STOP_STEP COMMAND...: one stop in so many samples.  Standard input is the command's.
gdb_stacks() {
    local name=${2##*/} step=$1
    shift
    command -v gdb >/dev/null && command -v "$1" >/dev/null || return 0
    "$totals" make "$base/totals"
    local wrapper="env LD_PRELOAD=$library MW_COMPARE_FILE=$base/totals MW_COMPARE_STEP=3"
    wrapper+=" MW_COMPARE_STOP=$step"
    timeout 60 ${as[@]+"${as[@]}"} gdb -batch -nx -ex "set exec-wrapper $wrapper" -x \
        "$base/gdb_stacks.py" --args "$@" \
        >"$base/gdb" 2>&1
    printf '%-10s %s\n' "$name" "$(grep '^gdb: ' "$base/gdb" | tail -n 5)"
    grep -qE '^gdb: ([5-9]|1[0-9]|20) same, 0 other' "$base/gdb" || {
        tail -n 20 "$base/gdb"
        failed=1
    }
}

gdb_sqlite3() {
    gdb_stacks 70 /usr/bin/sqlite3 -batch :memory: \
        'CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1
UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, i * 7 FROM n;
CREATE INDEX x ON t(b); SELECT count(*) FROM (SELECT group_concat(a) FROM t GROUP BY b % 10)'
}

gdb_perl() {
    gdb_stacks 50 /usr/bin/perl -e \
        'my %h; push @{$h{"k" . $_ % 977}}, "x" x ($_ % 40) for 1 .. 20000;
my $t = join ";", sort { $a cmp $b } keys %h; $t =~ s/k(\d)/<$1>/g; print length $t, "\n"'
}

gdb_python3() {
    gdb_stacks 20 /usr/bin/python3 -c \
        'import json; len(json.dumps([{"a": i, "b": [i] * 9} for i in range(9000)]))'
}

gdb_ruby() {
    gdb_stacks 90 /usr/bin/ruby -e 'h = {}; 50000.times { |i| h["k#{i % 5000}"] = [i, i.to_s * 3] }'
}

gdb_node() {
    printf '%s\n' 'const zlib = require("zlib");' \
        'const deep = n => n ? deep(n - 1) : zlib.deflateSync("x".repeat(5000)).length;' \
        'for (let i = 0, s = 0; i < 2000; i++) s += deep(i % 9);' >"$base/deep.js"
    gdb_stacks 100 /usr/bin/node "$base/deep.js"
}

gdb_clang() {
    source_of_cc >"$base/a.cc"
    gdb_stacks 150 /usr/bin/clang++ -O2 -c -o "$base/a.o" "$base/a.cc"
}

gdb_redis() {
    local socket=$base/gdb.sock
    {
        for _ in $(seq 400); do
            redis-cli -s "$socket" ping && break
            sleep 0.05
        done
        timeout 50 redis-benchmark -s "$socket" -q -n 20000 -r 20000 -d 200 -t set,lpush,zadd,hset \
            -c 10
        redis-cli -s "$socket" shutdown nosave
    } >"$base/load" 2>&1 &
    local load=$!
    gdb_stacks 70 /usr/bin/redis-server --port 0 --unixsocket "$socket" --dir "$base" --save ''
    wait "$load"
}

# One process, no server: it takes SQL from its standard input.
gdb_postgres() {
    local bin as=()
    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
    [ -x "$bin/postgres" ] || return 0
    [ "$(id -u)" -ne 0 ] || as=(runuser -u postgres --)
    install -d -m 777 "$base/pg"
    ${as[@]+"${as[@]}"} "$bin/initdb" -D "$base/pg/data" -U postgres -A trust --no-sync --locale=C \
        >"$base/log" 2>&1
    gdb_stacks 100 "$bin/postgres" --single -D "$base/pg/data" postgres <<'END'
CREATE TABLE t AS SELECT i, i % 97 AS k, md5(i::text) AS m FROM generate_series(1, 20000) i;
CREATE INDEX ON t(k);
SELECT k, string_agg(m, ',') FROM t GROUP BY k ORDER BY 2 LIMIT 3;
SELECT count(*) FROM t a JOIN t b USING (i) WHERE a.m LIKE '%7%'
    AND b.k IN (SELECT k FROM t WHERE i % 5 = 0);
END
}

# Of those that compare.sh takes by name.

gdb_emacs() {
    gdb_stacks 60 /usr/bin/emacs --batch --eval '(dotimes (i 3000) (make-hash-table))'
}

gdb_lua() {
    gdb_stacks 60 /usr/bin/lua5.3 -e \
        'local t = {} for i = 1, 30000 do t["k" .. (i % 977)] = ("x"):rep(i % 60) end'
}

gdb_cmake() {
    gdb_stacks 100 /usr/bin/cmake -S "$work/source" -B "$work/built2"
}

gdb_vim() {
    gdb_stacks 100 /usr/bin/vim -e -s -u NONE -c \
        'for i in range(3000)|call append(0, "x".i)|endfor' -c 'qa!'
}
