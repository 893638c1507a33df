#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clients.py -- servers that are linked with libjemalloc.so.2, on mallow's and on Debian's, in
turns: redis-server under redis-benchmark (SET, GET, LPUSH), clickhouse-server grouping a million
rows.

Each turn starts both servers anew and lets them do the same in alternating order. What is compared
within a turn: wall time of the client's run, and the server's processor time. Printed are medians
of the turns' ratios, mallow to jemalloc, with their quartiles; at most 1.00 is the goal. Takes
--seconds at most, and says how many turns that gave."""
import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from shutdown import end_server

SERVER_CPU, CLIENT_CPU = {0}, {1}
REDIS_REQUESTS = 300_000
QUERIES_A_TURN = 12
QUERY = "SELECT k % 50000 AS g, groupArray(v)[1], max(k) FROM t GROUP BY g ORDER BY g LIMIT 20"


def pin(cpus):
    return lambda: os.sched_setaffinity(0,
                                        cpus & os.sched_getaffinity(0) or os.sched_getaffinity(0))


def processor_seconds(pid):
    """Of all of its threads, from the scheduler's own clock."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


class Server:
    """One server on one library; `argv` has its program first."""

    def __init__(self, argv, library, home, cpus):
        env = {**os.environ, "LD_LIBRARY_PATH": str(library), "LD_PRELOAD": ""}
        self.log = open(home / "log", "wb")
        self.process = subprocess.Popen(argv, env=env, cwd=home, stdin=subprocess.DEVNULL,
                                        stdout=self.log,
                                        stderr=self.log, preexec_fn=pin(cpus))
        self.library = library

    def wait_for(self, ready):
        for _ in range(600):
            if self.process.poll() is not None:
                break
            if ready():
                assert str(self.library) in pathlib.Path(
                    f"/proc/{self.process.pid}/maps").read_text()
                return
            time.sleep(0.05)
        sys.exit(f"clients.py: {self.process.args[0]} does not answer")

    def end(self):
        end_server(self.process, self.log)


def quiet(argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, **more)


class Redis:
    programs = ("redis-server", "redis-cli", "redis-benchmark")
    works = ("SET", "GET", "LPUSH")

    def __init__(self, library, home):
        self.socket = str(home / "sock")
        self.server = Server(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save",
                              "", "--dir", str(home)],
                             library, home, SERVER_CPU)
        self.server.wait_for(lambda: b"PONG" in quiet(["redis-cli", "-s", self.socket,
                                                       "ping"]).stdout)

    def prepare(self):
        pass

    def run(self, work):
        result = quiet(["redis-benchmark", "-s", self.socket, "-n", str(REDIS_REQUESTS), "-r",
                        "100000", "-d", "100", "-P",
                        "16", "-t", work.lower(), "--csv"], text=True, preexec_fn=pin(CLIENT_CPU))
        return REDIS_REQUESTS / float(
            result.stdout.strip().splitlines()[-1].split(",")[1].strip('"'))

    repeats = 1


