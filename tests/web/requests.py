#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""requests.py BUILD_DIR -- `mallow web` by requests that a page never sends: without the token, for
files that are not shown, with options in values, from other sites, broken, slow, and many."""
import base64
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
import subprocess
import sys
import tempfile
import threading
import warnings

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
for i in range(60):
    ask(port, base + f"api/view/top?p=a.pb.gz&top={i + 1}")
check("no more than 32 answers are kept",
      len(os.listdir(f"/proc/{server.pid}/fd")) < 60, os.listdir(f"/proc/{server.pid}/fd"))

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
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def basic(text):
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


for key in ([], ["--tls-key", "key.pem"]):
    server, url = serve_at("--listen", "0.0.0.0:0", "--password-file", "password", "--tls-cert",
                           "cert.pem" if key else "web.pem", "--control", *key)
    found = re.fullmatch(r"https://[^/:]+:(\d+)/([0-9a-f]{32})/", url)
    check("its address", found, url)
    port, base = int(found[1]), f"/{found[2]}/"
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
    for headers in (right, basic("me:wrong"), {}):
        check("no page without the token", ask_tls(port, "/", headers)[0] == 404)
    order = base + "api/order/reset?p=a.pb.gz"
    check("an order of the page", ask_tls(
        port, order, {**right, "Origin": f"https://localhost:{port}"}, "POST")[0] == 500)
    check("no order of another", ask_tls(
        port, order, {**right, "Origin": f"http://localhost:{port}"}, "POST")[0] == 403)
    try:
        plain = status_of(port, base)
    except (OSError, http.client.HTTPException):
        plain = None
    check("nothing without TLS", plain is None, plain)
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
found = re.fullmatch(r"https://proxy\.example/heap/([0-9a-f]{32})/", url)
check("the proxy's address", found, url)
listing = next(line for line in open("/proc/net/tcp").readlines()[1:]
               if any(f"socket:[{line.split()[9]}]" == os.readlink(f"/proc/{server.pid}/fd/{fd}")
                      for fd in os.listdir(f"/proc/{server.pid}/fd")))
port, base = int(listing.split()[1].split(":")[1], 16), f"/{found[1]}/"
by_proxy = {"Host": "proxy.example"}
check("the page by the proxy", status_of(port, base, headers=by_proxy) == 200)
check("the page by loopback", status_of(port, base) == 200)
check("no other name", status_of(port, base, headers={"Host": "proxy.example.evil"}) == 403)
order = base + "api/order/reset?p=a.pb.gz"
for host in (by_proxy, {}):
    check("an order of the proxy's page", status_of(
        port, order, method="POST", headers={**host, "Origin": "https://proxy.example"}) == 500)
check("no order of another", status_of(
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
for words in (["nothing.pb.gz"], ["--listen", "0.0.0.0:0"], ["--listen", "here"]):
    result = subprocess.run([mallow, "web", "--no-browser", *words], cwd=folder, timeout=60,
                            capture_output=True, text=True)
    check(f"refused: {' '.join(words)}", result.returncode == 2 and
          "allowed" in result.stderr and result.stderr.count("\n") == 1, result.stderr)

shutil.rmtree(folder)
if failed:
    print(f"FAILED: {', '.join(failed)}")
sys.exit(1 if failed else 0)
