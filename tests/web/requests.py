#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""requests.py BUILD_DIR -- `mallow web` by requests that a page never sends: without the token, for
files that are not shown, with options in values, from other sites, broken, slow, and many."""
import base64
import html
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings

build = pathlib.Path(sys.argv[1]).resolve()
mallow = build / "bin/mallow"
folder = pathlib.Path(tempfile.mkdtemp(prefix="mallow-web."))
profile = folder / "a.pb.gz"
subprocess.run([mallow, "run", "--exact", "-o", profile, "--", "/bin/ls", "/"], check=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
(folder / "dumps").mkdir()
shutil.copy(profile, folder / "dumps" / "b.pb.gz")
os.mkfifo(folder / "dumps" / "pipe.pb.gz")
(folder / "dumps" / "link.pb.gz").symlink_to("pipe.pb.gz")
(folder / "dumps" / "device.pb.gz").symlink_to("/dev/ptmx")
(folder / "secret.pb.gz").write_bytes(profile.read_bytes())
failed = []


def check(what, good, shown=""):
    print("ok" if good else "FAILED", what, "" if good else repr(shown)[:300])
    if not good:
        failed.append(what)


def await_that(what, condition):
    """Waits for the condition; a minute is generous on a busy machine."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    check(what, condition())


# Each server's secret, by its port: `ask` sends it as the cookie that a browser has.
secrets = {}


def start(*words, browser="--no-browser", environment=None):
    """Returns the server, its port, and the path of its page."""
    server = subprocess.Popen([mallow, "web", *([browser] if browser else []), *words], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, **(environment or {})})
    url = server.stdout.readline().strip()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{16}/)\?token=([0-9a-f]{32})", url)
    if not found:
        sys.exit(f"FAILED: no address: {url!r}")
    port = int(found[1])
    secrets[port] = found[3]
    return server, port, found[2]


def cookie(port, secret=None):
    return {"Cookie": f"mallow-{port}={secret or secrets[port]}"}


def ask(port, path, method="GET", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    known = cookie(port) if port in secrets else {}
    connection.request(method, path, headers={**known, **(headers or {})})
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def status_of(port, path, **more):
    return ask(port, path, **more)[0]


def stop(server):
    server.send_signal(signal.SIGTERM)
    return server.wait(30)


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
                            "targets": ["a.pb.gz", "dumps/b.pb.gz"]}, shown)
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

# ---- the secret: in the address once, then in a cookie ----

shown = base + "api/targets"
given = ask(port, f"{base}?token={token}", headers={"Cookie": ""})
check("the secret of the address becomes a cookie", given[0] == 200 and given[2]["Set-Cookie"] ==
      f"mallow-{port}={token}; HttpOnly; SameSite=Strict", given)
check("no other answer has it", all("Set-Cookie" not in ask(port, path)[2]
                                    for path in (base, base + "app.js", shown, "/")))
for sent in ("", f"mallow-{port}=", f"mallow-{port}={token[:-1]}", f"mallow-{port}={token}0",
             f"mallow-{port}={'0' * 32}", f"mallow-{port + 1}={token}", f"mallow={token}", token,
             f"xmallow-{port}={token}", f"a=mallow-{port}={token}", ";" * 2000, "=" * 2000):
    answer = ask(port, shown, headers={"Cookie": sent})
    check(f"no page with the cookie {sent.replace(token, 'TOKEN')[:40]!r}", answer[0] == 431 or
          (answer[0] == 403 and b"mallow web" in answer[1]), answer)
# Other servers of this host may set cookies, with this name too.
for sent in (f"a=b; mallow-{port}={token}", f"mallow-{port}={'0' * 32};mallow-{port}={token}; c=d",
             f'j={{"x": [1, 2]}}; mallow-{port}={token}', f"=; ;; mallow-{port}={token}"):
    check(f"the page with the cookie {sent.replace(token, 'TOKEN')[:40]!r}",
          status_of(port, shown, headers={"Cookie": sent}) == 200)
