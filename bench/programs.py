#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""programs.py -- times real programs with glibc's malloc and with mallow preloaded, in turns.

Each turn runs every program once with each, in an order that alternates, so that what the machine
does meanwhile hits both alike. Reported are medians over the turns, the ratio of the medians, and
the spread of the ratios of single turns (quartiles). Servers run under the malloc in question;
their clients do not. Other libraries can join: --peer NAME=PATH. """
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from shutdown import end_server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))
import huge_pages  # noqa: E402

PYTHON = "/usr/bin/python3"


class Server:
    """A server for the length of one measurement; ends with it."""

    def __init__(self, command, environment, ready, log):
        self.log = open(log, "w")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log,
                                        stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 30
        while subprocess.run(ready, capture_output=True, check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"mallow: bench: {command[0]} does not answer; its log is {log}")
            time.sleep(0.05)

    def stop(self):
        end_server(self.process, self.log)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


class Workloads:
    """Each method `run_<program>` prepares on its first call what turns share, and runs once."""

    def __init__(self, work):
        self.work = work
        self.prepared = {}

    def once(self, name, make):
        if name not in self.prepared:
            self.prepared[name] = make()
        return self.prepared[name]

    def path(self, name):
        return os.path.join(self.work, name)

    def timed(self, command, environment, cwd=None):
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, cwd=cwd or self.work,
                              stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(f"mallow: bench: {' '.join(command)[:200]}: status {done.returncode}: "
                     f"{done.stderr[-400:]}")
        return seconds

    def run_python(self, environment):
        script = self.once("python", lambda: write(self.path("bench.py"), """
import collections, json, re, sys
sys.setrecursionlimit(10000)
def tree(depth):
    return None if depth == 0 else (tree(depth - 1), tree(depth - 1))
rows = [{"id": i, "name": f"n{i * 7919 % 977}", "tags": [str(j) for j in range(i % 7)]}
        for i in range(120000)]
text = json.dumps(rows)
back = json.loads(text)
words = collections.Counter(re.findall(r"n\\d+", text))
for i in range(8):
    tree(17)
