#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""access.py BUILD_DIR -- a page of `mallow web` that may change processes, passwords and TLS, a
proxy, wrong command lines."""
import base64
import http.client
import os
import re
import socket
import ssl
import subprocess
import warnings

from page_server import (ask, check, cookie, crowd, end, folder, is_cut_off, mallow, secrets, start,
                         status_of, stop)

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

end()