for value in ("", "0" * 32, token[:-1], token + "0", token.upper()):
    check(f"no page with the wrong secret {value.replace(token, 'TOKEN')!r}", status_of(
        port, f"{base}?token={value}", headers={"Cookie": ""}) == (200 if value == token else 403))
for site, status in (("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)):
    check(f"a request that the browser calls {site}", status_of(
        port, shown, headers={"Sec-Fetch-Site": site}) == status)
other, other_port, other_base = start("a.pb.gz")
for sent in (cookie(port), cookie(other_port, token), cookie(port, secrets[other_port]),
             {"Cookie": f"{cookie(port)['Cookie']}; mallow-{other_port}={token}"}):
    check("no page with another page's cookie",
          status_of(other_port, other_base + "api/targets", headers=sent) == 403)
both = {"Cookie": f"{cookie(port)['Cookie']}; {cookie(other_port)['Cookie']}"}
check("two pages in one browser", status_of(port, shown, headers=both) == 200 and
      status_of(other_port, other_base + "api/targets", headers=both) == 200)
check("its end", stop(other) == 0)


def told_by_the_system():
    """Command lines and environments of all processes, which other users can read in part."""
    told = b""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                told += (process / name).read_bytes()
            except OSError:
                pass
    return told


def states_of_children(pid):
    states = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = status.read_text().rsplit(")", 1)
            if int(fields.split()[1]) == pid:
                states.append((name.split("(", 1)[1], fields.split()[0]))
        except OSError:
            pass
    return states


# A browser's command that keeps its words and waits until it is told to end.
tools = folder / "tools"
tools.mkdir()
(tools / "xdg-open").write_text("""#!/bin/sh
printf '%s\\n' "$@" >opened.new
mv opened.new opened
until [ -e closed ]; do sleep 0.02; done
""")
(tools / "xdg-open").chmod(0o755)
desktop = {"DISPLAY": ":0", "PATH": f"{tools}:{os.environ['PATH']}"}


def opened_by(*words, **more):
    """Starts a server that opens a browser; returns it and the file that the browser was given."""
    for name in ("opened", "closed"):
        (folder / name).unlink(missing_ok=True)
    started = start(*words, browser=None, environment={**desktop, **more})
    await_that("a browser is opened", (folder / "opened").exists)
    return started, pathlib.Path((folder / "opened").read_text().strip())


runtime = folder / "runtime"
runtime.mkdir(mode=0o700)
(folder / "open-to-all").mkdir()
(folder / "open-to-all").chmod(0o777)
for place, more in ((runtime, {"XDG_RUNTIME_DIR": str(runtime)}),
                    (folder, {"XDG_RUNTIME_DIR": str(folder / "open-to-all"),
                              "TMPDIR": str(folder)}),
                    (folder, {"XDG_RUNTIME_DIR": "relative", "TMPDIR": str(folder), "HOME": ""})):
    (opener, opener_port, opener_base), file = opened_by("a.pb.gz", **more)
    secret = secrets[opener_port]
    check("no command line and no environment has the secret",
          secret.encode() not in told_by_the_system())
    check("the file is for its user alone", file.parent.parent == place and
          stat.S_IMODE(file.stat().st_mode) == 0o600 and
          stat.S_IMODE(file.parent.stat().st_mode) == 0o700, (file, file.stat()))
    text = file.read_text()
    address = html.unescape(re.search(r'url=([^"]*)"', text)[1])
    check("it leads to the page", address ==
          f"http://127.0.0.1:{opener_port}{opener_base}?token={secret}&from=file", text)
    check("nobody else removes it", status_of(
        opener_port, f"{opener_base}?from=file", headers={"Cookie": ""}) == 403 and file.exists())
    (folder / "closed").touch()
    await_that("the browser's command is no zombie",
               lambda pid=opener.pid: not states_of_children(pid))
    if place == runtime:
        check("the browser asks", status_of(opener_port, address[address.index("/", 8):]) == 200)
        check("the file has gone", not file.parent.exists())
    check("its end", stop(opener) == 0 and not file.parent.exists())

# Where the session's folder is full, the file is in another.
if os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"]).returncode == 0:
    full = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=4k,mode=700 full "$0" || exit; '
         'head -c 8192 /dev/zero >"$0/file"; exec "$@"', runtime, mallow, "web", "a.pb.gz"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, **desktop, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(folder)})
    (folder / "opened").unlink()
    full.stdout.readline()
    await_that("a browser is opened from another folder",
               lambda: (folder / "opened").exists() and
               pathlib.Path((folder / "opened").read_text().strip()).parent.parent == folder)
    check("its end", stop(full) == 0 and not list(folder.glob("mallow-web.*")))

