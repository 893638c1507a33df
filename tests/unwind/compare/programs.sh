# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2016 # the caller's variables; other languages' dollars
# programs.sh -- a short piece of work for each program of the comparison, a function each.  They
# run with the comparing library in $library and leave nothing outside of $work.

with() {
    env LD_PRELOAD="$library" "$@"
}

# For servers in the background: $! is then the server's own pid.
exec_with() {
    exec env LD_PRELOAD="$library" "$@"
}

run_python3() {
    PYTHONMALLOC=malloc with /usr/bin/python3 -c '
import collections, json, re, sqlite3, threading, xml.dom.minidom, zlib
def work(n):
    rows = [{"id": i, "tags": [str(j) for j in range(i % 7)]} for i in range(2000)]
    text = json.dumps(rows)
    words = collections.Counter(re.findall(r"\d+", text))
    zlib.decompress(zlib.compress(text.encode()))
    xml.dom.minidom.parseString("<a>" + "<b c=\"1\"/>" * 200 + "</a>").toprettyxml()
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t(a, b)")
    db.executemany("INSERT INTO t VALUES(?, ?)", list(words.items()))
    sorted(db.execute("SELECT b, count(*) FROM t GROUP BY b"), key=lambda r: -r[1])
for t in [threading.Thread(target=work, args=(n,)) for n in range(3)]: t.start()
work(0)'
}

run_perl() {
    with perl -e 'my (%h, $t);
for my $i (1 .. 30000) { push @{$h{"k" . $i % 977}}, "x" x ($i % 40); $t .= "k$i;" if $i % 3 == 0 }
my @s = sort { @{$h{$a}} <=> @{$h{$b}} || $a cmp $b } keys %h;
$t =~ s/k(\d)/<$1>/g; my $u = eval join("+", 1 .. 500); print scalar(@s), length $t, $u, "\n";'
}

run_ruby() {
    with ruby -e 'require "json"; h = {}
50000.times { |i| h["k#{i % 5000}"] = [i, i.to_s * 3] }
JSON.parse(JSON.generate(h)); (1..3000).map { |i| "a#{i}".gsub(/a(\d)/) { "<#$1>" } }
f = Fiber.new { Fiber.yield((1..1000).map { |i| "f" * i }.size); 5 }; f.resume; f.resume
Thread.new { (1..3000).map(&:to_s).join }.join'
}

run_php() {
    USE_ZEND_ALLOC=0 with php -r '$a = [];
for ($i = 0; $i < 30000; $i++) $a["k" . ($i % 4000)][] = str_repeat("x", $i % 50);
strlen(json_encode($a)); function g() { for ($i = 0; $i < 1000; $i++) yield str_repeat("y", $i); }
$n = 0; foreach (g() as $s) $n += strlen($s); preg_match_all("/a+/", str_repeat("aab", 2000), $m);
usort($a, fn($x, $y) => count($x) <=> count($y));
$f = new Fiber(function() { for ($i = 0; $i < 3000; $i++) $x[] = str_repeat("z", $i % 90);
    Fiber::suspend(1); }); $f->start(); $f->resume();'
}

run_node() {
    cat >"$work/script.js" <<'END'
const { Worker, isMainThread } = require("worker_threads"), zlib = require("zlib");
const deep = n => n ? deep(n - 1) : Buffer.alloc(5000).length +
    zlib.deflateSync("x".repeat(5000)).length;
for (let i = 0, s = 0; i < 800; i++) s += deep(i % 9);
JSON.parse(JSON.stringify([...Array(5000).keys()].map(i => ({ i, name: "n" + i }))));
if (isMainThread) new Worker(__filename);
END
    with node "$work/script.js"
}

run_sqlite3() {
    with sqlite3 -batch :memory: >"$work/out" 'CREATE TABLE t(a, b);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO t SELECT i, i * 7919 % 1009 FROM n; CREATE INDEX x ON t(b);
SELECT b, group_concat(a) FROM t GROUP BY b ORDER BY 2 LIMIT 20; DELETE FROM t WHERE a % 3 = 0;'
}

run_git() {
    (
        export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
        export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        mkdir "$work/repository" && cd "$work/repository" && with git init -q .
        for step in 1 2 3 4; do
            for file in 1 2 3 4; do seq "$step" $((step * 300 + file)) >"file$file"; done
            with git add -A && with git commit -q -m "step $step"
        done
        with git gc -q --aggressive && with git log --stat -p >/dev/null && with git fsck --full
    )
}

