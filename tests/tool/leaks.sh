#!/bin/bash
# SPDX-License-Identifier: MIT
# leaks.sh BUILD_DIR -- `mallow leaks`: counts, stacks, twice, outputs, the process afterwards and
# its end, processes that cannot answer.
source "$(dirname "$0")/lib.bash"
needs python3
library=$build/lib/libmallow.so
cc -g -O1 -o leaky "$here/leaks.c" || fail "cc"

# launch CONF [ARGUMENT]: its pid is in $pid; it ends when descriptor $input is closed.
launch() {
    rm -f ready pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,$1 LD_PRELOAD=$library ./leaky "${@:2}" <pipe >ready &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready ready
    await 60 is_known "$pid"
}
# json EXPRESSION: of the object in ./out.
json() {
    python3 -c "import json; r = json.load(open('out')); print(($1))"
}
# equals EXPRESSION VALUE
equals() {
    local got
    got=$(json "$1") || fail "$1"
    [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# --- every block sampled: all numbers are exact ---
launch prof_sample:1
try 1 "$mallow" leaks --wait 60 --json "$pid"
valid leaks
equals 'r["check"]["direct"]["blocks"]' 1250
equals 'r["check"]["indirect"]["blocks"]' 1900
equals 'r["check"]["indirect"]["bytes"]' $((1900 * 48))
equals 'r["check"]["unread_bytes"], r["check"]["threads"]' "(0, 1)"
# By function: the cycles' nodes come from two calls.
equals 'sorted((f, sum(s["direct"]["blocks"] for s in r["stacks"] if f in names(s)),
    sum(s["indirect"]["blocks"] for s in r["stacks"] if f in names(s)),
    sum(s["below_bytes"] for s in r["stacks"] if f in names(s)))
    for names in [lambda s: [f["name"] for f in s["frames"]]]
    for f in ["leak_singles", "leak_lists", "leak_cycles", "make_list"])' \
    "[('leak_cycles', 50, 100, 4800), ('leak_lists', 200, 1800, 86400),\
 ('leak_singles', 1000, 0, 0), ('make_list', 200, 1800, 86400)]"
equals '[c["block_bytes"] for c in r["check"]["classes"] if c["direct"]["blocks"]]' "[48, 112]"
ok "the numbers of all leaks, by stack, by kind, below them"

try 1 "$mallow" leaks --wait 60 --peek "$pid"
says out "^leaky \(pid $pid\): 3150 blocks leaked, "
says out "^  direct +121 KiB in 1250 blocks that no pointer leads to$"
says out "^  indirect +89.1 KiB in 1900 blocks that only leaked blocks lead to$"
says out "^    direct +9.38 KiB in 200 blocks, and 84.4 KiB below$"
says out 'a node of the'
says out '^      leak_lists '
says_not out 'estimates'
ok "as text, with the first bytes"

# --- other outputs, and afterwards ---
try 1 "$mallow" leaks --last "$pid"
says out "^leaky \(pid $pid\): 3150 blocks leaked, "
try 1 "$mallow" leaks -o leaks.pb.gz "$pid"
try 0 "$mallow" top --sample-type inuse_objects --unit B --tagfocus leak:indirect leaks.pb.gz
says out '^ +1900 .* make_node$'
try 1 "$mallow" leaks --wait 60 -o leaks.html "$pid"
grep -q leak_lists leaks.html || fail "the flame graph has no leak_lists"
try 1 "$mallow" leaks --wait 60 --focus leak_cycles --json "$pid"
equals 'sum(s["direct"]["blocks"] + s["indirect"]["blocks"] for s in r["stacks"])' 150
# Copies in the kernel's table of processes.
no_copy_is_left() {
    local child
    while read -r child; do
        ! grep -q '^State:.Z' "/proc/$child/status" || return 1
    done < <(cat "/proc/$pid/task/"*/children | tr ' ' '\n' | sed '/^$/d')
}
await 60 no_copy_is_left
ok "files, other views, a selection; no copy of the process is left"