print(len(back), len(words), sum(len(r["tags"]) for r in back))
"""))
        return self.timed([PYTHON, script], environment)

    def run_python_malloc(self, environment):
        """Every object by malloc instead of Python's own pools."""
        self.run_python_script = self.path("bench.py")
        if not os.path.exists(self.run_python_script):
            self.run_python(environment)
        return self.timed([PYTHON, self.run_python_script],
                          {**environment, "PYTHONMALLOC": "malloc"})

    def run_perl(self, environment):
        script = self.once("perl", lambda: write(self.path("bench.pl"), """
my (%count, @rows, $text);
for my $i (1 .. 700000) {
    my $key = "k" . ($i * 7919 % 90011);
    $count{$key}++;
    push @rows, [$i, $key, "v" x ($i % 23)] if $i % 2 == 0;
    $text .= "$key;" if $i % 3 == 0;
}
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
my %seen;
$seen{length $1}++ while $text =~ /k(\\d+);/g;
print scalar(@sorted), " ", scalar(@rows), "\\n";
"""))
        return self.timed(["/usr/bin/perl", script], environment)

    def run_sqlite(self, environment):
        script = self.once("sqlite", lambda: write(self.path("bench.sql"), """
PRAGMA cache_size = 50000;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, note BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
INSERT INTO item SELECT i, 'name' || (i * 7919 % 100003), i * 31 % 1009, zeroblob(i % 97) FROM n;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_amount ON item(amount, name);
SELECT a.name, count(*) FROM item a JOIN item b ON a.amount = b.amount AND b.id < 2000
    GROUP BY a.name ORDER BY 2 DESC, 1 LIMIT 20;
SELECT amount, group_concat(name) FROM item GROUP BY amount
    ORDER BY length(group_concat(name)) DESC LIMIT 1;
"""))
        return self.timed(["/usr/bin/sqlite3", "-batch", ":memory:", f".read {script}"],
                          environment)

    def run_git(self, environment):
        def make():
            repository = self.path("repository")
            session = write(self.path("make.sh"), """
set -e
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main repository
cd repository
for step in $(seq 1 60); do
    for file in 1 2 3 4 5 6 7 8 9 10; do
        seq "$step" $((step * 60 + file)) >"file$((file * step % 90))"
    done
    git add -A
    git commit -q -m "step $step"
done
""")
            subprocess.run(["bash", session], cwd=self.work, check=True, capture_output=True)
            return repository
        repository = self.once("git", make)
        command = ("git -c pack.threads=2 repack -q -a -d -f --depth=50 --window=50 && "
                   "git fsck --full && git log --stat -p >/dev/null && "
                   "git blame file60 >/dev/null; git diff HEAD~50 HEAD >/dev/null")
        return self.timed(["bash", "-c", command], {**environment, "HOME": self.work},
                          cwd=repository)

    def run_gcc(self, environment):
        def make():
            lines = ["#include <algorithm>", "#include <functional>", "#include <iostream>",
                     "#include <map>",
                     "#include <regex>", "#include <string>", "#include <unordered_map>",
                     "#include <vector>"]
            for i in range(1, 41):
                lines.append(
                    f"long call{i}() {{ std::map<std::string, std::vector<int>> m; "
                    f"for (int i = 0; i < {i * 10}; i++) "
                    f"m[std::to_string(i % {i})].push_back(i); long s = 0; for (auto &e : m) s += "
                    f"std::count_if(e.second.begin(), e.second.end(), [](int v) "
                    f"{{ return v % {i + 1} == 1; }}); return s; }}")
            lines.append(
                'int main() { std::regex r("a+(b|c)*"); return std::regex_match("aab", r); }')
            return write(self.path("bench.cc"), "\n".join(lines) + "\n")
        source = self.once("gcc", make)
        return self.timed(["g++", "-O2", "-c", "-o", self.path("bench.o"), source], environment)

    def run_node(self, environment):
        script = self.once("node", lambda: write(self.path("bench.js"), """
const zlib = require("zlib"), crypto = require("crypto");
let total = 0;
for (let round = 0; round < 12; round++) {
    const rows = [];
    for (let i = 0; i < 30000; i++)
        rows.push({ id: i, name: "n" + (i * round % 977), list: [i, String(i)] });
    const text = JSON.stringify(rows), packed = zlib.deflateSync(text, { level: 1 });
    const buffers = [];
    for (let i = 0; i < 20000; i++) buffers.push(Buffer.allocUnsafeSlow(1 + i * 37 % 3000));
    total += JSON.parse(zlib.inflateSync(packed)).length + Buffer.concat(buffers).length;
}
console.log(total);
"""))
        return self.timed(["/usr/bin/node", script], environment)

    def run_redis(self, environment):
        socket = self.path("redis.sock")
        server = Server(["/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--save",
                         "", "--dir", self.work],
                        environment, ["redis-cli", "-s", socket, "ping"], self.path("redis.log"))
        try:
            return self.timed(["redis-benchmark", "-s", socket, "-q", "-n", "200000", "-r",
                               "100000", "-d", "200", "-P", "16",
                               "-t", "set,get,lpush,lpop,sadd,hset,zadd"], dict(os.environ))
        finally:
            server.stop()

    def as_postgres(self, command):
        return command if os.getuid() else ["runuser", "-u", "postgres", "--", *command]

    def run_postgres(self, environment):
        import glob
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        data, client = self.path("data"), {**os.environ, "PGHOST": self.work, "PGUSER": "postgres"}

        def make():
            if os.getuid() == 0:
                shutil.chown(self.work, "postgres")
            subprocess.run(self.as_postgres([f"{programs}/initdb", "-D", data, "-U", "postgres",
                                             "-A", "trust", "--no-sync"]),
                           check=True, capture_output=True, cwd=self.work)
            return data
        fresh = "postgres" not in self.prepared
        self.once("postgres", make)
        server = Server(self.as_postgres([f"{programs}/postgres", "-D", data, "-k", self.work, "-c",
                                          "listen_addresses=", "-c",
                                          "fsync=off", "-c", "shared_buffers=64MB"]), environment,
                        [f"{programs}/pg_isready", "-q", "-h", self.work],
                        self.path("postgres.log"))
        try:
            if fresh:
                subprocess.run([f"{programs}/pgbench", "-q", "-i", "-s", "4", "postgres"],
                               env=client, check=True,
                               capture_output=True, cwd=self.work)
            # Prepared anew at each call: the server's planner allocates.  One client: more than
            # there are cores for measures the scheduler (quartiles of four clients on two: 0.86 to
            # 1.28).
            return self.timed([f"{programs}/pgbench", "-c", "1", "-j", "1", "-t", "20000", "-n",
                               "-S", "-M", "simple", "postgres"],
                              client)
        finally:
            server.stop()