source_of_cc() {
    printf '#include <iostream>\n#include <map>\n#include <regex>\n#include <string>\n'
    printf 'int main() { std::map<std::string, int> m; std::regex r("a+(b|c)*");\n'
    printf '  std::cout << m["a"] << std::regex_match("ab", r) << std::endl; }\n'
}

run_gcc() {
    source_of_cc >"$work/a.cc"
    with g++ -O1 -o "$work/a" "$work/a.cc"
}

run_clang() {
    source_of_cc >"$work/a.cc"
    with clang++ -O2 -c -o "$work/a.o" "$work/a.cc"
}

# C++ with exceptions, streams and threads, built with gcc's usual options.
run_cxx() {
    cat >"$work/b.cc" <<'END'
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>
static std::string deep(int n, const std::function<std::string(int)> &f) {
	return n ? deep(n - 1, f) + "x" : f(n);
}
static void work(int seed) {
	std::map<std::string, std::unique_ptr<std::vector<int>>> m;
	for (int i = 0; i < 4000; i++) {
		try {
			std::ostringstream s;
			s << i * seed % 977;
			m[s.str()] = std::make_unique<std::vector<int>>(i % 50);
			if (i % 3 == 0)
				throw std::runtime_error(deep(i % 40,
					[&](int) { return s.str(); }));
		} catch (const std::exception &e) {
			m[e.what()] = nullptr;
		}
	}
}
int main() {
	std::thread a(work, 3), b(work, 7);
	work(1);
	a.join();
	b.join();
}
END
    g++ -O2 -pthread -o "$work/b" "$work/b.cc" && with "$work/b"
}

run_rg() {
    with rg -j2 -c 'struct [a-z]+_t|#define +[A-Z_]+\(' /usr/include/linux >"$work/out"
    with rg --json 'int [a-z]+' /usr/include/x86_64-linux-gnu >"$work/out"
}

run_redis() {
    exec_with redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' \
        >"$work/out" &
    local server=$!
    for _ in $(seq 100); do
        redis-cli -s "$work/redis.sock" ping >"$work/out" 2>&1 && break
        sleep 0.05
    done
    redis-benchmark -s "$work/redis.sock" -q -n 4000 -r 2000 -d 200 -P 8 -c 10 >"$work/out"
    redis-cli -s "$work/redis.sock" shutdown nosave
    wait "$server"
}

run_nginx() {
    mkdir "$work/www" && seq 100000 >"$work/www/numbers.txt" && chmod -R a+rX "$work"
    cat >"$work/nginx.conf" <<END
daemon off; pid $work/nginx.pid; error_log $work/err; worker_processes 2;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types *;
    client_body_temp_path $work/t1; proxy_temp_path $work/t2;
fastcgi_temp_path $work/t3; uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
server { listen unix:$work/nginx.sock; root $work/www;
    location /list { alias $work/www; autoindex on; } } }
END
    exec_with nginx -p "$work" -c "$work/nginx.conf" &
    local server=$!
    for _ in $(seq 100); do
        [ -S "$work/nginx.sock" ] && break
        sleep 0.05
    done
    for i in $(seq 30); do
        curl -s --unix-socket "$work/nginx.sock" -H 'Accept-Encoding: gzip' \
            http://x/numbers.txt http://x/list/ "http://x/none$i" >"$work/out"
    done
    kill -QUIT "$server"
    wait "$server"
}

# The server refuses root: as root it runs as the user postgres.
run_postgres() {
    local bin as=()
    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
    if [ "$(id -u)" -eq 0 ]; then
        as=(runuser -u postgres --)
        chown postgres "$work"
    fi
    "${as[@]}" "$bin/initdb" -D "$work/data" -U postgres -A trust --no-sync --locale=C >"$work/out"
    exec_with "${as[@]}" "$bin/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c \
        fsync=off \
        2>"$work/out2" &
    local server=$!
    for _ in $(seq 100); do
        "${as[@]}" "$bin/pg_isready" -q -h "$work" && break
        sleep 0.05
    done
    "${as[@]}" "$bin/psql" -h "$work" -U postgres -q -c 'CREATE TABLE t AS SELECT i, i % 97 AS k,
        md5(i::text) AS m FROM generate_series(1, 20000) i; CREATE INDEX ON t(k); ANALYZE t;
        DO $$ BEGIN FOR n IN 1 .. 200 LOOP PERFORM count(*) FROM t a JOIN t b USING (i)
            WHERE a.k = n;
        END LOOP; END $$; SELECT k, string_agg(m, chr(44)) FROM t GROUP BY k ORDER BY 2' \
            >"$work/out"
    "${as[@]}" "$bin/pg_ctl" -D "$work/data" -m fast -w stop >"$work/out"
    wait "$server"
}