# --- the process is killed: the last check stays ---
kill -9 "$pid"
wait "$pid" 2>/dev/null
try 1 "$mallow" leaks --wait 60 "$pid"
says out "3150 blocks leaked"
exec {input}>&-
launch prof_sample:1
exec {input}>&-
wait "$pid" || fail "the program's exit status"
ok "the last check of a killed process"

# --- sampled: sums are exact, stacks are estimates ---
launch prof_sample:4K hidden
try 1 "$mallow" leaks --watch 0.5s --json "$pid"
# A register may hold the hidden pointer at the moment of a check.
equals 'r["check"]["direct"]["blocks"] in (1250, 1251), r["check"]["indirect"]["blocks"]' \
    "(True, 1900)"
valid leaks
equals 'r["earlier"]["direct"]["blocks"] in (1250, 1251)' True
equals '[s for s in r["stacks"] if any(f["name"] == "hide" for f in s["frames"])]' "[]"
equals 'all(s["interval"][0] <= s["bytes"] <= s["interval"][1] for s in r["stacks"])' True
equals '100000 < sum(s["bytes"] for s in r["stacks"]) <= 124000 + 91200' True
try 1 "$mallow" leaks --wait 60 "$pid"
says out 'one sample in 4.00 KiB: sizes and counts are estimates'
exec {input}>&-
ok "a pointer that the program hides is no leak of both checks"

# --- at exit ---
try 1 "$mallow" run --leaks -o run.pb.gz ./leaky </dev/null
says out '^ready$'
says err '^leaky \(pid [0-9]+\): 3150 blocks leaked, '
says err '^    direct +9.38 KiB in 200 blocks, and 84.4 KiB below$'
says err '^mallow: profile of leaks written: run.pb.gz$'
says_not err 'estimates'
try 0 "$mallow" top --unit B --sample-type inuse_objects run.pb.gz
says out '^ +2150 .* make_node$'
# The program's own status, where nothing leaked.
try 0 "$mallow" run --leaks -- true
says err '^true \(pid [0-9]+\): no leaks'
try 5 "$mallow" run --leaks -- sh -c 'exit 5'
# Children, too.
try 1 "$mallow" run --leaks -- sh -c './leaky; exit 0' </dev/null
says err '^leaky \(pid [0-9]+\): 3150 blocks leaked, '
printf 'leak:leak_lists\nleak:^leak_s*s$\n' >suppressed
try 1 "$mallow" run --leaks --suppress suppressed ./leaky </dev/null
says err '^suppressed +93.8 KiB in 2000 blocks by leak_lists$'
says_not err '^      leak_singles'
printf 'leak:leak_cycles\n' >>suppressed
try 0 "$mallow" run --leaks --suppress suppressed ./leaky </dev/null
says err '^no other stacks$'
try 2 "$mallow" run --leaks --cpu ./leaky </dev/null
one_line_error
try 2 "$mallow" run --suppress suppressed ./leaky </dev/null
one_line_error
try 0 "$mallow" ls --all --json
says_not out '"run-'
# JUnit, of the profile.
try 1 "$mallow" check --leaks --format junit run.pb.gz
says out '<failure message="leaks: 210 KiB leaked, 0 B allowed">'
says out 'leak_singles'
try 0 "$mallow" check --leaks --suppress suppressed run.pb.gz
says out '^ok +leaks: 0 B leaked'
try 0 "$mallow" run --exact -o whole.pb.gz ./leaky </dev/null
try 2 "$mallow" check --leaks whole.pb.gz
one_line_error
says err 'whole.pb.gz: is no profile of leaks'
try 2 "$mallow" check --leaks --max-live 0 run.pb.gz
one_line_error
ok "mallow run --leaks: status, stacks, children, suppressions"

# prof_leak counts what no pointer leads to, where it is asked to.
MALLOW_CONF=prof_leak:true,prof_final:true,prof_sample:1 LD_PRELOAD=$library \
    try 0 ./leaky </dev/null
says err ': ~239200 bytes, ~3650 objects, >= 6 contexts$'
MALLOW_CONF=prof_leak:true,prof_leak_scan:true,prof_final:true,prof_sample:1,prof_state_min:0 \
    LD_PRELOAD=$library try 0 ./leaky </dev/null