# No browser, or no room for the file: the address is printed all the same.
(folder / "nowhere").mkdir()
for more, told in (({"PATH": str(folder / "nowhere"), "TMPDIR": str(runtime)}, "xdg-open"),
                   ({"TMPDIR": str(folder / "missing")}, "missing"),
                   ({"TMPDIR": "/" + "x" * 4090}, "name too long")):
    result = subprocess.Popen([mallow, "web", "a.pb.gz"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "XDG_RUNTIME_DIR": "", **desktop, **more})
    check("the address without a browser", "?token=" in result.stdout.readline())
    lines = [result.stderr.readline() for _ in range(2)]
    check(f"why no browser was opened: {told}", told in lines[1].lower(), lines)
    check("its end", stop(result) == 0 and not list(runtime.iterdir()), list(runtime.iterdir()))

# ---- other sites, requests that change something ----

check("another site's name", status_of(port, base, headers={"Host": "evil.example"}) == 403)
check("no change without --control",
      status_of(port, base + "api/order/reset?p=a.pb.gz", method="POST") == 403)
check("methods", status_of(port, base, method="DELETE") == 405)

# ---- another user of the machine ----


def sees_nothing():
    """As another user: neither an answer nor the token in what the system tells of the server."""
    os.setgid(65534)
    os.setuid(65534)
    told = b""
    for name in ("cmdline", "environ", "status"):
        try:
            told += pathlib.Path(f"/proc/{server.pid}/{name}").read_bytes()
        except OSError:
            pass
    return (token.encode() not in told and b"Name" in told and
            status_of(port, "/api/targets") == 404 and
            status_of(port, f"/{'f' * 16}/api/targets") == 404 and
            status_of(port, base + "api/targets", headers={"Cookie": ""}) == 403)


if os.geteuid() == 0:
    child = os.fork()
    if child == 0:
        os._exit(0 if sees_nothing() else 1)
    check("nothing for another user", os.waitpid(child, 0)[1] == 0)

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

# ---- broken, slow, many ----


def resident_kib():
    with open(f"/proc/{server.pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def descriptors():
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def send_raw(text):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except OSError:
            pass


random.seed(4711)
GOOD = (f"GET {base}api/targets HTTP/1.1\r\nHost: localhost\r\nCookie: mallow-{port}={token}\r\n"
        "Connection: close\r\n\r\n").encode()


def broken(count):
    for _ in range(count):
        text = bytearray(GOOD)
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(text))
            text[at:at + random.randrange(3)] = random.randbytes(random.randrange(4))
        send_raw(bytes(text[:random.randrange(1, len(text) + 1)]))


# Clients that hold their connections: they begin here, and are cut off while the rest is tested.
HEADER = (f"POST {base}api/order/mark HTTP/1.1\r\nHost: localhost\r\n"
          f"Cookie: mallow-{port}={token}\r\nContent-Length: 1000\r\n\r\nhalf").encode()
holding, holding_port, holding_base = start("a.pb.gz")
held = [socket.create_connection(("127.0.0.1", holding_port)) for _ in range(3)]
for connection, text in zip(held, (b"", GOOD[:40], HEADER)):
    connection.sendall(text)


