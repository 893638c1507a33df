#!/bin/bash
# SPDX-License-Identifier: MIT
# push.sh BUILD_DIR -- `mallow push` to receivers of Pyroscope's and OpenTelemetry's protocols:
# sums, retries, batches that were sent twice, hostile labels, secrets.  The receiver is
# push_receiver.py.  Where opentelemetry-proto, protoc and python3-protobuf are installed, its real
# .proto decodes the requests, too; MALLOW_OTLP_PROTO is its folder if it lies elsewhere.
source "$(dirname "$0")/lib.bash"
needs python3 openssl
receiver=$here/push_receiver.py
unset MALLOW_STORE SSL_CERT_FILE SSL_CERT_DIR http_proxy HTTP_PROXY all_proxy ALL_PROXY
unset https_proxy HTTPS_PROXY MALLOW_PUSH_TOKEN MALLOW_PUSH_PASSWORD
export XDG_STATE_HOME=$work/state
cc -g -O1 -o pushed "$here/pushed.c" || fail "cc"

# Its own authority; good for 127.0.0.1 and nothing else.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext \
    subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem >out 2>&1 || fail "openssl"
cat key.pem certificate.pem >server.pem
python3 "$receiver" port tlsport server.pem 2>receiver.log &
started+=("$!")
mkfifo orders answers.fifo
MALLOW_CONF=prof_state_min:0,prof_sample:1,prof_mappings:true \
    LD_PRELOAD=$build/lib/libmallow.so ./pushed <orders >answers.fifo &
pid=$!
started+=("$pid")
exec 3>orders 4<answers.fifo
# order BYTES: the program has done them when this returns.
order() {
    local answer
    printf %s "$1" >&3
    read -rN "${#1}" -t 60 -u 4 answer || fail "the program does not answer: '${answer:-}'"
}
order am
await 60 is_known "$pid"
try 0 "$mallow" start --cpu --wait 60 "$pid"
order c
await 60 test -s port
await 60 test -s tlsport
address=127.0.0.1:$(cat port)

# total TYPE: the sum that `mallow top` shows.
total() {
    local cpu=() unit=B type=$1
    case $type in
    cpu | samples) cpu=(--cpu) unit=ns ;;
    esac
    "$mallow" top "${cpu[@]}" --sample-type "$type" --unit "$unit" "$pid" |
        sed -nE 's/^Showing .* of ([0-9]+)[a-zA-Z]* total$/\1/p'
}
# counted TYPE: what the receiver has of it, each id once.
counted() {
    awk -v type="$1" '$2 == type && !seen[$1]++ { sum += $3; some = 1 }
        END { if (some) printf "%d\n", sum }' counted
}
# same TYPE NAME: the receiver's NAME is the TYPE of the process.
same() {
    local have want
    have=$(counted "$2") want=$(total "$1")
    [ "${have:-none}" = "$want" ] || fail "$2 is '$have', top says $1 is '$want'"
}
# requests EXPRESSION: evaluates it in Python; r is the list of requests.
coproc python {
    exec python3 -u -c "import json, sys
for line in sys.stdin:
    r = [json.loads(one) for one in open('requests')]
    print(eval(line))" 2>python.log 3>&- 4<&-
}
requests() {
    local answer
    printf "%s\n" "${1//$'\n'/ }" >&"${python[1]}"
    read -rt 60 -u "${python[0]}" answer || fail "python: $1: $(cat python.log)"
    printf '%s\n' "$answer"
}
# forget: the next requests begin with an empty store; the state of pushes stays.
forget() {
    rm -f requests counted
    printf '%s\n' "$@" >answers
}

forget
try 0 "$mallow" push "$pid" --to "pyroscope+http://$address" --label region=eu --service shop \
    --service-version 1.2 --host h1
says out "^pid $pid: pushed heap .*, mapped 1\.00 MiB, cpu .* to pyroscope"
for type in inuse_objects inuse_space alloc_objects alloc_space; do
    same "$type" "memory:$type"
