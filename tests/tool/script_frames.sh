#!/bin/bash
# SPDX-License-Identifier: MIT
# script_frames.sh BUILD_DIR -- Python's functions are in the stacks: each stack is what the
# interpreter's own traceback says at that point, for every version of Python that is installed; in
# the profile of a killed process, in dumps and in CPU samples.
source "$(dirname "$0")/lib.bash"
needs python3

# Each point allocates a block, and takes the traceback on the same line.
cat >points.py <<'END'
import json, os, sys, threading, traceback

kept, points = [], []

def probe():
    kept.append(bytearray(3000)); points.append(traceback.extract_stack())

class Thing:
    @property
    def part(self):
        probe()
        return 1
    @classmethod
    def of_class(cls):
        return [probe() for _ in range(2)]
    def __getitem__(self, at):
        probe(); return at
    def __init__(self):
        probe()

def numbers(count):
    for i in range(count):
        probe()
        yield i

def from_generator():
    yield from numbers(3)
    yield from (probe() or i for i in range(2))

async def awaited():
    probe()
    return 2

async def coroutine():
    probe()
    return await awaited()

def run(thing):
    try:
        thing.send(None)
    except StopIteration as end:
        return end.value

def deep(n):
    return deep(n - 1) if n else probe()

def by_key(x):
    probe()
    return -x

def grün(n):
    probe()

def from_two_lines():
    # The C stack is the same for both calls.
    probe()
    for i in range(3):
        probe()
        probe()

def everything():
    thing = Thing()
    thing.part
    Thing.of_class()
    thing[3]
    list(from_generator())
    run(coroutine())
    for i in range(5):
        sorted([3, 1, 2], key=by_key)
        list(map(by_key, [1, 2]))
    for n in range(40):
        deep(n)
    grün(1)
    for i in range(100):
        from_two_lines()
    exec("probe()\n\n\nif True:\n    probe()")
    eval("[probe(), probe()]")
    try:
        raise ValueError
    except ValueError:
        probe()
    finally:
        probe()
    # Code objects that are freed, whose addresses others get.
    for i in range(500):
        lines = "\n" * (i % 11)
        space = {"probe": probe}
        source = f"def made_{i}():{lines}\n  x = 1\n  probe()"
        exec(compile(source, f"<made {i % 7}>", "exec"), space)
        space[f"made_{i}"]()

def worker():
    for i in range(20):
        everything_small()

def everything_small():
    list(from_generator())
    deep(5)
    from_two_lines()