def is_cut_off(connection):
    """Whether the server has ended the connection, within a minute."""
    connection.settimeout(90)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def crowd(port, count, text=b"", source="127.0.0.1"):
    """As many connections that send this and no more."""
    connections = []
    for _ in range(count):
        connections.append(socket.create_connection(("127.0.0.1", port), 60, (source, 0)))
        connections[-1].sendall(text)
    return connections


# A connection of the page's owner outlives the crowd.
owner = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
for turn, text in enumerate((b"", GOOD[:20], GOOD.replace(token.encode(), b"0" * 32)
                             .replace(b"Connection: close\r\n", b""))):
    owner.request("GET", base + "api/targets", headers=cookie(port))
    check("the owner's connection", owner.getresponse().read().startswith(b"{"))
    others = crowd(port, 400, text)
    check(f"the page besides 400 connections without the secret, {turn}",
          status_of(port, base + "api/view/top?p=a.pb.gz") == 200)
    owner.request("GET", base + "api/targets", headers=cookie(port))
    check("the owner's connection besides", owner.getresponse().read().startswith(b"{"))
    check("the first of them is cut off", is_cut_off(others[0]))
    for connection in others:
        connection.close()
owner.close()
# A crowd from one address takes nothing from clients at another, who came before.
before_crowd = crowd(port, 3, GOOD[:20], "127.0.0.3")
others = crowd(port, 400, b"", "127.0.0.2")
before_crowd[0].sendall(GOOD[20:])
check("a client at another address", before_crowd[0].recv(100).startswith(b"HTTP/1.1 200"))
for connection in before_crowd + others:
    connection.close()

broken(500)
before = resident_kib(), descriptors()
threads = [threading.Thread(target=broken, args=(1250,)) for _ in range(8)]
slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
for connection in slow:
    connection.sendall(GOOD[:20])
for thread in threads:
    thread.start()
check("an answer besides 100 slow clients", status_of(port, base + "api/targets") == 200)
for thread in threads:
    thread.join()
for connection in slow:
    connection.close()
check("an answer after 10,000 broken requests", status_of(port, base + "api/targets") == 200)
after = resident_kib(), descriptors()
for what, connection in zip(("nothing", "half a header", "half a body"), held):
    check(f"cut off: a client that sends {what}", is_cut_off(connection))
check("its end", stop(holding) == 0)
check("no growth", after[0] < before[0] + 8192 and after[1] <= before[1] + 110, (before, after))
check("its end", stop(server) == 0)

# ---- a page that may change processes ----

server, port, base = start("--control", "a.pb.gz")
base += "api/order/"
for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                {"Origin": f"http://127.0.0.1:{port + 1}"}):
    check(f"refused from {headers}", status_of(port, base + "reset?p=a.pb.gz", method="POST",
                                                headers=headers) == 403)
own = {"Origin": f"http://127.0.0.1:{port}"}
check("no change by GET", status_of(port, base + "reset?p=a.pb.gz", headers=own) == 403)
answer = ask(port, base + "reset?p=a.pb.gz", method="POST", headers=own)
check("a change reaches the command", answer[0] == 500 and b"a.pb.gz" in answer[1], answer)
check("no change without the secret", status_of(port, base + "reset?p=a.pb.gz", method="POST",
                                               headers={**own, "Cookie": ""}) == 403)
