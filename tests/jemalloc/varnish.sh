#!/bin/bash
# SPDX-License-Identifier: MIT
# varnish.sh BUILD_DIR -- varnishd, linked with jemalloc, serves 900 objects from its cache, twice.
. "$(dirname "$0")/lib.sh"
need varnishd curl jeprof python3 cc

mkdir "$work/files"
for i in {1..900}; do
    head -c $((i * 50)) /dev/zero | tr '\0' "$((i % 10))" >"$work/files/$i"
done
origin=$(free_port)
python3 -m http.server --bind 127.0.0.1 --directory "$work/files" "$origin" >"$work/origin" 2>&1 &
later_kill "$!"
wait_for 20 curl -fs "http://127.0.0.1:$origin/1" || fail "no origin"

session() {
    local port
    port=$(free_port)
    serve 22 varnishd -F -n "$here/varnish" -j none -a "127.0.0.1:$port" -b "127.0.0.1:$origin" -s \
        malloc,64m
    wait_for 60 curl -fs "http://127.0.0.1:$port/1" || fail "$side: it does not answer"
    runs_on_it "$started"
    for _ in 1 2; do
        curl -fs "http://127.0.0.1:$port/[1-900]" | cksum
    done
    ends "$started"
    clean_log 'panic|child .* died'
}
each_library session
readable_dumps "$(command -v varnishd)" 3
