#!/bin/bash
# SPDX-License-Identifier: MIT
# attach.sh BUILD_DIR -- `mallow attach` and `mallow detach`, again and again, on programs that were
# started without mallow and serve clients meanwhile: no client sees an error, the programs' own
# checks hold, and each ends well.  MALLOW_TEST_CYCLES: how often each; programs that are not
# installed are named.
. "$(dirname "$0")/lib.sh"
mallow=$build/bin/mallow
cycles=${MALLOW_TEST_CYCLES:-15}
[ -s "$build/lib/mallow/attach.bin" ] || {
    echo "skipped: no code for this processor"
    exit 77
}
tried=0

has() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "not tried: no $program here"
            return 1
        }
    done
}

# cycle_on NAME PID: attaches and detaches.  The last time it waits for a sample in between.
cycle_on() {
    local name=$1 pid=$2 i
    for ((i = 1; i <= cycles; i++)); do
        "$mallow" attach --rate 16K "$pid" >"$work/said" 2>&1 ||
            fail "$name: attach $i of $cycles: $(cat "$work/said")"
        [ "$i" -lt "$cycles" ] || wait_for 60 has_samples "$pid" ||
            fail "$name: no samples of what it allocates"
        "$mallow" detach "$pid" >"$work/said" 2>&1 ||
            fail "$name: detach $i of $cycles: $(cat "$work/said")"
    done
    kill -0 "$pid" 2>/dev/null || fail "$name has died"
    tried=$((tried + 1))
}
has_samples() {
    local total
    total=$("$mallow" report --json --sample-type alloc_space "$1" |
        sed -n 's/.*"total": \([0-9]*\).*/\1/p')
    [ "${total%%$'\n'*}" -gt 0 ]
}

# ends NAME PID: by itself, with status 0, now that ./stop is there.
ends() {
    local status=0
    wait "$2" || status=$?
    [ "$status" = 0 ] || fail "$1 ended with status $status: $(tail -n 3 "$work/$1.log")"
    echo "ok $1: attached and detached $cycles times"
}
cd "$work"

# ---- redis-server, which has jemalloc ----

if has redis-server redis-benchmark redis-cli; then
    start_plain redis.log redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save ''
    server=$started
    wait_for 30 redis-cli -s redis ping || fail "redis-server does not answer"
    while [ ! -e stop ]; do
        redis-benchmark -s redis -q -n 20000 -r 5000 -d 300 -c 10 -t set,get,lpush,lpop,hset,mset ||
            exit 1
    done >benchmark 2>&1 &
    load=$!
    cycle_on redis "$server"
    touch stop
    wait "$load" || fail "redis-benchmark: $(tail -n 3 benchmark)"
    ! grep -iE 'error|refused|reset' benchmark || fail "a client of redis-server saw an error"
    redis-cli -s redis shutdown nosave || true
    ends redis "$server"
    rm stop
fi

# ---- python3 and node: their results stay right ----

cat >keep.py <<'END'
import hashlib, json, os, re, threading
def work(seed):
    rows = [{"id": i, "name": "n%d" % (i * seed % 977), "list": [i, str(i)]} for i in range(2000)]
    text = json.dumps(rows)
    return hashlib.sha256(re.sub("[0-4]", "x", json.dumps(json.loads(text))).encode()).hexdigest()
def run(seed):
    first = work(seed)
    while not os.path.exists("stop"):
        assert work(seed) == first, seed
        bytearray(200000 * seed)