class ClickHouse:
    programs = ("clickhouse-server", "clickhouse-client")
    works = ("ClickHouse query",)
    repeats = QUERIES_A_TURN

    def __init__(self, library, home):
        with socket.socket() as free:
            while True:
                self.port = random.randrange(10000, 32000)
                try:
                    free.bind(("127.0.0.1", self.port))
                    break
                except OSError:
                    pass
        for name in ("data", "tmp"):
            (home / name).mkdir()
        (home / "users.xml").write_text(
            "<yandex><profiles><default><max_threads>2</max_threads></default></profiles><users><default><password></password>"
            "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>"
            "<quotas><default></default></quotas></yandex>")
        (home / "config.xml").write_text(
            f"<yandex><logger><level>warning</level><console>1</console></logger><tcp_port>{self.port}</tcp_port>"
            f"<listen_host>127.0.0.1</listen_host><path>{home}/data/</path><tmp_path>{home}/tmp/</tmp_path>"
            "<users_config>users.xml</users_config><default_profile>default</default_profile>"
            "<default_database>default</default_database><mark_cache_size>5368709120</mark_cache_size></yandex>")
        self.server = Server(["clickhouse-server", f"--config-file={home}/config.xml"], library,
                             home, SERVER_CPU | CLIENT_CPU)
        self.server.wait_for(lambda: self.ask("SELECT 1").returncode == 0)

    def ask(self, query):
        return quiet(["clickhouse-client", "--host", "127.0.0.1", "--port", str(self.port),
                      "--time", "--query", query], text=True)

    def prepare(self):
        for query in ("CREATE TABLE t (k UInt64, v String) ENGINE = MergeTree ORDER BY k",
                      "INSERT INTO t SELECT number, concat('value ', toString(number % 1000)) "
                      "FROM system.numbers LIMIT 1000000",
                      QUERY):
            answer = self.ask(query)
            if answer.returncode:
                sys.exit(f"clients.py: {query}: {answer.stderr}")

    def run(self, _):
        return float(self.ask(QUERY).stderr.strip().splitlines()[-1])


def measure(server, work):
    before = processor_seconds(server.server.process.pid)
    wall = server.run(work)
    return {"wall": wall, "processor": processor_seconds(server.server.process.pid) - before}


def one_turn(client, libraries, swap, results):
    with tempfile.TemporaryDirectory(prefix="clients.") as work:
        servers = {}
        try:
            for side, library in libraries.items():
                home = pathlib.Path(work) / side
                home.mkdir()
                servers[side] = client(library, home)
                servers[side].prepare()
            for name in client.works:
                for repeat in range(client.repeats):
                    order = list(servers) if (repeat + swap) % 2 == 0 else list(servers)[::-1]
                    times = {side: measure(servers[side], name) for side in order}
                    results.setdefault(name, []).append(times)
        finally:
            for server in servers.values():
                server.server.end()


def table(results):
    lines = ["| | pairs | wall time, mallow to jemalloc | processor time of the server |",
             "|---|---|---|---|"]
    for name, pairs in results.items():
        cells = []
        for what in ("wall", "processor"):
            ratios = [pair["mallow"][what] / pair["jemalloc"][what] for pair in pairs]
            low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            cells.append(f"{middle:.3f} ({low:.3f} .. {high:.3f})")
        lines.append(f"| {name} | {len(pairs)} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--jemalloc", type=pathlib.Path, default="/usr/lib/x86_64-linux-gnu",
                        help="folder of its libjemalloc.so.2")
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--turns", type=int, default=15,
                        help="of redis-server; a third as many of clickhouse-server")
    options = parser.parse_args()
    libraries = {"mallow": (options.build / "lib/mallow/compat").resolve(),
                 "jemalloc": options.jemalloc}
    for name, library in libraries.items():
        if not (library / "libjemalloc.so.2").exists():
            sys.exit(f"clients.py: {name}: no libjemalloc.so.2 in {library}")
    start, results = time.monotonic(), {}
    # The dearer first: redis-server's turns are short enough to fill what is left.
    for client, turns, share in ((ClickHouse, (options.turns + 2) // 3, 0.6),
                                 (Redis, options.turns, 1.0)):
        if not all(shutil.which(program) for program in client.programs):
            print(f"{client.programs[0]}: not installed")
            continue
        longest = 0
        for turn in range(turns):
            began = time.monotonic()
            if began + longest > start + share * options.seconds:
                break
            one_turn(client, libraries, turn % 2, results)
            longest = max(longest, time.monotonic() - began)
            seconds = time.monotonic() - start
            print(f"\r{client.programs[0]}: turn {turn + 1} of {turns}, {seconds:.0f} s ", end="",
                  file=sys.stderr, flush=True)
    print(file=sys.stderr)
    out = options.build / "bench"
    out.mkdir(exist_ok=True)
    (out / "clients.json").write_text(json.dumps(results, indent=1))
    (out / "clients.md").write_text(table(results) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