check("no other change", status_of(port, base + "run?p=a.pb.gz", method="POST", headers=own) == 404)
# Requests that a proxy may understand in another way: the answer is one, and it is the last.
HOST, SECRET = f"Host: 127.0.0.1:{port}\r\n", f"Cookie: mallow-{port}={secrets[port]}\r\n"
second = f"GET {base[:-6]}targets HTTP/1.1\r\n{HOST}{SECRET}\r\n"
for what, headers, body in (
        ("a length and a coding", f"{HOST}Content-Length: {len(second) + 5}\r\n"
         "Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + second),
        ("two lengths", f"{HOST}Content-Length: 0\r\nContent-Length: {len(second)}\r\n", second),
        ("two hosts", HOST + "Host: evil.example\r\nContent-Length: 0\r\n", second),
        ("two origins", f"{HOST}Origin: http://127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"
         "Content-Length: 0\r\n", second)):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(f"POST {base}reset?p=a.pb.gz HTTP/1.1\r\n{headers}{SECRET}\r\n{body}"
                           .encode())
        answers = b""
        while piece := connection.recv(65536):
            answers += piece
    check(f"refused: {what}", answers.count(b"HTTP/1.1") == 1 and
          answers.startswith(b"HTTP/1.1 400"), answers)
check("its end", stop(server) == 0)

# ---- a password and TLS, a proxy ----

password, certificate = folder / "password", folder / "web.pem"
password.write_text("correct horse\nmore\n")
password.chmod(0o600)
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem", "-out",
                folder / "cert.pem"], check=True, stderr=subprocess.DEVNULL)
certificate.write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
certificate.chmod(0o600)
(folder / "key.pem").chmod(0o600)


def serve_at(*words):
    server = subprocess.Popen([mallow, "web", "--no-browser", *words, "a.pb.gz"], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return server, server.stdout.readline().strip()


def ask_tls(port, path, headers, method="GET"):
    trusted = ssl.create_default_context(cafile=folder / "cert.pem")
    connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=trusted)
    connection.request(method, path, headers={**cookie(port), **headers})
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def basic(text):
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


for key in ([], ["--tls-key", "key.pem"]):
    server, url = serve_at("--listen", "0.0.0.0:0", "--password-file", "password", "--tls-cert",
                           "cert.pem" if key else "web.pem", "--control", *key)
    found = re.fullmatch(r"https://[^/:]+:(\d+)(/[0-9a-f]{16}/)\?token=([0-9a-f]{32})", url)
    check("its address", found, url)
    port, base = int(found[1]), found[2]
    secrets[port] = found[3]
    missing = ask_tls(port, base, {})
    check("no page without the password", missing[0] == 401 and
          missing[2]["WWW-Authenticate"] == 'Basic realm="mallow"', missing)
    for wrong in ("me:", "me:correct hors", "me:correct horse!", "me:correct horse\nmore",
                  "correct horse:", "me:" + "x" * 3000):
        check(f"wrong: {wrong[:24]!r}", ask_tls(port, base, basic(wrong))[0] in (401, 413, 431))
    bearer = {"Authorization": "Bearer correct horse"}
    check("another scheme", ask_tls(port, base, bearer)[0] == 401)
    right = basic("me:correct horse")
    check("the page with the password", ask_tls(port, base, right)[0] == 200)
    check("the cookie is for TLS alone", ask_tls(port, f"{base}?token={found[3]}", right)[2]
          ["Set-Cookie"].endswith("; HttpOnly; SameSite=Strict; Secure"))
    for headers in (right, basic("me:wrong"), {}):
        check("no page without the token", ask_tls(port, "/", headers)[0] == 404 and
              ask_tls(port, base, {**headers, "Cookie": ""})[0] == 403)
    order = base + "api/order/reset?p=a.pb.gz"
    check("a change of the page", ask_tls(
        port, order, {**right, "Origin": f"https://localhost:{port}"}, "POST")[0] == 500)
    check("no change of another", ask_tls(
        port, order, {**right, "Origin": f"http://localhost:{port}"}, "POST")[0] == 403)
    try:
        plain = status_of(port, base)
    except (OSError, http.client.HTTPException):
        plain = None
    check("nothing without TLS", plain is None, plain)
    # Half a handshake, more often than there are connections.
    others = crowd(port, 300, b"\x16\x03\x01")
    check("the page besides 300 half handshakes", ask_tls(port, base, right)[0] == 200)
    check("the first of them is cut off", is_cut_off(others[0]) and is_cut_off(others[-1]))
    for connection in others:
        connection.close()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    warnings.simplefilter("ignore", DeprecationWarning)
    try:
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            old.wrap_socket(connection)
        is_refused = False
    except (OSError, ValueError):
        is_refused = True
    check("no old version of TLS", is_refused)
    check("its end", stop(server) == 0)