# Not among the programs of a run without names: compare.sh BUILD_DIR java emacs ...

run_java() {
    cat >"$work/J.java" <<'END'
import java.util.*;
import java.util.zip.*;
public class J {
    static int deep(int n) {
        if (n > 0) return deep(n - 1) + 1;
        Deflater d = new Deflater();
        d.setInput(new byte[3000]);
        d.finish();
        int bytes = d.deflate(new byte[4000]);
        d.end();
        return bytes + java.nio.ByteBuffer.allocateDirect(2000).capacity();
    }
    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[3];
        for (int k = 0; k < 3; k++) {
            threads[k] = new Thread(() -> { for (int i = 0; i < 1500; i++) deep(i % 12); });
            threads[k].start();
        }
        for (Thread t : threads) t.join();
    }
}
END
    with java -XX:+UseSerialGC ${java_options:+"$java_options"} "$work/J.java"
}

# The interpreter alone, which has frame pointers.
run_java_int() {
    java_options=-Xint run_java
}

run_emacs() {
    with emacs --batch --eval '(progn (dotimes (i 20000) (make-hash-table))
(with-temp-buffer (dotimes (i 3000) (insert (format "line %d\n" i)))
    (sort-lines nil (point-min) (point-max))
(goto-char 1) (while (re-search-forward "\\([0-9]\\)\\([0-9]\\)" nil t) (replace-match "\\2\\1"))))'
}

run_octave() {
    with octave-cli --no-gui --eval 'a = rand(100); b = inv(a) * a; s = struct();
for i = 1:500, s.(sprintf("k%d", i)) = num2str(i); end;
    x = fft(rand(1, 1024)); y = ode45(@(t, y) -y, [0 1], 1);'
}

run_guile() {
    GUILE_AUTO_COMPILE=0 with guile -c '(use-modules (ice-9 threads))
(let loop ((i 0)) (when (< i 3000) (string->symbol (string-append "s" (number->string i)))
    (loop (+ i 1))))
(join-thread (call-with-new-thread (lambda () (apply + (iota 1000)))))'
}

run_lua() {
    with lua5.3 -e 'local t = {} for i = 1, 30000 do t["k" .. (i % 977)] = ("x"):rep(i % 60) end
local co = coroutine.wrap(function() for i = 1, 3000 do
    coroutine.yield(("y"):rep(i % 50) .. i) end end)
for i = 1, 3000 do co() end for w in (("ab "):rep(3000)):gmatch("%a+") do t[w] = 1 end'
}

run_gs() {
    with gs -q -dNOPAUSE -dBATCH -sDEVICE=png16m -r60 -sOutputFile="$work/o%d.png" \
        -c '/Helvetica findfont 24 scalefont setfont 100 100 moveto (mallow) show
0 1 200 { dup 3 mul exch 2 mul moveto 50 50 rlineto stroke } for showpage'
}

run_ffmpeg() {
    with ffmpeg -v error -y -f lavfi -i testsrc=duration=2:size=320x240:rate=25 \
        -f lavfi -i sine=duration=2 -c:v libx264 -c:a aac "$work/o.mp4"
}

run_gdb() {
    with gdb -nx -batch -ex 'break main' -ex 'info functions alloc' -ex \
        'python print(sum(range(1000)))' "$(command -v gdb)"
}

run_cmake() {
    mkdir "$work/source"
    echo 'int main(void) { return 0; }' >"$work/source/x.c"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.10)' 'project(x C CXX)' \
        'add_executable(x x.c)' 'find_package(Threads)' \
        >"$work/source/CMakeLists.txt"
    with cmake -S "$work/source" -B "$work/built"
}

run_vim() {
    with vim -e -s -u NONE -c 'for i in range(3000)|call append(0, "x".i)|endfor' -c \
        '%s/x\(\d\)/<\1>/g' -c sort -c 'qa!' </dev/null
}

run_R() {
    R_HOME=/usr/lib/R LD_LIBRARY_PATH=/usr/lib/R/lib with /usr/lib/R/bin/exec/R --vanilla --slave \
        -e '
x <- lapply(1:3000, function(i) paste0("k", i)); d <- data.frame(a = 1:500, b = rnorm(500))
m <- summary(lm(b ~ a, d)); z <- solve(matrix(rnorm(2500), 50)); y <- gsub("k", "z", unlist(x))'
}
