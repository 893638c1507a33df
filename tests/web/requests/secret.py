#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""secret.py BUILD_DIR -- who sees the page of `mallow web`: the secret in the address and the
cookie, the file that opens the browser, other sites, another user."""
import html
import os
import pathlib
import re
import stat
import subprocess

from page_server import (ask, await_that, check, cookie, end, folder, mallow, secrets, start,
                         states_of_children, status_of, stop)

server, port, base = start("a.pb.gz", "dumps")
token, place = secrets[port], base.strip("/")

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

check("its end", stop(server) == 0)

end()
