#!/bin/bash
# SPDX-License-Identifier: MIT
# programs.sh BUILD_DIR SOURCE_DIR -- Debian's programs that are linked with libtcmalloc: each
# prints with mallow's library what it prints with its own, and leaves a profile.  Ends with 77 if
# one of them is not installed.
. "$(dirname "$0")/lib.sh"
missing=

# use_gperftools PROFILE: $as_gperftools runs a command under mallow, with a sample in 16 KiB. These
# are words, not a function: in the background $! is then the command's own pid.
use_gperftools() {
    as_gperftools=("$build/bin/mallow" run --as gperftools --rate 16K --output "$work/$1.pb" --)
}

# has_profile NAME: some memory was allocated by the program's own functions or libraries
has_profile() {
    "$build/bin/mallow" top --sample-index alloc_space "$work/$1.pb" >"$work/top" 2>&1 ||
        fail "$1: $(cat "$work/top")"
    grep -Eq ' of [1-9][0-9.]* [KMG]iB total' "$work/top" ||
        fail "$1: an empty profile: $(cat "$work/top")"
}

# same NAME FILTER COMMAND...: equal output, but for the lines that the sed expression deletes
same() {
    local name=$1 filter=$2
    shift 2
    "$@" 2>"$work/log" </dev/null | sed -E "$filter" >"$work/$name.own" ||
        fail "$name fails with its own library: $(tail -n 3 "$work/log")"
    use_gperftools "$name"
    "${as_gperftools[@]}" "$@" 2>"$work/log" </dev/null | sed -E "$filter" >"$work/$name.mallow" ||
        fail "$name: $(tail -n 3 "$work/log")"
    [ -s "$work/$name.own" ] || fail "$name prints nothing"
    diff "$work/$name.own" "$work/$name.mallow" >"$work/diff" ||
        fail "$name prints other lines: $(head -n 5 "$work/diff")"
    has_profile "$name"
    echo "ok $name"
}

# is_there PROGRAM: else its name is kept for the end
is_there() {
    command -v "$1" >/dev/null && return 0
    missing="$missing $1"
    return 1
}

if is_there swipl; then
    cat >"$work/program.pl" <<'END'
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
nrev([], []).
nrev([H|T], R) :- nrev(T, RT), app(RT, [H], R).
main :-
    numlist(1, 600, L), nrev(L, R), nth1(1, R, First),
    findall(M-X, (between(1, 20000, X), M is X * X mod 7), Pairs), msort(Pairs, Sorted),
    last(Sorted, Last), numlist(0, 50, Cells),
    atomic_list_concat(Cells, ',', Text), Big is 7 ** 3000 mod 1000007,
    numlist(1, 5000, Keys), foldl([K, T0, T1]>>put_assoc(K, T0, K, T1), Keys, t, Tree),
    get_assoc(4321, Tree, Found),
    format("~w ~w ~w ~w ~w~n", [First, Last, Text, Big, Found]).
END
    same swipl '' swipl -g main -t halt "$work/program.pl"
fi

if is_there mpsolve; then
    printf 'Monomial;\nDegree=60;\nInteger;\nReal;\n\n' >"$work/polynomial"
    for i in $(seq 0 60); do echo $((i * i % 17 - 8)); done >>"$work/polynomial"
    same mpsolve '' mpsolve -o40 "$work/polynomial"
fi

if is_there scram; then
    tree=/usr/share/scram/input/ThreeMotor/three_motor.xml
    [ -r "$tree" ] || fail "scram has no $tree"
    # Times are those of the run.
    same scram '/<(time|products|probability)>/d' scram --probability 1 "$tree"
fi

# Of libjxl's tools Debian links cjpeg_hdr with libtcmalloc_minimal.
if is_there cjpeg_hdr; then
    python3 - "$work/image.png" <<'END'
import struct, sys, zlib
side = 256
rows = b"".join(b"\0" + bytes((x * y + c * 50) % 256 for x in range(side) for c in range(3))
                for y in range(side))
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
open(sys.argv[1], "wb").write(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
END
    cjpeg_hdr "$work/image.png" "$work/own.jpg" 2>"$work/log" ||
        fail "cjpeg_hdr: $(cat "$work/log")"
    use_gperftools cjpeg_hdr
    "${as_gperftools[@]}" cjpeg_hdr "$work/image.png" "$work/mallow.jpg" 2>"$work/log" ||
        fail "cjpeg_hdr: $(cat "$work/log")"
    cmp "$work/own.jpg" "$work/mallow.jpg" || fail "cjpeg_hdr makes another picture"
    has_profile cjpeg_hdr
    echo "ok cjpeg_hdr"
fi

# Of Ceph's programs Debian links these with libtcmalloc; ceph-mon and rados use libc's malloc.
export RGW_ACCESS_KEY_ID=key RGW_SECRET_ACCESS_KEY=secret
if is_there radosgw-token; then
    same radosgw-token '' radosgw-token --no-mon-config --encode --ttype=ldap
fi
if is_there rbd-mirror; then
    same rbd-mirror '' rbd-mirror --version
fi

# A memcached: the same answers to the same requests.
talk() {
    local reply
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    for i in $(seq 200); do
        printf 'set key%d 0 0 %d\r\n%0*d\r\n' "$i" $((i * 20)) $((i * 20)) "$i" >&3
        read -r reply <&3
        echo "$reply"
    done
    printf 'get key77\r\nincr key200 5\r\ndelete key3\r\nget key3\r\nversion\r\nquit\r\n' >&3
    cat <&3
    exec 3>&-
}

can_connect() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

# serve OUTPUT COMMAND...: the server's answers; it is asked to end. `mallow run` passes SIGTERM on.
serve() {
    local output=$1 tries=600 server
    shift
    "$@" "$(command -v yrmcdsd)" -f "$work/yrmcds.conf" >"$work/log" 2>&1 </dev/null &
    server=$!
    later_kill "$server"
    until can_connect; do
        tries=$((tries - 1))
        if [ "$tries" = 0 ] || ! kill -0 "$server" 2>/dev/null; then
            fail "no server: $(cat "$work/log")"
        fi
        sleep 0.1
    done
    talk >"$output"
    kill "$server"
    wait "$server" || true
}

if is_there yrmcdsd; then
    # Both below 32768, from where on the kernel gives ports to the clients of other tests.
    port=$((20000 + $$ % 6000))
    cat >"$work/yrmcds.conf" <<END
user = $(id -un)
group = $(id -gn)
virtual_ip = 127.0.0.1
port = $port
repl_port = $((port + 6000))
temp_dir = "$work"
buckets = 1000
workers = 2
END
    serve "$work/yrmcds.own" env
    use_gperftools yrmcds
    serve "$work/yrmcds.mallow" "${as_gperftools[@]}"
    diff "$work/yrmcds.own" "$work/yrmcds.mallow" >"$work/diff" ||
        fail "yrmcds answers otherwise: $(head -n 5 "$work/diff")"
    [ "$(grep -c STORED "$work/yrmcds.mallow")" = 200 ] || fail "yrmcds: $(cat "$work/yrmcds.own")"
    has_profile yrmcds
    echo "ok yrmcds"
fi

[ -z "$missing" ] || {
    echo "skipped: not installed:$missing"
    exit 77
}