done
same inuse_mapped mapped:inuse_space
same inuse_mappings mapped:inuse_objects
same alloc_mapped mapped:alloc_space
same alloc_mappings mapped:alloc_objects
same cpu process_cpu:cpu
same samples process_cpu:samples
labels=$(requests "sorted(r[0]['labels'].items())")
[[ $labels =~ "('__name__', 'memory'), ('build_id', '"[0-9a-f]{40}"'), ('host', 'h1')" &&
    $labels =~ "('instance', 'h1:$pid:"[0-9]+"'), ('region', 'eu'), ('service_name', 'shop')" &&
    $labels == *"('version', '1.2')]" ]] || fail "labels: $labels"
[ "$(requests "all('keep_blocks' in x['functions'] or 'map_memory' in x['functions'] or \
    'compute' in x['functions'] for x in r)")" = True ] || fail "a name is missing"
[ "$(requests "{p['period_type'] for x in r for p in x['profiles']} == \
    {'space:bytes', 'cpu:nanoseconds'}")" = True ] || fail "period types"
ok "Pyroscope: all sums, labels and names"

forget
try 0 "$mallow" push "$pid" --to "otlp+http://$address" --label region=eu --service shop
for type in inuse_objects inuse_space alloc_objects alloc_space inuse_mapped inuse_mappings \
    alloc_mapped alloc_mappings cpu samples; do
    same "$type" "$type"
done
[ "$(requests "[x['path'] for x in r] == ['/v1development/profiles'] * 3")" = True ] ||
    fail "the path is not OTLP's"
[ "$(requests "r[0]['labels']['service.name'], r[0]['labels']['region'], \
    len(r[0]['labels']['process.executable.build_id.gnu'])")" = "('shop', 'eu', 40)" ] ||
    fail "attributes: $(requests "r[0]['labels']")"
[ "$(requests "{p['period_type'] for x in r for p in x['profiles']} == \
    {'space:bytes', 'mapped:bytes', 'cpu:nanoseconds'}")" = True ] || fail "period types"
for body in body.*; do
    [ "$(head -c 1 "$body")" = '{' ] || otlp=$body
done
try 0 python3 "$receiver" --mutate "$otlp"
says out '^[0-9]+ fields; taken with a wrong number: \[\]$'
ok "OpenTelemetry: all sums; $(cut -d ';' -f 1 out) are wrong with another number"

