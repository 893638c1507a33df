#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shown.py BUILD_DIR -- `mallow web` by requests that a page never sends: for files that are not
shown, with options in values; answers about files that change."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from page_server import (ask, await_that, build, check, end, folder, mallow, profile, secrets,
                         start, states_of_children, status_of, stop)

# ---- what is shown, and to whom ----

server, port, base = start("a.pb.gz", "dumps")
token, place = secrets[port], base.strip("/")
page = ask(port, base)
check("the page", page[0] == 200 and b"app.js" in page[1], page)
policy = page[2]["Content-Security-Policy"]
check("its policy", "default-src 'none'" in policy and "unsafe" not in policy, policy)
for path in ("/", "/app.js", "/api/targets", f"/{place}", f"/{place[:-1]}/", f"/{'0' * 16}/",
             f"/{place}x/", "/" + place.upper() + "/api/targets", f"/{token}/", f"/?token={token}",
             base + "../etc/passwd", base + "api/view/", base + "api/view/run",
             base + "api/file/so", base + "nothing"):
    check(f"nothing at {path.replace(place, 'PLACE').replace(token, 'TOKEN')}",
          status_of(port, path) == 404)
shown = json.loads(ask(port, base + "api/targets")[1])
check("the list", shown == {"all": False, "control": False,
                            "targets": ["a.pb.gz", "dumps/b.pb.gz"], "store": None}, shown)
top = ask(port, base + "api/view/top?p=a.pb.gz")
terminal = subprocess.run([mallow, "top", "--json", "a.pb.gz"], cwd=folder, capture_output=True)
check("the numbers of the terminal", top[0] == 200 and top[1] == terminal.stdout, top[1])
check("a file of the directory", status_of(port, base + "api/view/top?p=dumps/b.pb.gz") == 200)
for target in ("secret.pb.gz", str(profile), "dumps/../secret.pb.gz", "dumps/../a.pb.gz", "1",
               "--help", "-o", "", "dumps/", "dumps/.hidden", "dumps/pipe.pb.gz",
               "dumps/link.pb.gz", "dumps/device.pb.gz", "http://127.0.0.1/"):
    check(f"not shown: {target.replace(str(folder), '')}",
          status_of(port, base + "api/view/top?p=" + target.replace("/", "%2F")) == 400)
check("no target", status_of(port, base + "api/view/top") == 400)
check("no base that is not shown",
      status_of(port, base + "api/view/top?p=a.pb.gz&base=secret.pb.gz") == 400)
# An answer about a file is kept, for the file as it was.
dump = folder / "dumps" / "b.pb.gz"
first = ask(port, base + "api/view/top?p=dumps/b.pb.gz")[1]
check("an answer again", ask(port, base + "api/view/top?p=dumps/b.pb.gz")[1] == first)
check("another question is another answer",
      ask(port, base + "api/view/top?p=dumps/b.pb.gz&type=alloc_objects")[1] != first)
subprocess.run([mallow, "run", "--exact", "-o", folder / "larger.pb.gz", "--", "/bin/ls",
                "-lR", "/etc/default"], stdout=subprocess.DEVNULL,
               stderr=subprocess.DEVNULL)
dump.write_bytes((folder / "larger.pb.gz").read_bytes())
terminal = subprocess.run([mallow, "top", "--json", dump], cwd=folder, capture_output=True)
again = ask(port, base + "api/view/top?p=dumps/b.pb.gz")[1]
check("the file was written anew", again != first and again == terminal.stdout, again)


def kept_answers(ask_more=iter(range(1, 10000))):
    ask(port, base + f"api/view/top?p=a.pb.gz&top={next(ask_more)}")
    kept = 0
    for link in pathlib.Path(f"/proc/{server.pid}/fd").iterdir():
        try:
            kept += "memfd:mallow" in os.readlink(link)
        except OSError:  # closed meanwhile
            pass
    return kept


await_that("32 answers are kept", lambda: kept_answers() >= 32)
check("no more than 32 answers are kept", max(kept_answers() for _ in range(40)) <= 34)

stolen = folder / "stolen"
for value in (f"x%20--output={stolen}", f"%0A--output={stolen}", f"--output={stolen}"):
    ask(port, base + f"api/view/top?p=a.pb.gz&focus={value}")
ask(port, base + f"api/view/top?p=a.pb.gz&output={stolen}&o={stolen}")
check("a value is no option", not stolen.exists())
check("a wrong value is told",
      b"focus" in ask(port, base + "api/view/top?p=a.pb.gz&focus=(")[1])
