#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""requests.py BUILD_DIR -- `mallow web` by requests that a page never sends: without the token, for
files that are not shown, with options in values, from other sites, broken, slow, and many."""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

build = pathlib.Path(sys.argv[1]).resolve()
mallow = build / "bin/mallow"
folder = pathlib.Path(tempfile.mkdtemp(prefix="mallow-web."))
profile = folder / "a.pb.gz"
subprocess.run([mallow, "run", "--exact", "-o", profile, "--", "/bin/ls", "/"], check=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
(folder / "dumps").mkdir()
shutil.copy(profile, folder / "dumps" / "b.pb.gz")
(folder / "secret.pb.gz").write_bytes(profile.read_bytes())
failed = []


def check(what, good, shown=""):
    print("ok" if good else "FAILED", what, "" if good else repr(shown)[:300])
    if not good:
        failed.append(what)


def start(*words):
    server = subprocess.Popen([mallow, "web", "--no-browser", *words], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = server.stdout.readline().strip()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", url)
    if not found:
        sys.exit(f"FAILED: no address: {url!r}")
    return server, int(found[1]), found[2]


def ask(port, path, method="GET", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def status_of(port, path, **more):
    return ask(port, path, **more)[0]


def stop(server):
    server.send_signal(signal.SIGTERM)
    return server.wait(30)


# ---- what is shown, and to whom ----

server, port, token = start("a.pb.gz", "dumps")
base = f"/{token}/"
page = ask(port, base)
check("the page", page[0] == 200 and b"app.js" in page[1], page)
policy = page[2]["Content-Security-Policy"]
check("its policy", "default-src 'none'" in policy and "unsafe" not in policy, policy)
for path in ("/", "/app.js", "/api/targets", f"/{token}", f"/{token[:-1]}/", f"/{'0' * 32}/",
             f"/{token}x/", "/" + token.upper() + "/api/targets", base + "../etc/passwd",
             base + "api/view/", base + "api/view/run", base + "api/file/so", base + "nothing"):
    check(f"nothing at {path.replace(token, 'TOKEN')}", status_of(port, path) == 404)
shown = json.loads(ask(port, base + "api/targets")[1])
check("the list", shown == {"all": False, "control": False,
                            "targets": ["a.pb.gz", "dumps/b.pb.gz"]}, shown)
top = ask(port, base + "api/view/top?p=a.pb.gz")
terminal = subprocess.run([mallow, "top", "--json", "a.pb.gz"], cwd=folder, capture_output=True)
check("the numbers of the terminal", top[0] == 200 and top[1] == terminal.stdout, top[1])
check("a file of the directory", status_of(port, base + "api/view/top?p=dumps/b.pb.gz") == 200)
for target in ("secret.pb.gz", str(profile), "dumps/../secret.pb.gz", "dumps/../a.pb.gz", "1",
               "--help", "-o", "", "dumps/", "dumps/.hidden", "http://127.0.0.1/"):
    check(f"not shown: {target.replace(str(folder), '')}",
          status_of(port, base + "api/view/top?p=" + target.replace("/", "%2F")) == 400)
check("no target", status_of(port, base + "api/view/top") == 400)
check("no base that is not shown",
      status_of(port, base + "api/view/top?p=a.pb.gz&base=secret.pb.gz") == 400)
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

# ---- other sites, orders ----

check("another site's name", status_of(port, base, headers={"Host": "evil.example"}) == 403)
check("no order without --control",
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
            status_of(port, f"/{'f' * 32}/api/targets") == 404)


if os.geteuid() == 0:
    child = os.fork()
    if child == 0:
        os._exit(0 if sees_nothing() else 1)
    check("nothing for another user", os.waitpid(child, 0)[1] == 0)

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
GOOD = f"GET {base}api/targets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def broken(count):
    for _ in range(count):
        text = bytearray(GOOD)
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(text))
            text[at:at + random.randrange(3)] = random.randbytes(random.randrange(4))
        send_raw(bytes(text[:random.randrange(1, len(text) + 1)]))


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
check("no growth", after[0] < before[0] + 8192 and after[1] <= before[1] + 110, (before, after))
check("its end", stop(server) == 0)

# ---- a page that may change processes ----

server, port, token = start("--control", "a.pb.gz")
base = f"/{token}/api/order/"
for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                {"Origin": f"http://127.0.0.1:{port + 1}"}):
    check(f"refused from {headers}", status_of(port, base + "reset?p=a.pb.gz", method="POST",
                                                headers=headers) == 403)
own = {"Origin": f"http://127.0.0.1:{port}"}
check("no order by GET", status_of(port, base + "reset?p=a.pb.gz", headers=own) == 403)
answer = ask(port, base + "reset?p=a.pb.gz", method="POST", headers=own)
check("an order reaches the command", answer[0] == 500 and b"a.pb.gz" in answer[1], answer)
check("no other order", status_of(port, base + "run?p=a.pb.gz", method="POST", headers=own) == 404)
check("its end", stop(server) == 0)

# ---- the command line ----

for words in (["nothing.pb.gz"], ["--listen", "0.0.0.0:0"], ["--listen", "here"]):
    result = subprocess.run([mallow, "web", "--no-browser", *words], cwd=folder, timeout=60,
                            capture_output=True, text=True)
    check(f"refused: {' '.join(words)}", result.returncode == 2 and
          "allowed" in result.stderr and result.stderr.count("\n") == 1, result.stderr)

shutil.rmtree(folder)
if failed:
    print(f"FAILED: {', '.join(failed)}")
sys.exit(1 if failed else 0)
