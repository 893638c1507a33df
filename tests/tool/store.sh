#!/bin/bash
# SPDX-License-Identifier: MIT
# store.sh BUILD_DIR -- questions to a store: services, search, times, labels, averages, views of a
# service, mistakes in the text.  Two hosts and two versions of a service, over a day.
source "$(dirname "$0")/lib.bash"
needs python3
export XDG_STATE_HOME=$work/state MALLOW_STORE=dir://$work/store
# made_push SECONDS_AGO SERVICE HOST VERSION STACK=BYTES...
now=$(date +%s)
made_push() {
    python3 "$here/../support/made_proto.py" made.pb.gz $((now - $1)) "${@:5}" || fail "made_proto"
    try 0 "$mallow" push --quiet --service "$2" --host "$3" --instance "$3:$2" \
        --service-version "$4" --label "region=eu 'x'" made.pb.gz
}
hostile=$'a/b?c&d%e"\e[31m\u202e;DROP TABLE profiles'
made_push 86000 web host1 1.1 'main;parse=1000' 'main;serve=500'
made_push 86000 web host2 1.1 'main;parse=3000'
made_push 43000 web host1 1.1 'main;parse=2000' 'main;serve=500'
made_push 60 web host1 1.1 'main;parse=5000' 'main;serve=500'
made_push 60 web host2 1.2 'main;parse=1000' 'main;cache=7000'
made_push 60 "$hostile" host1 1 'main;cache=64'

# value FILTER WORDS...: the command's JSON through a filter in Python, j is the value.
value() {
    "$mallow" "${@:2}" >value.json || fail "${*:2}: status $?"
    python3 -c "import json; j = json.load(open('value.json')); print($1)"
}
same() {
    [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}
same services "$(value '[(s["live_bytes"], s["hosts"], s["processes"], s["versions"]) for s in j]' \
    services --json)" "[(13500, 2, 2, 2), (64, 1, 1, 1)]"
same "the first service" "$(value 'j[0]["name"]' services --json)" web
same "live bytes" "$(value '[s["live_bytes"] for s in j]' services --json)" "[13500, 64]"
same growth "$(value 'round(j[0]["growth_bytes_a_day"] / 100)' services --json)" 90
same "a day ago" "$(value '[s["live_bytes"] for s in j]' services --json \
    'store:?at=-86000')" "[4500]"
same versions "$(value 'sorted((s["name"], s["live_bytes"]) for s in j)' services --json \
    'store:?service=web&by=version')" "[('1.1', 5500), ('1.2', 8000)]"
same labels "$(value '[(s["name"], s["live_bytes"]) for s in j if s["live_bytes"] > 64]' \
    services --json 'store:?by=region')" '[("eu '"'x'"'", 13564)]'
found='(j["functions"], [(s["service"], s["inuse_space"]) for s in j["services"]][0])'
same search "$(value "$found" search --json '^cac')" "(['cache'], ('web', 7000))"

# total TARGET [OPTION...]: bytes in use.
total() {
    "$mallow" top --unit B "$@" | sed -nE 's/^Showing .* of ([0-9]+)B total$/\1/p'
}
same sum "$(total store:web)" 13500
same host "$(total 'store:web?host=host1')" 5500
same label "$(total "store:web?region=eu%20'x'")" 13500
same "another label" "$("$mallow" top 'store:web?region=us' 2>&1)" \
    "mallow: dir://$work/store: no heap profile of web with these labels; 'mallow services' lists \
what there is"
same "of a process" "$(total 'store:web?per=process')" 6750
# Five profiles: host1 has three, host2 two.  Means are over profiles, not over rows of a stack.
same mean "$(total 'store:web?from=-1d')" 4100
same "mean of a stack" "$("$mallow" top --unit B 'store:web?from=-1d' |
    awk '$NF == "cache" { print $1 }')" 1400B