check("a value that is too long", status_of(
    port, base + "api/view/top?p=a.pb.gz&focus=" + "x" * 5000) in (400, 414, 431))
for ending in ("html", "folded", "speedscope.json", "pb.gz", "txt", "flame.svg"):
    answer = ask(port, base + f"api/file/{ending}?p=a.pb.gz")
    check(f"a file to save: {ending}", answer[0] == 200 and len(answer[1]) > 100 and
          answer[2]["Content-Disposition"] == f'attachment; filename="mallow.{ending}"', answer)
    check(f"which has no origin: {ending}", "sandbox" in answer[2]["Content-Security-Policy"])

# ---- files that change without a new time: the state file of a process ----

# Without prof_cost_limit:0 the first blocks, which come fast, raise the grower's T: later ones may
# then leave no sample, and the file stays as it is.
grower = subprocess.Popen(
    [sys.executable, "-c", "import sys\nkept = []\nfor line in sys.stdin:\n"
     "    kept.extend(bytes(5000) for _ in range(int(line))); print(len(kept), flush=True)"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    env={**os.environ, "LD_PRELOAD": str(build / "lib/libmallow.so"),
         "MALLOW_CONF": "prof_state_min:0,prof_sample:4096,prof_cost_limit:0"})


def grow(blocks=50):
    grower.stdin.write(f"{blocks}\n")
    grower.stdin.flush()
    return grower.stdout.readline()


grow(4000)
state = next(pathlib.Path(f"/dev/shm/mallow-{os.getuid()}").glob(f"{grower.pid}.*"))
os.utime(state, (time.time() - 60, time.time() - 60))
live, live_port, live_base = start("--control", str(state), "a.pb.gz",
                                   environment={"XDG_CACHE_HOME": str(folder)})
named = str(state).replace("/", "%2F")
for view in (f"view/top?p={named}", f"view/top?p=a.pb.gz&base={named}", f"file/txt?p={named}"):
    shown = [ask(live_port, f"{live_base}api/{view}")[1] for turn in range(2) if turn < 1 or grow()]
    check(f"the process as it is: {view.replace(named, 'STATE')}",
          len(shown[0]) > 100 and shown[0] != shown[1], shown[1])
own = {"Origin": f"http://127.0.0.1:{live_port}"}
marks = [ask(live_port, f"{live_base}api/order/mark?p={named}", method="POST", headers=own)
         for _ in range(3)]
timeline = json.loads(ask(live_port, f"{live_base}api/view/timeline?p={named}")[1])
check("three marks are three", [mark[0] for mark in marks] == [200] * 3 and
      len(timeline["marks"]) == 3, (marks, timeline["marks"]))
check("its end", stop(live) == 0)
grower.kill()
grower.wait()
state.unlink()

# A file that is written anew within the clock's tick, with as many bytes, its time set back.
texts = [f"heap_v2/1\n  t*: 1: {size} [0: 0]\n@ 0x1000\n  t*: 1: {size} [0: 0]\n"
         for size in (100, 900)]
quick = folder / "dumps" / "quick.heap"
for turn in range(20):
    quick.write_text(texts[turn % 2])
    os.utime(quick, (1000000000, 1000000000))
    total = json.loads(ask(port, base + "api/view/top?p=dumps/quick.heap")[1])["total"]
    if total != (100, 900)[turn % 2]:
        break
check("a file that is written at once again", total == (100, 900)[turn % 2] and turn == 19,
      (turn, total))

# ---- a file that becomes a pipe while it is asked for ----

swapped = folder / "dumps" / "swapped.pb.gz"
is_over = threading.Event()


def swap():
    """As a hostile owner of the directory: a file, a pipe, a file ..."""
    turn = 0
    while not is_over.is_set():
        beside = folder / f"beside.{turn}"
        turn += 1
        if turn % 2:
            beside.write_bytes(profile.read_bytes())
        else:
            os.mkfifo(beside)
        beside.rename(swapped)


swapper = threading.Thread(target=swap)
swapper.start()
statuses = [status_of(port, base + f"api/view/top?p=dumps/swapped.pb.gz&top={i}")
            for i in range(60)]
is_over.set()
swapper.join()
swapped.unlink()
check("no question waits for a pipe", set(statuses) <= {200, 400, 500} and
      states_of_children(server.pid) == [], statuses)

check("its end", stop(server) == 0)

end()
