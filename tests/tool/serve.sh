#!/bin/bash
# SPDX-License-Identifier: MIT
# serve.sh BUILD_DIR -- `mallow serve`: each URL, read by mallow, gperftools' pprof and Go's; what
# is refused; the end while requests run; a process that has ended.
source "$(dirname "$0")/lib.bash"
needs python3 pgrep
library=$build/lib/libmallow.so

cat >busy.c <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void *hold(size_t bytes) {
	char *block = malloc(bytes);
	memset(block, 1, bytes);
	return block;
}
static volatile unsigned long sum;
__attribute__((noinline)) static void burn(void) {
	for (unsigned long i = 0; i < 300000; i++)
		sum += i * i;
}
int main(void) {
	static void *kept[200];
	for (int i = 0;; i++) {
		free(kept[i % 200]);
		kept[i % 200] = hold(100000);
		burn();
	}
}
END
cc -O1 -g busy.c -o busy
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$library ./busy &
busy=$!
started+=("$busy")
await 60 is_known "$busy"

# serve TARGET [OPTION...]: sets $url and $server
serve() {
    rm -f address
    "$mallow" serve "$@" >address 2>serve.err &
    server=$!
    started+=("$server")
    await 60 test -s address
    url=$(sed 's|/debug/pprof/$||' address)
}
# get STATUS PATH [HEADER [METHOD [BODY]]]: the answer in `out`
cat >get.py <<'END'
import sys, urllib.request, urllib.error
status, url, header, method, body = sys.argv[1:6]
request = urllib.request.Request(url, method=method, data=body.encode() if body else None)
if header:
    request.add_header(*header.split(": "))
try:
    answer = urllib.request.urlopen(request, timeout=60)
except urllib.error.HTTPError as error:
    answer = error
open("out", "wb").write(answer.read())
sys.exit(0 if str(answer.status) == status else f"{url}: {answer.status}, not {status}")
END
get() {
    python3 get.py "$1" "$url$2" "${3-}" "${4-GET}" "${5-}" 2>err || fail "$(cat err out)"
}

get_quietly() {
    python3 get.py 200 "$url$1" '' GET '' 2>/dev/null
}