def spawn_overhead(environments, turns):
    """Milliseconds that starting and ending `true` takes, by posix_spawn, in turns."""
    seconds = {name: [] for name in environments}
    for _ in range(turns):
        for name, environment in environments.items():
            start = time.perf_counter()
            os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1e3 for name, values in seconds.items()}


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                     platform.machine())
    with open("/proc/meminfo") as file:
        memory_mib = int(file.readline().split()[1]) // 1024
    return {"cpu": model, "cores": os.cpu_count(), "memory_mib": memory_mib,
            "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver()),
            "huge_pages": huge_pages.setting(), "date": time.strftime("%Y-%m-%d")}


def measure(names, environments, turns, workloads):
    seconds = {name: {malloc: [] for malloc in environments} for name in names}
    for turn in range(turns + 1):
        order = list(environments.items())
        if turn % 2:
            order.reverse()
        for name in names:
            for malloc, environment in order:
                taken = getattr(workloads, f"run_{name}")(environment)
                # The first turn warms the caches of the file system and is not counted.
                if turn > 0:
                    seconds[name][malloc].append(taken)
        print(f"turn {turn} of {turns}", file=sys.stderr)
    return seconds


def summarise(seconds):
    rows = []
    for name, by_malloc in seconds.items():
        glibc = by_malloc["glibc"]
        for malloc, values in by_malloc.items():
            if malloc == "glibc":
                continue
            single = sorted(a / b for a, b in zip(values, glibc))
            rows.append({"program": name, "malloc": malloc, "glibc_s": statistics.median(glibc),
                         "seconds": statistics.median(values),
                         "ratio": statistics.median(values) / statistics.median(glibc),
                         "ratio_quartiles": [single[len(single) // 4],
                                             single[len(single) * 3 // 4]]})
    return rows


def main():
    known = [name[4:] for name in dir(Workloads) if name.startswith("run_")]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("programs", nargs="*", choices=[[], *known], metavar="PROGRAM",
                        help=f"of: {', '.join(known)}")
    options = parser.parse_args()
    plain = {key: value for key, value in os.environ.items()
             if key not in ("LD_PRELOAD", "MALLOW_CONF", "MALLOC_CONF")}
    plain["LC_ALL"] = "C"
    work = tempfile.mkdtemp(prefix="mallow-bench.")
    os.chmod(work, 0o755)
    # A copy: a server that runs as another user must be able to read it.
    library = shutil.copy(options.library, work)
    # glibc's malloc is preloaded too: Debian links redis with jemalloc, which must not stand in for
    # it.
    libc = next(line.split()[-1] for line in open("/proc/self/maps") if "/libc.so.6" in line)
    environments = {"glibc": {**plain, "LD_PRELOAD": libc},
                    "mallow": {**plain, "LD_PRELOAD": library}}
    for peer in options.peer:
        name, path = peer.split("=", 1)
        environments[name] = {**plain, "LD_PRELOAD": path}
    try:
        seconds = measure(options.programs or known, environments, options.turns, Workloads(work))
        true_ms = spawn_overhead(environments, 1000)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    rows, host = summarise(seconds), machine()
    print(f"{host['cpu']}, {host['cores']} cores, {host['memory_mib']} MiB, "
          f"Linux {host['kernel']}, {host['libc']}, huge pages {host['huge_pages']}; "
          f"medians of {options.turns} turns, sampling on at T = 512 KiB")
    print(f"{'program':<16}{'glibc':>9}{'seconds':>10}{'ratio':>8}  {'quartiles':<14}malloc")
    for row in rows:
        low, high = row["ratio_quartiles"]
        print(f"{row['program']:<16}{row['glibc_s']:>8.3f}s{row['seconds']:>9.3f}s"
              f"{row['ratio']:>8.3f}  {low:.3f}-{high:.3f}   {row['malloc']}")
    for name, milliseconds in true_ms.items():
        print(f"true with {name}: {milliseconds:.3f} ms "
              f"({milliseconds - true_ms['glibc']:+.3f} ms)")
    with open(options.json, "w") as file:
        json.dump({"machine": host, "turns": options.turns, "rows": rows, "seconds": seconds,
                   "true_ms": true_ms}, file,
                  indent=1)
    print(f"written: {options.json}")


main()
