#!/bin/bash
# SPDX-License-Identifier: MIT
# nghttp2.sh BUILD_DIR -- nghttpd and h2load, both linked with jemalloc: 20000 requests over HTTP/2.
. "$(dirname "$0")/lib.sh"
need nghttpd h2load jeprof python3

mkdir "$work/files"
head -c 3000 /dev/zero >"$work/files/file"

session() {
    local port
    port=$(free_port)
    serve 22 nghttpd --no-tls -n 2 -d "$work/files" "$port"
    wait_for 20 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || fail "$side: it does not answer"
    runs_on_it "$started"
    LD_LIBRARY_PATH=$library h2load -n 20000 -c 8 -m 16 "http://127.0.0.1:$port/file" |
        grep -E '^(requests|status codes|traffic)' |
        sed 's/^traffic:.*, .*(\([0-9]*\)) data$/\1 bytes of data/' \
            # headers vary with the time they tell
    kill -0 "$started" || fail "$side: the server has gone"
    ends "$started"
    clean_log abort
}
each_library session
grep -q '20000 succeeded' "$work/ours.out" || fail "$(cat "$work/ours.out")"
readable_dumps "$(command -v nghttpd)" 2