serve "$busy"
[[ $url == http://127.0.0.1:* ]] || fail "the address: $url"
get 200 /
says out '/debug/pprof/profile'
get 200 /pprof/heap
says out '^heap profile: .* @ heapprofile$'
says out '^MAPPED_LIBRARIES:$'
get 200 /pprof/growth
says out '^heap profile: .* @ growth$'
get 200 /pprof/cmdline
says out '^\./busy$'
get 200 /pprof/symbol
says out '^num_symbols: 1$'
address=$(sed -n '/r-xp.*busy$/{s/-.*//p;q}' "/proc/$busy/maps")
offset=$(nm busy | sed -n 's/ t burn$//p')
place=$(printf '0x%x' $((0x$address - 0x1000 + 0x$offset + 4)))
get 200 /pprof/symbol '' POST "$place+0x10"
says out "^$place.burn$"
# 200 blocks of 100,000 bytes: 38 samples on average.  None is there once in e^38 times.
holds_all() { [ "$("$mallow" status --json "$busy" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["live_bytes"])')" -gt 4000000 ]; }
await 60 holds_all
get 200 /debug/pprof/heap
for path in /debug/pprof/heap /pprof/heap /pprof/growth; do
    try 0 "$mallow" top "$url$path"
    says out ' hold$'
done
# What is in use changes by chance alone, up or down or not at all; what was allocated grows by a
# thousand blocks in a second.
try 0 "$mallow" top --sample-type alloc_space "$url/debug/pprof/heap?seconds=1"
says out ' hold$'
for path in /debug/pprof/profile /pprof/profile; do
    try 0 "$mallow" top --seconds 1 "$url$path"
    says out ' burn$'
done
if command -v google-pprof >/dev/null; then
    try 0 google-pprof --text "$url/pprof/heap"
    says out ' hold$'
    try 0 google-pprof --text --seconds=1 "$url/pprof/profile"
    says out ' burn$'
    try 0 google-pprof --text "$url/pprof/growth"
    says out ' hold$'
fi
if command -v go >/dev/null; then
    try 0 go tool pprof -top "$url/debug/pprof/profile?seconds=1"
    says out ' main.burn| burn$'
    try 0 go tool pprof -top "$url/debug/pprof/heap"
    says out ' hold$'
fi
ok "each URL, each reader"

get 404 /debug/pprof/goroutine
get 400 '/pprof/profile?seconds=0'
get 400 '/debug/pprof/profile?seconds=1x'
get 400 '/debug/pprof/heap?seconds=4000'
get 403 / 'Host: example.com'
get 405 / '' PUT
python3 - "$url" <<'END' || fail "a long body"
import sys, urllib.request, urllib.error
try:
    urllib.request.urlopen(sys.argv[1] + "/pprof/symbol", data=b"1" * 1100000)
    sys.exit("no error")
except (urllib.error.HTTPError, ConnectionError) as error:
    sys.exit(0 if getattr(error, "code", 413) == 413 else str(error))
END
# Requests at the same time, and half requests.
python3 - "$url" <<'END' || fail "many requests"
import socket, sys, threading, urllib.request
url = sys.argv[1]
host, port = url[7:].split(":")
halves = []
for i in range(20):
    half = socket.create_connection((host, int(port)))
    half.sendall(b"GET /pprof/heap HTTP/1.1\r\nHo")
    halves.append(half)
bad = []
def ask():
    for i in range(3):
        text = urllib.request.urlopen(url + "/pprof/heap", timeout=60).read()
        if not text.startswith(b"heap profile:"):
            bad.append(text)
threads = [threading.Thread(target=ask) for i in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
sys.exit(1 if bad else 0)
END
ok "what is refused"

# ---- clients that hold the server ----

is_sampled() {
    grep -q ', 100 Hz' <<<"$("$mallow" status "$busy")"
}
is_not_sampled() { ! is_sampled; }
has_children() { [ "$(pgrep -c -P "$server")" = "$1" ]; }
# hold COUNT PATH: sends as many requests, and keeps their connections until its end.  ./held has
# the answers, a line each.
cat >hold.py <<'END'
import selectors, socket, sys
host, port = sys.argv[1][7:].split(":")
request = f"GET {sys.argv[3]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
clients = selectors.DefaultSelector()
for i in range(int(sys.argv[2])):
    one = socket.create_connection((host, int(port)))
    one.sendall(request)
    clients.register(one, selectors.EVENT_READ)
while True:
    for key, _ in clients.select():
        answer = key.fileobj.recv(4096)
        clients.unregister(key.fileobj)
        with open("held", "a") as held:
            held.write(answer.decode().replace("\r\n", " ").replace("\n", " ") + "\n")
END
hold() {
    : >held
    python3 hold.py "$url" "$@" &
    holder=$!
    started+=("$holder")
}
let_go() {
    kill -9 "$holder"
    wait "$holder" 2>/dev/null
}

# A client that goes away while its profile is made: with it goes the work.
hold 1 '/debug/pprof/profile?seconds=600'
await 60 is_sampled
let_go
await 60 is_not_sampled
await 60 has_children 0
ok "work ends with its client"

# Many that ask for hours: some are served, the others are told, and there is room for the quick.
has_lines() { [ "$(grep -c . held)" = "$1" ]; }
hold 40 '/debug/pprof/heap?seconds=3600'
await 60 has_lines 24
[ "$(grep -c '^HTTP/1.1 503 .*Retry-After: 5 .*busy: 16 .*try again' held)" = 24 ] ||
    fail "no clear answer: $(head -3 held)"
get 200 /pprof/heap
let_go
# Their places are free again.
await 60 get_quietly '/debug/pprof/heap?seconds=1'
hold 300 '/debug/pprof/heap?seconds=3600'
get 200 /pprof/heap
get 200 /debug/pprof/heap
let_go
# Requests that are not complete, more than there are connections.
python3 - "$url" <<'END' || fail "many half requests"
import socket, sys, urllib.request
host, port = sys.argv[1][7:].split(":")
halves = []
for i in range(600):
    half = socket.create_connection((host, int(port)))
    half.sendall(b"GET /pprof/heap HTTP/1.1\r\nHo")
    halves.append(half)
text = urllib.request.urlopen(sys.argv[1] + "/pprof/heap", timeout=60).read()
sys.exit(0 if text.startswith(b"heap profile:") else str(text[:100]))
END
ok "many requests that last"

# The end, while a request waits for samples.
python3 get.py 200 "$url/debug/pprof/profile?seconds=600" '' GET '' 2>/dev/null &
waiting=$!
python3 get.py 200 "$url/debug/pprof/heap?seconds=600" '' GET '' 2>/dev/null &
other=$!
await 60 is_sampled
kill -TERM "$server"
wait "$server" || fail "the server's status"
wait "$waiting" || true
wait "$other" || true
await 60 is_not_sampled # the command that sampled ends just behind the server
ok "the end"

kill -9 "$busy"
serve "$busy"
get 200 /pprof/heap
says out '^heap profile:'
get 500 '/debug/pprof/profile?seconds=1'
says out 'no live process'
kill -TERM "$server"
try 2 timeout 60 "$mallow" serve --listen nowhere "$busy"
one_line_error
says err 'allowed: HOST:PORT'
try 2 timeout 60 "$mallow" serve --listen 127.0.0.1:99999 "$busy"
one_line_error
ok "a process that has ended, addresses"
