#!/bin/bash
# SPDX-License-Identifier: MIT
# debuginfod.sh BUILD_DIR -- binaries that are not here: from a debuginfod server on loopback, from
# --binary-path, from --sysroot; and nobody is asked without being told to.
source "$(dirname "$0")/lib.bash"
needs debuginfod curl
cat >prog.c <<'END_OF_C'
#include <stdlib.h>
__attribute__((noinline)) static void keep_block(void) {
	static void *volatile kept;
	kept = malloc(100000);
}
int main(void) {
	keep_block();
	return 0;
}
END_OF_C
gcc -g -O1 -Wl,--build-id prog.c -o prog || fail "gcc failed"
try 0 "$mallow" run --exact -o symbols.pb.gz ./prog
MALLOW_CONF=lg_prof_sample:0,prof_keep:true LD_PRELOAD=$build/lib/libmallow.so ./prog &
pid=$!
wait "$pid"
try 0 "$mallow" dump --no-symbols -o bare.pb.gz "$pid"
rm -f "/dev/shm/mallow-$(id -u)/$pid".*
mkdir served
mv prog served/prog
rm -rf mallow

# Profiles take no names from a file of another build, and without the file there are none.
try 0 "$mallow" report bare.pb.gz
says out ' prog\+0x[0-9a-f]+'
says err 'prog: cannot open'
# What was named once needs no binary any more.
try 0 "$mallow" report symbols.pb.gz
says out ' keep_block .*prog\.c:4'
ok "a profile whose program is gone"

rm -rf mallow
try 0 "$mallow" report --binary-path "/nonexistent:$work/served" bare.pb.gz
says out ' keep_block .*prog\.c:4'
rm -rf mallow
mkdir -p "root$work"
cp served/prog "root$work/prog"
try 0 "$mallow" report --sysroot "$work/root" bare.pb.gz
says out ' keep_block .*prog\.c:4'
# So for what finds stacks by name elsewhere.
for way in "--binary-path $work/served" "--sysroot $work/root"; do
    rm -rf mallow
    # shellcheck disable=SC2086
    try 1 "$mallow" check --max-live 1 $way bare.pb.gz
    says out ' keep_block .*prog\.c:4'
    rm -rf mallow
    # shellcheck disable=SC2086
    try 0 "$mallow" timeline --focus='^keep_block$' $way --json bare.pb.gz
    says out '"value": [1-9]'
done
rm -rf mallow
try 0 env PPROF_BINARY_PATH="$work/served" "$mallow" check --max-live 1K --ignore='^keep_block$' \
    bare.pb.gz
says err 'note: the options select no stack'
rm -rf mallow
try 0 "$mallow" report --symbolize none --binary-path "$work/served" bare.pb.gz
says out ' prog\+0x[0-9a-f]+'
ok "--binary-path, --sysroot, --symbolize=none"

# Another program may take a port between the choice and the server's start: the server ends, and
# another port is tried.
serves() {
    has_ended "$server" || {
        curl -sf "http://127.0.0.1:$port/metrics" >metrics &&
            grep -q '^found_executable_total.* [1-9]' metrics
    }
}
for _ in 1 2 3 4 5; do
    port=$((10000 + RANDOM % 20000))
    debuginfod --port "$port" --database "$work/files.sqlite" --concurrency 1 \
        -F "$work/served" >server.log 2>&1 &
    server=$!
    started+=("$server")
    await 60 serves
    has_ended "$server" || break
done
! has_ended "$server" || fail "the server does not start: $(tail -3 server.log)"
export DEBUGINFOD_URLS=http://127.0.0.1:$port/ DEBUGINFOD_CACHE_PATH=$work/fetched
try 0 "$mallow" report bare.pb.gz
says out ' prog\+0x[0-9a-f]+'
! grep -q 'GET /buildid' server.log || fail "a server was asked without --symbolize=debuginfod"
try 0 "$mallow" report --symbolize=debuginfod bare.pb.gz
says out ' keep_block .*prog\.c:4'
grep -q 'GET /buildid' server.log || fail "the server was not asked"
ok "debuginfod: asked when told to"

try 2 "$mallow" report --symbolize=sometimes bare.pb.gz
says err "symbolize.*'sometimes'"
ok "bad values are named"
