# SPDX-License-Identifier: MIT
"""workloads.py -- the list of workloads: name, group, command, and what of it is measured."""
import os
import shutil
from dataclasses import dataclass, field


@dataclass
class Workload:
    name: str
    group: str
    command: list
    timed: bool = True   # False: only memory is of interest
    environment: dict = field(default_factory=dict)
    server: bool = False  # see measure.run_server()


# name, group, program and arguments; the programs' first lines say what each does.
OWN = [
    ("churn", "small", "lifetimes churn"),
    ("lifo", "small", "lifetimes lifo"),
    ("fifo", "small", "lifetimes fifo"),
    ("random order", "small", "lifetimes random"),
    ("one size", "small", "simple"),
    ("skewed sizes", "small", "slots 1 skewed"),
    ("skewed sizes x2", "threads", "slots 2 skewed"),
    ("tiny slots", "small", "slots 1 tiny"),
    ("runs", "small", "slots 1 runs"),
    ("runs x2", "threads", "slots 2 runs"),
    ("mixed blocks", "small", "blocks 1"),
    ("mixed blocks x2", "threads", "blocks 2"),
    ("mixed blocks x8", "threads", "blocks 8"),
    ("all sizes to 16K", "sizes", "slots 1 any"),
    ("all sizes to 16K x2", "threads", "slots 2 any"),
    ("wide sizes", "sizes", "slots 1 wide"),
    ("pipe", "threads", "handover pipe"),
    ("ring of batches", "threads", "handover ring"),
    ("flood of batches", "threads", "handover flood"),
    ("server", "threads", "server"),
    ("server x100", "threads", "server 100 2000 15"),
    ("exchange table", "threads", "exchange table"),
    ("exchange rounds", "threads", "exchange rounds"),
    ("exchange wide", "threads", "exchange wide"),
    ("sharing active", "threads", "sharing active"),
    ("sharing passive", "threads", "sharing passive"),
    ("short threads", "threads", "threads short"),
    ("leaving threads", "threads", "threads leaving"),
    ("large blocks", "large", "large blocks"),
    ("medium blocks", "large", "large medium"),
    ("growing block", "large", "large grow"),
    ("growing buffers", "sizes", "large buffers"),
    ("huge replaced", "large", "large replace 20 5 25 1000 3"),
    ("huge replaced, few", "large", "large replace 6 2 60 500 4"),
    ("huge replaced, many", "large", "large replace 120 1 6 6000 5"),
    ("aligned", "sizes", "interfaces aligned"),
    ("calloc", "sizes", "interfaces calloc"),
    ("resize", "sizes", "interfaces resize"),
    ("survivors", "sizes", "survivors mixed"),
    ("bignum", "programs", "bignum"),
    ("cubes", "programs", "cubes"),
    ("bodies", "programs", "bodies"),
    ("rewriting", "programs", "terms rewrite"),
    ("trees", "programs", "terms trees"),
    ("trees x2", "threads", "terms two"),
    ("maps", "programs", "containers maps"),
    ("lists", "programs", "containers lists"),
    ("words", "programs", "containers words"),
    ("json", "programs", "json"),
]
# Not timed: they wait, or are over at once.
MEMORY_ONLY = [
    ("one block", "floor", "survivors one"),
    ("100 idle threads", "floor", "threads idle"),
    ("freed, then idle", "floor", "survivors idle"),
]


def own_workloads(programs):
    result = []
    for rows, timed in ((OWN, True), (MEMORY_ONLY, False)):
        for name, group, line in rows:
            words = line.split()
            command = [os.path.join(programs, words[0])] + words[1:]
            result.append(Workload(name, group, command, timed))
    return result


def real_workloads(inputs):
    """Programs of the system; those that are not there are left out, with a word."""
    python = "/usr/bin/python3"
    rows = [
        ("python", python, [os.path.join(inputs, "work.py")], {"PYTHONHASHSEED": "0"}),
        ("python, all malloc", python, [os.path.join(inputs, "work.py")],
         {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}),
        ("perl", "perl", [os.path.join(inputs, "work.pl")], {"PERL_HASH_SEED": "0"}),
        ("g++", "g++", ["-std=c++17", "-O1", "-c", "-o", os.path.join(inputs, "work.o"),
                        os.path.join(inputs, "work.cc")], {}),
        ("sqlite", "sqlite3", ["-batch", ":memory:", ".read " + os.path.join(inputs, "work.sql")],
         {}),
    ]
    result = []
    for name, program, arguments, environment in rows:
        path = shutil.which(program)
        if path:
            result.append(Workload(name, "real", [path] + arguments, True, environment))
        else:
            print(f"== {name}: {program} is not installed; left out")
    redis = shutil.which("redis-server")
    if redis and shutil.which("redis-benchmark") and shutil.which("redis-cli"):
        result.append(Workload("redis", "real", [redis], True, {}, True))
    else:
        print("== redis: redis-server or its tools are not installed; left out")
    return result
