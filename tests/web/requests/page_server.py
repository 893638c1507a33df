# SPDX-License-Identifier: MIT
"""page_server.py -- what the tests of `mallow web` by requests share: profiles to show, servers,
requests.  The importing script's argument is BUILD_DIR."""
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

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


def end():
    """Removes the profiles, and ends the script: with 1 if a check failed."""
    shutil.rmtree(folder)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    sys.exit(1 if failed else 0)