proto=${MALLOW_OTLP_PROTO:-/usr/include}
service=opentelemetry/proto/collector/profiles/v1development/profiles_service.proto
if [ -e "$proto/$service" ] && command -v protoc >/dev/null &&
    mkdir -p generated && (cd "$proto" && protoc --python_out="$work/generated" \
    opentelemetry/proto/common/v1/*.proto opentelemetry/proto/resource/v1/*.proto \
    opentelemetry/proto/profiles/v1development/*.proto "$service") 2>err &&
    PYTHONPATH=generated:${PYTHONPATH:-} /usr/bin/python3 -c 'import google.protobuf' 2>err; then
    cat >real.py <<'EOF_PY'
import sys
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
data = open(sys.argv[1], "rb").read()
request = profiles_service_pb2.ExportProfilesServiceRequest()
request.ParseFromString(data)
def unknown(message):
    assert not len(message.UnknownFields()), message.DESCRIPTOR.name
    for field, value in message.ListFields():
        if field.message_type:
            for one in value if field.label == field.LABEL_REPEATED else [value]:
                unknown(one)
unknown(request)
assert request.SerializeToString(deterministic=True) == data or len(data) == request.ByteSize()
d = request.dictionary
for p in request.resource_profiles[0].scope_profiles[0].profiles:
    name = d.string_table[p.sample_type.type_strindex]
    print(name, sum(s.values[0] for s in p.samples))
EOF_PY
    : >real
    for body in body.*; do
        [ "$(head -c 1 "$body")" = '{' ] ||
            PYTHONPATH=generated:${PYTHONPATH:-} /usr/bin/python3 real.py "$body" >>real 2>err ||
            fail "the real .proto does not decode $body"
    done
    mapfile -t types < <(cut -d ' ' -f 1 real | sort -u)
    for type in "${types[@]}"; do
        want=$(awk -v type="$type" '$1 == type { sum += $2 } END { printf "%d", sum }' real)
        [ "$want" = "$(counted "$type")" ] || fail "the real .proto has another sum of $type"
    done
    ok "decoded by the real .proto"
else
    ok "NOT RUN: the real .proto (opentelemetry-proto of Debian sid, protoc, python3-protobuf)"
fi

# The program is idle between pushes: there is nothing new but what is in use.
for _ in 1 2 3; do
    order a
    try 0 "$mallow" push "$pid" --to "pyroscope+http://$address"
done
order amc
rm -f requests
try 0 "$mallow" push "$pid" --to "otlp+http://$address"
for type in alloc_space alloc_mappings cpu; do
    same "$type" "$type"
done
[ "$(requests "max(p['duration'] for x in r for p in x['profiles']) < 3600 * 10**9 and \
    not any(p['negative'] for x in r for p in x['profiles'])")" = True ] || fail "durations"
try 0 "$mallow" push "$pid" --to "otlp+http://$address" --cpu
says out 'pushed nothing new'
same cpu cpu
ok "counts of several pushes add up, by receiver"

# A store: counts of two pushes, what is in use once.
MALLOW_STORE=dir://$work/store try 0 "$mallow" push "$pid" --service shop
order a
try 0 "$mallow" push "$pid" --to "dir://$work/store" --service shop
# stored TYPE [KIND]: the sum in the store.
stored() {
    "$mallow" top --symbolize=none --sample-type "$1" --unit B \
        "dir://$work/store/shop?from=-1h${2:+&kind=$2}" |
        sed -nE 's/^Showing .* of ([0-9]+)[a-zA-Z]* total$/\1/p'
}
for type in alloc_objects alloc_space; do
    [ "$(stored "$type")" = "$(total "$type")" ] || fail "$type: $(stored "$type") is stored"
done
[ "$(stored alloc_mapped mapped)" = "$(total alloc_mapped)" ] || fail "alloc_mapped"
ok "a directory: sums"

to=otlp+http://$address/prefix
one=(--retry 20)
# A batch that the receiver had, whose answer was lost, and one that it never had.
for word in hold lose; do
    forget "$word"
    order a
    "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}" >first.out 2>first.err &
    first=$!
    await 60 test -s requests
    [ "$(requests "r[0]['path']")" = /prefix/v1development/profiles ] || fail "the prefix is lost"
    kill -9 "$first"
    wait "$first" 2>/dev/null
    order a
    try 0 "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}"
    [ "$(requests "r[0]['profiles'][0]['id'] == r[1]['profiles'][0]['id'] and \
        r[0]['profiles'] == r[1]['profiles']")" = True ] || fail "$word: another batch is repeated"
    [ "$word" = hold ] && have=$(counted alloc_space)
    [ "$word" = lose ] && have=$((have + $(counted alloc_space)))
done
[ "$have" = "$(total alloc_space)" ] || fail "killed pushes: $have, not $(total alloc_space)"
# Two at once.
order a
forget
"$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}" >first.out 2>first.err &
first=$!
try 0 "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}"
wait "$first" || fail "two at once: $(cat first.err)"
[ "$((have + $(counted alloc_space)))" = "$(total alloc_space)" ] || fail "two at once"
have=$(total alloc_space)
ok "killed with -9 in mid-push, two at once: counted once"

# again WORDS...: answers that are tried again, before a good one.
again() {
    order a
    forget "$@"
    try 0 "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}"
    [ "$(requests "len({p['id'] for p in r[0]['profiles']} & \
        {p['id'] for p in r[$#]['profiles']}) == 4")" = True ] || fail "$*: not the same batch"
    have=$((have + $(counted alloc_space)))
    [ "$have" = "$(total alloc_space)" ] || fail "$*: $have, not $(total alloc_space)"
}
again 503 500
again cut
again '429 1'
[ "$(requests "r[1]['time'] - r[0]['time'] >= 1")" = True ] || fail "Retry-After is not honoured"
# refused STATUS PATTERN: not tried again.
refused() {
    order a
    forget "$1"
    try 2 "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}"
    one_line_error
    says err "$2"
    [ "$(requests 'len(r)')" = 1 ] || fail "$1 is tried again"
}
refused 400 'answered with status 400: says the receiver: .\[31m400$'
refused 413 "status 413: .*; raise the receiver's limit"
refused 422 'status 422'
refused rejects 'rejected 2 profiles: no way'
refused '429 999' 'status 429'
refused 401 'see --token-file'
# Nothing is lost: the next push has the counts of all of them.
forget
try 0 "$mallow" push --no-symbols "$pid" --to "$to" "${one[@]}"
have=$((have + $(counted alloc_space)))
[ "$have" = "$(total alloc_space)" ] || fail "refused: $have, not $(total alloc_space)"
try 2 "$mallow" push --no-symbols "$pid" --to otlp+http://127.0.0.1:1 --retry 0
one_line_error
says err 'otlp|127\.0\.0\.1:1'
ok "429, 5xx and lost connections are tried again, others are not"

forget
# shellcheck disable=SC2016 # is not expanded
try 0 "$mallow" push --no-symbols "$pid" --to "$to" --label $'quote=\'";--' \
    --label $'line=a\nb\t\x1b' --label $'bytes=\xff\xfe' --label 'name=$(id)' \
    --service "'; DROP TABLE x; --"
[ "$(requests "'bad' in r[0]")" = False ] || fail "a hostile label: $(requests "r[0]['bad']")"
[ "$(requests "[r[0]['labels'][k] for k in ('quote', 'line', 'bytes', 'name')]")" = \
    "['\\'\";--', 'a\\nb\\t\\x1b', '??', '\$(id)']" ] || fail "$(requests "r[0]['labels']")"
order a
try 0 "$mallow" push --no-symbols "$pid" --to "pyroscope+http://$address" --label a.b/c=1 \
    --label $'line=a\nb\xff'
[ "$(requests "r[-1]['labels']['a_b_c'], r[-1]['labels']['line']")" = "('1', 'a\\nb?')" ] ||
    fail "$(requests "r[-1]['labels']")"
long=$(head -c 1100 /dev/zero | tr '\0' x)
for label in novalue '=x' '1a=x' 'a b=x' service=x build-id=x $'a\n=x' "a=$long"; do
    try 2 "$mallow" push --no-symbols "$pid" --to "$to" --label "$label"
    one_line_error
done
try 2 "$mallow" push --no-symbols "$pid" --to "pyroscope+http://$address" --label a.b=1 \
    --label a_b=2
one_line_error
says err 'rename one'
try 2 "$mallow" push --no-symbols "$pid" --to "$to" --label a=1 --label a=2
one_line_error
ok "hostile labels"

for url in http://x otlp+ftp://x pyroscope+http:// 'otlp+http://x?token=a' 'otlp+http://a b' \
    otlp+http://joe@x otlp nonsense://x; do
    try 2 "$mallow" push --no-symbols "$pid" --to "$url"
    one_line_error
done
try 2 "$mallow" push --no-symbols "$pid" --to otlp+https://joe:secret1@host
one_line_error
says err 'a URL has no password'
says_not err 'secret1|joe'
try 2 "$mallow" push "$pid"
one_line_error
says err '\-\-to URL is missing'
printf 'secret2\nmore\n' >token
chmod 644 token
try 2 "$mallow" push --no-symbols "$pid" --to "$to" --token-file token
one_line_error
says err 'other users can open this file'
chmod 600 token
order a
forget
try 0 "$mallow" push --no-symbols "$pid" --to "$to" --token-file token --tenant t1
[ "$(requests "r[0]['authorization'], r[0]['tenant']")" = "('Bearer secret2', 't1')" ] ||
    fail "$(requests 'r[0]')"
[ "$(counted alloc_space)" = "$(total alloc_space)" ] || fail "a tenant does not get all"
forget
MALLOW_PUSH_PASSWORD=open:sesame try 0 "$mallow" push --no-symbols "$pid" --to "$to" --user joe
[ "$(requests "r[0]['authorization']")" = "Basic $(printf joe:open:sesame | base64)" ] ||
    fail "$(requests 'r[0]')"
MALLOW_PUSH_TOKEN=$'a\x01b' try 2 "$mallow" push --no-symbols "$pid" --to "$to"
one_line_error
try 2 "$mallow" push --no-symbols "$pid" --to "$to" --user joe
one_line_error
# TLS: an unknown signer is no lost connection, and the token does not go to it.
forget
secure=127.0.0.1:$(cat tlsport)
try 2 "$mallow" push --no-symbols "$pid" --to "otlp+https://$secure" --token-file token
one_line_error
says err "certificate is not trusted; name its signer with --tls-ca"
[ ! -e requests ] || fail "a request went to an unknown server"
try 0 "$mallow" push --no-symbols "$pid" --to "otlp+https://$secure" --token-file token \
    --tls-ca certificate.pem
try 0 "$mallow" push --no-symbols "$pid" --to "pyroscope+https+insecure://$secure"
[ "$(requests "[(x['path'][:6], x['authorization']) for x in r[::len(r) - 1]]")" = \
    "[('/v1dev', 'Bearer secret2'), ('/push.', None)]" ] || fail "$(requests r)"
ok "secrets, URLs and TLS"

# A full disk: nothing is sent that could not be noted.
order a
chmod 500 state/mallow/push
if ! touch state/mallow/push/probe 2>/dev/null; then
    forget
    try 2 "$mallow" push --no-symbols "$pid" --to "$to"
    one_line_error
    [ ! -e requests ] || fail "something was sent"
fi
chmod 700 state/mallow/push
rm -f state/mallow/push/probe
# A file of profiles counts once, however often it is pushed; its process has ended.
try 0 "$mallow" dump -o file.pb.gz "$pid"
forget
try 0 "$mallow" push file.pb.gz --to "pyroscope+http://$address"
try 0 "$mallow" push file.pb.gz --to "pyroscope+http://$address"
same alloc_space memory:alloc_space
same inuse_space memory:inuse_space
# A hostile profile: a name of 1 MiB, names that are not UTF-8, quotes, values at the limits.
python3 - <<'EOF_PY' || fail "no profile"
import gzip
def varint(x):
    x &= (1 << 64) - 1
    out = b""
    while x > 127:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])
number = lambda field, x: varint(field << 3) + varint(x)
text = lambda field, b: varint(field << 3 | 2) + varint(len(b)) + b
strings = [b"", b"inuse_space", b"bytes", b"alloc_space", b"x" * (1 << 20),
           b"a\xff\x27\x22\x5c;--\n\x1b", b"inuse_objects", b"count", b"alloc_objects"]
data = b"".join(text(1, number(1, t) + number(2, u)) for t, u in ((8, 7), (3, 2), (6, 7), (1, 2)))
for location, values in (1, (1, 2**63 - 1, 1, 2**63 - 1)), (2, (1, 5, 1, 5)), (1, (0, 7, 0, 7)):
    data += text(2, text(1, varint(location)) + text(2, b"".join(map(varint, values))))
for i in 1, 2:
    data += text(4, number(1, i) + number(3, 4096 * i) + text(4, number(1, i)))
    data += text(5, number(1, i) + number(2, 3 + i) + number(4, 3 + i))
data += b"".join(text(6, s) for s in strings) + number(9, 17 * 10**17)
open("hostile.pb.gz", "wb").write(gzip.compress(data))
EOF_PY
for scheme in pyroscope otlp; do
    forget
    try 0 "$mallow" push hostile.pb.gz --to "$scheme+http://$address" --service hostile
    # shellcheck disable=SC2016 # Python
    [ "$(requests '[len(r), "bad" in r[0], sum("x" * 2**20 == f for f in r[0]["functions"]),
        "a?\x27\x22\x5c;--\n\x1b" in r[0]["functions"],
        max(p["sum"] for p in r[0]["profiles"]) >= 2**63 - 1]')" = \
        "[1, False, 1, True, True]" ] || fail "$scheme: $(requests "[x.get('bad') for x in r]")"
done
try 2 "$mallow" push hostile.pb.gz --to "otlp+http://$address" --cpu --service x
one_line_error
exec 3>&-
wait "$pid"
ok "files, and a hostile one"