server, url = serve_at("--listen", "127.0.0.1:0", "--base-url", "https://proxy.example/heap/",
                       "--control")
found = re.fullmatch(r"https://proxy\.example/heap(/[0-9a-f]{16}/)\?token=([0-9a-f]{32})", url)
check("the proxy's address", found, url)
listing = next(line for line in open("/proc/net/tcp").readlines()[1:]
               if any(f"socket:[{line.split()[9]}]" == os.readlink(f"/proc/{server.pid}/fd/{fd}")
                      for fd in os.listdir(f"/proc/{server.pid}/fd")))
port, base = int(listing.split()[1].split(":")[1], 16), found[1]
secrets[port] = found[2]
by_proxy = {"Host": "proxy.example"}
check("the page by the proxy", status_of(port, base, headers=by_proxy) == 200)
check("the page by loopback", status_of(port, base) == 200)
check("no other name", status_of(port, base, headers={"Host": "proxy.example.evil"}) == 403)
order = base + "api/order/reset?p=a.pb.gz"
for host in (by_proxy, {}):
    check("a change of the proxy's page", status_of(
        port, order, method="POST", headers={**host, "Origin": "https://proxy.example"}) == 500)
check("no change of another", status_of(
    port, order, method="POST", headers={**by_proxy, "Origin": "https://proxy.evil"}) == 403)
check("its end", stop(server) == 0)

# ---- the command line ----

(folder / "short").write_text("short\n")
(folder / "short").chmod(0o600)
(folder / "open").write_text("correct horse\n")
(folder / "open").chmod(0o644)
anywhere = ["--listen", "0.0.0.0:0"]
for words in (anywhere + ["--password-file", "password"], anywhere + ["--tls-cert", "web.pem"],
              ["--password-file", "short"], ["--password-file", "open"],
              ["--password-file", "dumps"], ["--base-url", "proxy.example"],
              ["--base-url", "https://"], ["--base-url", "https://a@b/"]):
    result = subprocess.run([mallow, "web", "--no-browser", *words], cwd=folder, timeout=60,
                            capture_output=True, text=True)
    check(f"refused: {' '.join(words)}", result.returncode == 2 and
          "allowed" in result.stderr and result.stderr.count("\n") == 1, result.stderr)
for words, told in ((["--password-file", "none"], "none: No such file"),
                    (["--tls-key", "key.pem"], "--tls-key needs --tls-cert"),
                    (["--tls-cert", "password"], "PEM")):
    result = subprocess.run([mallow, "web", "--no-browser", *words], cwd=folder, timeout=60,
                            capture_output=True, text=True)
    check(f"told: {told}", result.returncode == 2 and told in result.stderr and
          result.stderr.count("\n") == 1, result.stderr)
for words in (["nothing/at.all"], ["dumps/pipe.pb.gz"], ["/dev/ptmx"],
              ["--listen", "0.0.0.0:0"], ["--listen", "here"]):
    result = subprocess.run([mallow, "web", "--no-browser", *words], cwd=folder, timeout=60,
                            capture_output=True, text=True)
    check(f"refused: {' '.join(words)}", result.returncode == 2 and
          "allowed" in result.stderr and result.stderr.count("\n") == 1, result.stderr)

result = subprocess.run([mallow, "web", "--no-browser", "nothing.pb.gz"], cwd=folder, timeout=60,
                        capture_output=True, text=True)
check("neither a file nor a process", result.returncode == 2 and
      "no such file, and no process" in result.stderr and result.stderr.count("\n") == 1,
      result.stderr)

shutil.rmtree(folder)
if failed:
    print(f"FAILED: {', '.join(failed)}")
sys.exit(1 if failed else 0)
