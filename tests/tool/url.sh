#!/bin/bash
# SPDX-License-Identifier: MIT
# url.sh BUILD_DIR -- profiles of servers on this machine: one of canned answers, and one of Go's
# net/http/pprof.
source "$(dirname "$0")/lib.bash"
needs python3 openssl

# A program that has gone: its profile knows addresses only, and the server knows their names.
cat >gone.c <<'EOF_C'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void parse_request(void) { kept = malloc(1000); }
int main(void) {
	for (int i = 0; i < 1000; i++)
		parse_request();
	return 0;
}
EOF_C
gcc -O0 -no-pie gone.c -o gone || fail "gcc failed"
try 0 "$mallow" run --exact -o gone.heap ./gone
try 0 "$mallow" run --exact -o gone.pb.gz ./gone
nm gone >names
rm gone
cat >server.py <<'EOF_PY'
import bisect, http.server, os, re, ssl, struct, sys, threading, time
names = sorted((int(a, 16), n) for a, t, n in
               (l.split() for l in open("names") if len(l.split()) == 3) if t in "Tt")
parse_request = next(a for a, n in names if n == "parse_request")
maps = "00400000-00500000 r-xp 00000000 00:00 1 /gone\n"
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        with open("requests", "a") as log:
            log.write("GET %s\n" % self.path)
        path = self.path.split("?")[0]
        if self.path.endswith("?late"):
            time.sleep(1.2)
        if path == "/pprof/heap":
            self.answer(open("gone.heap", "rb").read())
        elif path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/pprof/heap")
            self.end_headers()
        elif path == "/away":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif path == "/pprof/growth":
            lines = open("gone.heap").read().splitlines()
            mapped = lines[lines.index("MAPPED_LIBRARIES:"):]
            self.answer("\n".join(["heap profile:      1:  1048576 [     1:  1048576] @ growthz/1",
                                   "     1:  1048576 [     1:  1048576] @ 0x%x" %
                                       (parse_request + 8)] +
                                  mapped).encode())
        elif path == "/pprof/profile":
            # The header, a stack seen 7 times, the end; words of this machine.
            words = [0, 3, 0, 10000, 0, 7, 1, parse_request + 8, 0, 1, 0]
            self.answer(struct.pack("%dQ" % len(words), *words) + maps.encode())
        elif path == "/proto":
            self.answer(open("gone.pb.gz", "rb").read())
        elif path == "/slow":
            time.sleep(20)
        elif path == "/nonsense":
            self.answer(b"<html>nothing</html>")
        else:
            self.answer(b"not here", 404)
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open("requests", "a") as log:
            log.write("POST %s\n" % self.path)
        lines = ["num_symbols: 1"]
        for word in asked.split("+"):
            assert re.fullmatch("0x[0-9a-f]+", word), word
            at = bisect.bisect_right(names, (int(word, 16), "~")) - 1
            if at >= 0 and int(word, 16) < 0x500000:
                lines.append("%s %s" % (word, names[at][1]))
        self.answer("\n".join(lines).encode() if self.path == "/pprof/symbol" else b"", 200)
    def log_message(self, *args):
        pass