same "special characters" "$(total "store:$(python3 -c 'import sys, urllib.parse
print(urllib.parse.quote(sys.argv[1], safe=""))' "$hostile")")" 64
"$mallow" services >table || fail "services: $?"
! grep -q $'\e\|\u202e' table || fail "services prints what a service's name says to the terminal"
"$mallow" diff --unit B 'store:web?version=1.1&per=process' 'store:web?version=1.2&per=process' \
    >difference || fail "diff: $?"
grep -q '7000.* cache$' difference || fail "diff: $(cat difference)"
try 1 "$mallow" check --max-live 10K store:web
try 0 "$mallow" check --max-live 14K store:web
same timeline "$(value '[m["value"] for m in j["moments"]]' timeline --json store:web)" \
    "[4500, 2500, 13500]"

# mistake TEXT WORDS...: status 2, and one line with TEXT.
mistake() {
    try 2 "$mallow" "${@:2}"
    { [ "$(wc -l <"$work/err")" = 1 ] && has_line "$work/err" "^mallow: .*$1"; } ||
        fail "${*:2}: $(cat "$work/err")"
    ! has_line "$work/err" hidden || fail "${*:2}: a secret is shown: $(cat "$work/err")"
}
mistake "the last is of" top 'store:web?at=-6h'
mistake "profile of nothing" top 'store:nothing'
mistake "at=soon: no time" top 'store:web?at=soon'
mistake "allowed: heap, mapped, cpu, wall" top 'store:web?kind=heaps'
mistake "cannot be combined" top 'store:web?at=-1h&from=-2h'
mistake "not before" top 'store:web?from=-1h&to=-2h'
mistake "KEY=VALUE" top 'store:web?version'
mistake "allowed: service" top 'store:web?per=host'
mistake "at=2026-02-31: no time" top 'store:web?at=2026-02-31'
mistake "2026-02-31: there is no such day" store drop 2026-02-31
mistake "by=: allowed" services 'store:?by='
mistake "made.pb.gz: .* name it with --service" push made.pb.gz
for url in clickhouse://me:hidden@127.0.0.1:1/db http://me:hidden@127.0.0.1/db; do
    mistake "URL" services "$url"
    mistake "URL" store init "$url"
    mistake "URL" push made.pb.gz --to "$url"
    mistake "URL" agent --check --to "$url"
    MALLOW_STORE=$url mistake "" store hours
    MALLOW_STORE=$url mistake "" top store:web
done
python3 -c 'import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(60)' >port &
started+=("$!")
await 60 test -s port
mistake "127.0.0.1:$(cat port): no answer in time" push --service web --timeout 0.1 --retry 0 \
    --to "clickhouse://127.0.0.1:$(cat port)/db" made.pb.gz
mistake "URL" top clickhouse://me:hidden@127.0.0.1:1/db
mistake "no store there" services "dir://$work/none"
mistake "no store; allowed" services here
mistake "no function's name matches" search nothing
mistake "no cpu profile of web" top --cpu store:web
(unset MALLOW_STORE; mistake "set MALLOW_STORE" top store:web)

# A program whose code lies at other offsets than addresses (lld): names of a profile that came
# without, from its file, then from the store when the file is gone, and from a new index.
cat >holder.c <<'END'
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[64];
static inline __attribute__((always_inline)) void *inlined(void) { return malloc(100000); }
__attribute__((noinline)) void hold_here(int i) { kept[i] = inlined(); }
int main(void) {
	for (int i = 0; i < 64; i++)
		hold_here(i);
	pause();
}
END
# held BYTES PID: so many are in use.
held() {
    "$mallow" status --json "$2" | python3 -c "import json, sys
sys.exit(json.load(sys.stdin)['live_bytes'] < $1)" 2>/dev/null
}
linker=()
if command -v ld.lld >/dev/null; then linker=(-fuse-ld=lld); fi
cc -g -O1 -fno-builtin -fno-optimize-sibling-calls "${linker[@]}" -Wl,--build-id=sha1 -o holder \
    holder.c || fail "cc"
MALLOW_CONF=prof_state_min:0,prof_sample:1 LD_PRELOAD=$build/lib/libmallow.so ./holder &
started+=("$!")
await 60 is_known "$!"
await 60 held 6400000 "$!"
try 0 "$mallow" push --quiet --no-symbols "$!"
named() {
    "$mallow" top --lines --unit B store:holder >named 2>err || fail "$1: $?"
    has_line named '^ *[0-9]+B +100% .* inlined .*holder.c:4' || fail "$1: $(cat named)"
    has_line named ' hold_here .*holder.c:5' || fail "$1: $(cat named)"
}
named "names of the file"
try 0 "$mallow" symbols push holder
has_line out '^holder: build-id [0-9a-f]{40}, [0-9]+ ranges$' || fail "symbols push: $(cat out)"
try 0 "$mallow" symbols push holder
has_line out 'is known$' || fail "a build that is known: $(cat out)"
mv holder gone
named "names of the store"
rm store/index.sqlite
named "names of a new index"
try 2 "$mallow" symbols push holder.c
has_line err '^mallow: .*holder.c: .*not a valid ELF' || fail "no program: $(cat err)"