threads = [threading.Thread(target=run, args=(seed,)) for seed in (3, 5, 7)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
if has python3; then
    start_plain python.log python3 keep.py
    cycle_on python "$started"
    touch stop
    ends python "$started"
    [ ! -s python.log ] || fail "python3: $(tail -n 3 python.log)"
    rm stop
fi

cat >keep.js <<'END'
const { Worker, isMainThread } = require("worker_threads");
const zlib = require("zlib"), crypto = require("crypto"), fs = require("fs");
function work() {
    const rows = [];
    for (let i = 0; i < 3000; i++) rows.push({ id: i, name: "n" + i });
    const packed = zlib.deflateSync(JSON.stringify(rows));
    return crypto.createHash("sha256").update(zlib.inflateSync(packed)).digest("hex");
}
if (isMainThread)
    for (let i = 0; i < 2; i++)
        new Worker(__filename).on("error", error => { console.error(error); process.exit(1); });
const first = work();
(function again() {
    if (work() !== first) throw new Error("another result");
    if (!fs.existsSync("stop")) setTimeout(again, 1);
})();
END
if has node; then
    start_plain node.log node keep.js
    cycle_on node "$started"
    touch stop
    ends node "$started"
    rm stop
fi

# ---- nginx: each answer is the file ----

cat >nginx.conf <<END
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/nginx.log;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    gzip on;
    gzip_types text/plain;
    server {
        listen unix:$work/nginx;
        root $work/files;
    }
}
END
cat >ask.py <<'END'
import gzip, http.client, os, socket, sys
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("nginx")
want, count = open("files/text.txt", "rb").read(), 0
while not os.path.exists("stop"):
    connection = Connection("host")
    for _ in range(20):
        connection.request("GET", "/text.txt", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.status == 200 and gzip.decompress(answer.read()) == want, answer.status
        count += 1
    connection.close()
print(count, "answers")
END
if has nginx python3; then
    mkdir files
    seq 30000 >files/text.txt
    chmod -R a+rX "$work"
    start_plain nginx.out nginx -c "$work/nginx.conf" -p "$work"
    server=$started
    wait_for 30 test -S nginx || fail "nginx does not start: $(tail -n 3 nginx.log nginx.out)"
    python3 ask.py >asked 2>&1 &
    load=$!
    cycle_on nginx "$server"
    touch stop
    wait "$load" || fail "a client of nginx: $(tail -n 3 asked)"
    grep -q '^[1-9][0-9]* answers' asked || fail "nginx was asked nothing"
    kill -QUIT "$server"
    ends nginx "$server"
    rm stop
fi

# ---- PostgreSQL: a backend, and the postmaster, which forks ----

programs=
for directory in /usr/lib/postgresql/*/bin; do
    [ ! -x "$directory/initdb" ] || programs=$directory
done
if [ -n "$programs" ]; then
    as_user=()
    if [ "$(id -u)" -eq 0 ]; then
        as_user=(runuser -u "$(id -un postgres 2>/dev/null || echo nobody)" --)
        chown "${as_user[2]}" "$work"
    fi
    export PGHOST=$work PGUSER=postgres
    "${as_user[@]}" "$programs/initdb" -D data -U postgres -A trust --no-sync --locale=C \
        >initdb.log 2>&1 || fail "initdb: $(tail -n 3 initdb.log)"
    start_plain postgres.log "${as_user[@]}" "$programs/postgres" -D "$work/data" -k "$work" \
        -c listen_addresses= -c fsync=off -c shared_buffers=32MB
    server=$started
    wait_for 30 "${as_user[@]}" "$programs/pg_isready" -q || fail "PostgreSQL does not answer"
    read -r postmaster <data/postmaster.pid
    later_kill "$postmaster"
    "${as_user[@]}" "$programs/pgbench" -q -i -s 1 postgres >pgbench.log 2>&1 || fail "pgbench -i"
    "${as_user[@]}" "$programs/pgbench" -n -c 3 -T 3600 postgres >pgbench.log 2>&1 &
    load=$!
    later_kill "$load"
    ask() {
        "${as_user[@]}" "$programs/psql" -At -c "$1" postgres
    }
    backends() {
        ask "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench' ORDER BY 1"
    }
    has_backends() {
        [ "$(backends | wc -l)" = 3 ]
    }
    wait_for 30 has_backends || fail "pgbench does not start: $(tail -n 3 pgbench.log)"
    cycle_on backend "$(backends | sed -n 1p)"
    has_backends || fail "a backend has ended"
    "$mallow" attach "$postmaster" >said 2>&1 || fail "postmaster: $(cat said)"
    [ "$(ask 'SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history)
        FROM pgbench_accounts')" = t ] || fail "the books do not balance"
    "$mallow" detach "$postmaster" >said 2>&1 || fail "postmaster: $(cat said)"
    ! grep -E 'ERROR|FATAL|aborted' pgbench.log || fail "a client of PostgreSQL saw an error"
    kill -INT "$load" "$postmaster"
    ends postgres "$server"
    ! grep -E 'was terminated by signal|PANIC' postgres.log || fail "a backend died"
fi

[ "$tried" -ge 2 ] || fail "only $tried programs were tried"
