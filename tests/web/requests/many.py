#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""many.py BUILD_DIR -- `mallow web` by broken and slow requests, and many at once."""
import http.client
import os
import random
import socket
import threading

from page_server import (check, cookie, crowd, end, is_cut_off, mallow, secrets, start, status_of,
                         stop)

server, port, base = start("a.pb.gz", "dumps")
token, place = secrets[port], base.strip("/")

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

end()
