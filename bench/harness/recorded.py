# SPDX-License-Identifier: MIT
"""recorded.py -- real programs that allocate a lot, for measurements with every allocation
recorded, and the processor's time of a command."""
import os
import resource
import subprocess

SQL = """CREATE TABLE t(a, b);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO t SELECT i, i * 7919 % 1009 FROM n; CREATE INDEX x ON t(b);
SELECT count(*) FROM (SELECT group_concat(a) FROM t GROUP BY b); DELETE FROM t WHERE a % 3 = 0;"""
PERL = """my (%h, $t); for my $i (1 .. 300000) { push @{$h{"k" . $i % 977}}, "x" x ($i % 40) }
my $u = join ";", sort keys %h; $u =~ s/k(\\d)/<$1>/g; print length $u, "\\n" """
PYTHON = """import json
for k in range(3): json.loads(json.dumps([{"a": i, "b": [str(i)] * 9} for i in range(6000)]))"""
CC = """#include <iostream>
#include <map>
#include <regex>
int main() {
    std::map<std::string, int> m;
    m["a"] = 1;
    std::cout << m["a"] << std::regex_match("ab", std::regex("a+b"));
}
"""


def programs(folder):
    """(name, command) of each; what they read lies in the folder: heaptrack cannot read arguments
    of several lines."""
    def kept(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    return [
        ("sqlite3", ["/usr/bin/sqlite3", "-batch", ":memory:", ".read " + kept("a.sql", SQL)]),
        ("perl", ["/usr/bin/perl", kept("a.pl", PERL)]),
        ("python3", ["/usr/bin/python3", kept("a.py", PYTHON)]),
        ("clang++ -O1", ["/usr/bin/clang++", "-O1", "-c", "-o", os.path.join(folder, "a.o"),
                         kept("a.cc", CC)]),
    ]


def seconds(command, folder, **environment):
    """The processor's time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=dict(os.environ, PYTHONMALLOC="malloc", **environment), check=True,
                   cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
