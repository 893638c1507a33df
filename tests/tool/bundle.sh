#!/bin/bash
# SPDX-License-Identifier: MIT
# bundle.sh BUILD_DIR -- a profile with symbols inside says the same where there is no binary.
source "$(dirname "$0")/lib.bash"
cat >prog.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[100];
static inline __attribute__((always_inline)) void *inner(int size) {
	return malloc(size);
}
__attribute__((noinline)) void outer(void) {
	for (int i = 0; i < 100; i++)
		kept[i] = inner(10000);
}
int main(void) {
	outer();
	sleep(100);
	return 0;
}
EOF
mkdir there
gcc -g -O1 prog.c -o there/prog || fail "gcc failed"
MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so there/prog &
pid=$!
started+=("$pid")
has_outer() {
    grep -q outer <<<"$("$mallow" report "$pid" 2>/dev/null)"
}
await 60 has_outer
try 0 "$mallow" dump --bundle "$pid" -o bundle.pb.gz
try 0 "$mallow" dump --no-symbols "$pid" -o bare.pb.gz
try 0 "$mallow" dump "$pid" -o bare.heap
# jemalloc's format has no names: they go in when it is written anew.
try 0 "$mallow" report bare.heap -o again.pb.gz
for view in "top --lines" "tree" "traces" "threads" "sizes" "tags" "report --all"; do
    # shellcheck disable=SC2086
    "$mallow" $view bundle.pb.gz >"before.$view" 2>/dev/null || fail "$view"
done

kill -9 "$pid"
wait "$pid" 2>/dev/null
rm -r there
export XDG_CACHE_HOME=$work/empty
for view in "top --lines" "tree" "traces" "threads" "sizes" "tags" "report --all"; do
    # shellcheck disable=SC2086
    try 0 "$mallow" $view bundle.pb.gz
    cmp -s "before.$view" out || fail "mallow $view is not what it was with the binary"
    says_not err 'prog'
done
says out 'outer'
for profile in bundle again; do
    try 0 "$mallow" top --lines $profile.pb.gz
    says out 'inner .*prog.c:5 \(inline\)'
    says out 'outer .*prog.c:9'
done
try 0 "$mallow" threads bundle.pb.gz
says out prog
try 0 "$mallow" top bare.pb.gz
says_not out 'outer'
says err 'prog: .*its functions have no names'
ok "without the binary"

if command -v go >/dev/null; then
    try 0 go tool pprof -top -lines -symbolize=none bundle.pb.gz
    says out 'inner .*prog.c:5 \(inline\)'
    ok "pprof"
else
    leave_out "go is not installed: pprof was not asked"
fi

try 2 "$mallow" dump --bundle --no-symbols bundle.pb.gz -o x.pb.gz
one_line_error
try 2 "$mallow" dump --bundle bundle.pb.gz -o x.heap
one_line_error
try 0 "$mallow" dump --bundle bare.pb.gz -o x.pb.gz
says err 'x.pb.gz: [0-9]+ of [0-9]+ code addresses have no function name'
ok "complaints"