says err 'Leak approximation summary: ~215200 bytes, ~3150 objects, >= 5 contexts$'
MALLOW_CONF=prof_leak_error:true,prof_leak_scan:true,prof_final:true LD_PRELOAD=$library \
    try 1 ./leaky </dev/null
says err '~215200 bytes, ~3150 objects'
MALLOW_CONF=prof_leak_error:true,prof_leak_scan:true,prof_final:true LD_PRELOAD=$library try 0 true
ok "prof_leak_scan"

# --- a signal, and jemalloc's control ---
rm -f said
launch prof_sample:1,leak_signal:10 2>said
try 2 "$mallow" leaks --last "$pid"
one_line_error
kill -10 "$pid"
sum='3150 blocks with 215200 bytes leaked'
await 60 grep -qs "^mallow: leak check of process $pid: $sum; 'mallow leaks --last $pid' shows" said
try 1 "$mallow" leaks --last "$pid"
says out "^leaky \\(pid $pid\\): 3150 blocks leaked, "
says out '^      leak_lists '
try 2 "$mallow" set "$pid" dump_signal=10
one_line_error
says err 'the program or another option handles this signal'
try 0 "$mallow" set --wait 60 "$pid" leak_signal=12
kill -12 "$pid"
is_said_twice() { [ "$(grep -c "$sum" said)" = 2 ]; }
await 60 is_said_twice
exec {input}>&-
wait "$pid" || fail "the program's exit status after signals"
cat >control.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
	int (*control)(const char *, void *, size_t *, void *, size_t);
	size_t bytes = 0, length = sizeof bytes;
	*(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
	for (int i = 0; i < 5; i++)
		memset(malloc(100), 1, 100);
	char wiped[8192];
	memset(wiped, 0, sizeof wiped);
	int result = control("prof.leak_check", &bytes, &length, NULL, 0);
	printf("%d %s\n", result, bytes >= 448 && bytes <= 560 ? "fine" : wiped);
	return control("prof.leak_check", NULL, NULL, &bytes, sizeof bytes) == 0;
}
END
cc -O0 -fno-builtin -o control control.c || fail "cc"
LD_PRELOAD=$library try 0 ./control
says out '^0 fine$'
ok "a signal, and mallctl"

# --- misuse, and processes that do not answer ---
launch prof_sample:4K
try 2 "$mallow" leaks leaks.pb.gz
one_line_error
says err "leaks.pb.gz: is a profile; leaks needs a process or its state file"
try 2 "$mallow" leaks --last --watch 1s "$pid"
one_line_error
says err '^mallow: leaks: --last shows a check that was made'
kill -STOP "$pid"
try 2 "$mallow" leaks --wait 0.2 "$pid"
one_line_error
says err "^mallow: pid $pid: the process does not allocate, .*woken: it is stopped"
kill -CONT "$pid"
last_is_there() { "$mallow" leaks --last "$pid" >out 2>err || [ $? = 1 ]; }
await 60 last_is_there
exec {input}>&-
launch background_thread:true,prof_sample:1G
try 1 "$mallow" leaks --wait 60 "$pid"
says out '^no stacks: no sampled block is among them \(one sample in 1.00 GiB\)'
try 1 "$mallow" check --leaks "$pid"
says out '^FAILED +leaks: 210 KiB leaked, 0 B allowed$'
try 1 "$mallow" leaks --wait 60 "$pid"
says out '3150 blocks leaked'
says out '; 2 threads$'
exec {input}>&-
# One of 64 MiB is sampled for certain (but for e^-32), one of 16 bytes is not (but for 8 of 10^6).
launch prof_sample:2M large
try 1 "$mallow" leaks --wait 60 "$pid"
says out ': 2 blocks leaked, 64.0 MiB of '
says out '^      leak_large '
says out '^no stack +16 B of the 64.0 MiB: these sizes have no sampled block$'
exec {input}>&-
ok "misuse, stopped processes, a background thread, blocks without a stack"