def serve(port_file, context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        # The handshake in the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    open(port_file + ".new", "w").write(str(server.server_port))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()
for name, wanted in ("tlsport", ssl.CERT_NONE), ("strictport", ssl.CERT_REQUIRED):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.pem")
    context.load_verify_locations("server.pem")
    context.verify_mode = wanted
    threading.Thread(target=serve, args=(name, context), daemon=True).start()
serve("port")
EOF_PY
# Its own authority; good for 127.0.0.1 and nothing else.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext \
    subjectAltName=IP:127.0.0.1 \
    -keyout key.pem -out certificate.pem >out 2>&1 || fail "openssl: $(cat out)"
cat key.pem certificate.pem >server.pem
unset SSL_CERT_FILE SSL_CERT_DIR http_proxy HTTP_PROXY all_proxy ALL_PROXY
python3 server.py 2>server.log &
started+=("$!")
# wait_for FILE
wait_for() {
    await 60 test -s "$1"
}
wait_for port
wait_for tlsport
wait_for strictport
server=http://127.0.0.1:$(cat port)

try 0 "$mallow" top "$server/pprof/heap"
says out 'parse_request'
grep -qx 'POST /pprof/symbol' requests || fail "the server was not asked for names"
"$mallow" top "${server#http://}/moved" >out 2>err || fail "a redirection, without a scheme"
: >requests
try 0 "$mallow" top --symbolize=local "$server/pprof/heap"
says_not out parse_request
try 0 "$mallow" top --symbolize=none "$server/pprof/heap"
says_not out 'parse_request|__libc'
grep -q POST requests && fail "the server was asked for names"
try 0 "$mallow" top --symbolize=remote "$server/pprof/heap"
says out parse_request
says_not out __libc
: >requests
try 0 "$mallow" top --seconds 3 "$server"
[ "$(head -2 requests |
    tr '\n' ' ')" = "GET /debug/pprof/heap?seconds=3 GET /pprof/heap?seconds=3 " ] ||
    fail "asked for: $(cat requests)"
try 0 "$mallow" diff "$server/pprof/heap" "$server/pprof/heap"
says_not out parse_request
try 0 "$mallow" dump -o fetched.pb.gz "$server/pprof/heap"
try 0 "$mallow" report fetched.pb.gz
says out 'parse_request'
try 0 "$mallow" report "$server/proto"
says out 'parse_request'
try 0 "$build/lib/mallow/compat/bin/jeprof" --text "${server#http://}/pprof/heap"
says out parse_request
try 0 "$mallow" top "$server/pprof/growth"
says out '1\.00 MiB.* parse_request'
: >requests
try 0 "$build/lib/mallow/compat/bin/pprof" -top -seconds=2 "$server/pprof/profile"
says out '70ms.* parse_request'
grep -qx 'GET /pprof/profile?seconds=2' requests || fail "asked for: $(cat requests)"
ok "canned answers"

secure=https://127.0.0.1:$(cat tlsport)
strict=https://127.0.0.1:$(cat strictport)
try 2 "$mallow" top "$secure/pprof/heap"
one_line_error
says err "the server's certificate is not trusted; name its signer with --tls-ca FILE"
SSL_CERT_FILE=$work/certificate.pem try 0 "$mallow" top "$secure/pprof/heap"
says out 'parse_request'
try 0 "$mallow" top --tls-ca certificate.pem "$secure/pprof/heap"
says out 'parse_request'
try 0 "$build/lib/mallow/compat/bin/pprof" -top -tls_ca=certificate.pem "$secure/pprof/heap"
says out 'parse_request'
try 2 "$mallow" top --tls-ca certificate.pem "https://localhost:$(cat tlsport)/pprof/heap"
one_line_error
: >requests
try 0 "$mallow" top "https+insecure${secure#https}/pprof/heap"
says out 'parse_request'
grep -qx 'POST /pprof/symbol' requests || fail "the server was not asked for names"
try 2 "$mallow" top --tls-ca "$work/none" "$secure/pprof/heap"
one_line_error
says err 'cannot read the trusted certificates of .*/none'
try 2 "$mallow" top --tls-ca certificate.pem "$strict/pprof/heap"
one_line_error
try 0 "$mallow" top --tls-ca certificate.pem --tls-cert server.pem "$strict/pprof/heap"
says out 'parse_request'
try 0 "$mallow" top --tls-ca certificate.pem --tls-cert certificate.pem --tls-key key.pem \
    "$strict/pprof/heap"
says out 'parse_request'
try 2 "$mallow" top --tls-ca certificate.pem --tls-cert "$work/none" "$strict/pprof/heap"
one_line_error
ok "https"

try 2 "$mallow" report "$server/nothing"
one_line_error
says err "$server/nothing: the server answered with status 404"
try 2 "$mallow" report "$server/nonsense"
one_line_error
says err "$server/nonsense: "
try 2 "$mallow" report "$server/away"
one_line_error
try 2 "$mallow" report --timeout 0.5 "$server/slow"
one_line_error
says err 'no answer in time .*--timeout'
# The time is that of all requests: the second place does not get it anew.
try 2 "$mallow" report --timeout 2 "$server/debug/pprof/heap?late"
one_line_error
says err 'no answer in time .2 s.; --timeout'
try 2 "$mallow" report http://127.0.0.1:1/
one_line_error
try 2 "$mallow" status "$server/pprof/heap"
one_line_error
try 2 "$mallow" report --symbolize=local:nonsense "$server/pprof/heap"
one_line_error
ok "servers that fail"

needs go
mkdir go && cat >go/main.go <<'EOF_GO'
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

var kept [][]byte

//go:noinline
func keepBlocks() {
	for i := 0; i < 64; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func main() {
	runtime.MemProfileRate = 1
	keepBlocks()
	runtime.GC()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	os.WriteFile("goport.new", []byte(fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)), 0o600)
	os.Rename("goport.new", "goport")
	http.Serve(listener, nil)
}
EOF_GO
(cd go && GO111MODULE=off GOCACHE=$work/gocache GOFLAGS="" go build -o ../goserver main.go) >out \
    2>&1 || fail "go build failed"
./goserver &
started+=("$!")
wait_for goport
server=127.0.0.1:$(cat goport)
try 0 "$mallow" top "$server"
says out 'main\.keepBlocks'
flat=$(awk '/main.keepBlocks/ { print $1, $2 }' out)
[ "$flat" = "64 MiB" ] || [ "$flat" = "64.0 MiB" ] || fail "keepBlocks holds $flat"
try 0 "$mallow" top --sample_index=alloc_space "http://$server/debug/pprof/allocs"
says out 'main\.keepBlocks'
try 0 "$mallow" top --seconds 1 "http://$server/debug/pprof/profile"
says out 'Type: cpu'
ok "Go's net/http/pprof"