everything()
threads = [threading.Thread(target=worker) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stacks = [[(frame.filename, frame.lineno, frame.name) for frame in reversed(point)]
          for point in points]
with open(sys.argv[1], "w") as out:
    json.dump({"stacks": stacks}, out)
# What other allocations were made of at these lines is freed or known: the profile stays.
os.kill(os.getpid(), 9)
END

# The stacks of the profile whose innermost script function is probe, and the interpreter's.
cat >compare.py <<'END'
import json, sys
points = json.load(open(sys.argv[1]))["stacks"]
wanted = {tuple(tuple(frame) for frame in stack) for stack in points}
found, frames_seen = set(), 0
for stack in json.load(open(sys.argv[2]))["stacks"]:
    script = tuple((f["file"], f["line"], f["name"].split(".")[-1]) for f in stack["frames"]
                   if "line" in f and (f["file"].endswith(".py") or f["file"].startswith("<")))
    frames_seen += len(script)
    if script and script[0][2] == "probe":
        found.add(script)
for stack in list(wanted - found)[:2]:
    print("not in the profile:", *stack, sep="\n    ")
for stack in list(found - wanted)[:2]:
    print("in the profile only:", *stack, sep="\n    ")
print(f"{len(wanted)} stacks, {len(wanted - found)} missing, {len(found - wanted)} wrong")
sys.exit(wanted != found or len(wanted) < 500)
END

pythons=()
for version in 3.8 3.9 3.10 3.11 3.12 3.13 3.14; do
    for python in $(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version.*/bin/python3") \
        $(command -v "python$version"); do
        # A version manager may have a name for a version that is not there.
        "$python" -c '' 2>/dev/null && pythons+=("$python")
    done
done
[ ${#pythons[@]} -gt 0 ] || pythons=("$(command -v python3)")
python_version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}
# killed PYTHON SCRIPT ARGUMENT...: runs it until it kills itself; its pid is in $pid.
killed() {
    local python=$1
    shift
    LD_PRELOAD=$build/lib/libmallow.so "$python" "$@" &
    pid=$!
    wait $pid 2>/dev/null
    started+=("$pid")
}
tested=
for python in "${pythons[@]}"; do
    MALLOW_CONF=prof_sample:1,prof_bt_max:512 killed "$python" "$work/points.py" wanted
    try 0 "$mallow" traces --json --symbolize=none "$pid"
    "$python" compare.py wanted out >compared || {
        cat compared
        fail "$python: stacks differ"
    }
    tested+=" $(python_version "$python")"
    ok "$(python_version "$python"): $(tail -1 compared)"
done
for version in 3.8 3.9 3.10 3.11 3.12 3.13 3.14; do
    [[ " $tested " == *" $version "* ]] || echo "not run: Python $version, which is not installed"
done

# The profile outlives the process in dumps of both formats, with functions, files and lines.
python=${pythons[-1]}
cat >dumped.py <<'END'
kept = []
class Store:
    def fill(self, n):
        for i in range(n):
            kept.append(bytearray(5000))
def main():
    Store().fill(200)
main()
END
# has_functions COMMAND...: what it prints has the functions of dumped.py with file and line.
has_functions() {
    try 0 "$@"
    says out '(^| )Store\.fill .*dumped\.py:5|(^| )fill .*dumped\.py:5'
    says out ' main .*dumped\.py:7'
    says out ' <module> .*dumped\.py:8'
}
for kind in pb heap; do
    MALLOW_CONF=prof_sample:4096,prof_final:true,dump_name:$work/dump.$kind \
        LD_PRELOAD=$build/lib/libmallow.so "$python" dumped.py || fail "dumped.py"
    has_functions "$mallow" traces --lines --focus=fill --sample-type alloc_space "dump.$kind"
    # As other commands write them, and read by this one again.
    try 0 "$mallow" proto --sample-type alloc_space -o again.pb.gz "dump.$kind"
    has_functions "$mallow" traces --lines --focus=fill --sample-type alloc_space again.pb.gz
done
try 0 "$mallow" raw dump.pb
says out '\[python\].*\[FN\]\[FL\]\[LN\]'
ok "dumps"

# CPU samples, at any instruction of the interpreter; the program forks, raises exceptions, has
# threads and ever new code meanwhile.
cat >busy.py <<'END'
import gc, os, sys, threading, time
def spin(n):
    total = 0
    for i in range(n):
        total += by_two(i)
    return total
def by_two(i):
    return sum(range(i % 300))
def raises(n):
    if n == 0:
        raise ValueError
    return raises(n - 1)
def numbers():
    for i in range(20):
        yield i
def work(end):
    number = 0
    while time.monotonic() < end:
        spin(300)
        sum(numbers())
        try:
            raises(20)
        except ValueError:
            pass
        number += 1
        space = {}
        exec(f"def made_{number}(n):\n  return [bytearray(600) for _ in range(n)]", space)
        space[f"made_{number}"](5)
        if number % 50 == 0:
            gc.collect()
end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(end,)) for _ in range(3)]
for thread in threads:
    thread.start()
while time.monotonic() < end:
    pid = os.fork()
    if pid == 0:
        spin(1000)
        os._exit(0)
    os.waitpid(pid, 0)
    spin(1000)
for thread in threads:
    thread.join()
print("done")
END
for python in "${pythons[@]}"; do
    MALLOW_CONF=prof_sample:1000 try 0 "$mallow" run --cpu --cpu-rate 10000 -o busy.pb.gz -- \
        "$python" busy.py "${MALLOW_TEST_SECONDS:-2}"
    says out '^done'
    says err '%  (spin|by_two|work)  .*busy\.py'
    try 0 "$mallow" traces --lines busy.pb.gz
    says out ' by_two .*busy\.py:8$'
    says out '^ +spin .*busy\.py:5$'
    ok "$(python_version "$python"): CPU samples"
done
