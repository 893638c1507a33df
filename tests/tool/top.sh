#!/bin/bash
# SPDX-License-Identifier: MIT
# top.sh BUILD_DIR -- the live view of a process, in a terminal that tmux draws: rows, keys, filter,
# sizes down to 20 columns, and the end of the process; the list of all processes.
source "$(dirname "$0")/lib.bash"
needs tmux
cat >prog.c <<'END_OF_C'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[64];
__attribute__((noinline)) static void keep_blocks(void) {
	for (int i = 0; i < 64; i++)
		kept[i] = malloc(100000);
}
__attribute__((noinline)) static void churn(void) {
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(30000);
		free(block);
	}
}
__attribute__((noinline)) static void *xmalloc(size_t size) {
	void *volatile block = malloc(size);
	return block;
}
__attribute__((noinline)) static void grow(void) {
	static void *volatile last;
	last = xmalloc(5000);
}
static inline __attribute__((always_inline)) void *inlined(int size) {
	return malloc(size);
}
__attribute__((noinline)) static void hold(void) {
	static void *volatile held[8];
	for (int i = 0; i < 8; i++)
		held[i] = inlined(7000);
}
int main(void) {
	keep_blocks();
	hold();
	for (int i = 0; i < 12000; i++) {
		churn();
		grow();
		usleep(50000);
	}
	return 0;
}
END_OF_C
gcc -g -O1 prog.c -o prog || fail "gcc failed"
mkfifo go_on || fail "mkfifo failed"
MALLOW_CONF=lg_prof_sample:0,prof_keep:true LD_PRELOAD=$build/lib/libmallow.so ./prog &
pid=$!
started+=("$pid")
shown() { terminal capture-pane -p; }

# Of process $pid, as soon as it can be read.
start_view() {
    await 60 is_known "$pid"
    LC_ALL=C.UTF-8 terminal new-session -d -x 100 -y 20 "$mallow top $pid"
}

start_view
on_screen "prog \(pid $pid\)  sampling, T = 1 \(exact\)"
on_screen '^ *6\.[0-9]+ MiB +[0-9.]+% .* keep_blocks < main'
on_screen 'churn < main'
terminal send-keys f
on_screen ' FUNCTION$'
on_screen ' keep_blocks$'
terminal send-keys f
on_screen ' FUNCTION AND CALLEES$'
on_screen '^ *6\.[0-9]+ MiB +100.0% .* main$'
terminal send-keys f
on_screen '^ *6\.[0-9]+ MiB .* prog$'
terminal send-keys f s s
on_screen 'ALLOC/s\* +STACK'
terminal send-keys /
terminal send-keys -l CHURN
terminal send-keys Enter
on_screen 'filter: CHURN'
grep -q keep_blocks <<<"$(shown)" && fail "the filter hides nothing"
# It takes stacks by any of their functions, as report --focus does.
terminal send-keys / BSpace BSpace BSpace BSpace BSpace
terminal send-keys -l '^main$'
terminal send-keys Enter
on_screen 'filter: \^main'
on_screen ' keep_blocks < main'
# Functions that were inlined into others are such functions, too.
terminal send-keys / BSpace BSpace BSpace BSpace BSpace BSpace
terminal send-keys -l '^inlined$'
terminal send-keys Enter
on_screen 'filter: \^inlined'
on_screen '^ *(5[4-9]|6[0-4])\.[0-9] KiB .* inlined < hold < main'
grep -q keep_blocks <<<"$(shown)" && fail "the filter shows other functions"
terminal send-keys / BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace BSpace
terminal send-keys -l 'churn|('
terminal send-keys Enter
on_screen 'filter: churn'
grep -q 'mallow: ' <<<"$(shown)" && fail "half an expression is an error of its own"
terminal send-keys Escape
ok "rows, folds, orders, filter"

# Growth counts from the mark, whatever the rows are folded by.
terminal send-keys Escape s m
on_screen '\+[0-9]{3} KiB .* grow < main'
terminal send-keys f
on_screen ' FUNCTION$'
grep -qE '\+[0-9]{3} KiB +[0-9.]+ .iB +grow$' <<<"$(shown)" || {
    shown
    fail "another fold loses the mark"
}
terminal send-keys f f f Right
on_screen 'STACK$'
on_screen ' in < _+libc'
terminal send-keys Left
on_screen ' keep_blocks < main'
ok "the mark, long names"

# Wrappers count as their callers, unless w shows them.
terminal send-keys w
on_screen 'allocation wrappers are shown'
on_screen ' xmalloc < grow < main'
terminal send-keys w
on_screen 'allocation wrappers are hidden'
on_screen ' grow < main'
grep -q xmalloc <<<"$(shown)" && fail "a wrapper is shown"
ok "wrappers"

# Enter opens a row: its stack with source lines, its history.
terminal send-keys Home Enter
on_screen '^ keep_blocks < main'
on_screen '^  largest stack, the function that allocated first:'
on_screen '^    keep_blocks  .*prog\.c:[0-9]+'
on_screen '^    main  .*prog\.c:[0-9]+'
on_screen '^  history █'
on_screen '^  live 6\.[0-9]+ MiB   allocating .*/s   allocated in all 6\.[0-9]+ MiB'
terminal send-keys q
on_screen ' keep_blocks < main'
terminal send-keys End Enter
on_screen '^  live .*'
terminal send-keys Escape
on_screen 'STACK$'
ok "a row opened"

terminal send-keys Escape o
on_screen 'sampling off'
on_screen "prog \(pid $pid\)  sampling is off"
terminal send-keys o
on_screen "prog \(pid $pid\)  sampling, "
terminal send-keys -l '-'
on_screen 'T = 2 B'
terminal send-keys '?'
on_screen 'twice as many'
terminal send-keys '?'
ok "requests from the keys"

for size in 20 44 72 200; do
    terminal resize-window -x "$size" -y 8
    on_screen 'MiB'
    on_screen '^ q quit  (.*  )?[?] help *$' # whole
done
terminal resize-window -x 100 -y 20
kill "$pid"
on_screen "prog \(pid $pid\)  ended"
terminal send-keys f
on_screen '^ *6\.[0-9]+ MiB .* keep_blocks$'
terminal send-keys q
has_no_session() {
    ! terminal has-session 2>/dev/null
}
await 60 has_no_session
ok "sizes, the end of the process, q"

# Another program in the same process.
MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so \
    bash -c 'kept=$(printf %090000d 1); read -t 60 line; exec "$1"' bash ./prog <go_on &
pid=$!
started+=("$pid")
exec 9>go_on
start_view
on_screen "bash \(pid $pid\)  sampling"
echo >&9
on_screen "prog \(pid $pid\)  sampling"
on_screen ' keep_blocks < main'
terminal send-keys q
kill "$pid"
ok "a program that executes another"

# Not on a terminal it is the table.
try 0 "$mallow" top "$pid"
says out 'Showing nodes accounting for'
ok "a table where there is no terminal"

# CPU time: sampled while the view is there.
cat >burn.c <<'END_OF_C'
#include <stdlib.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void burn(void) {
	for (unsigned long i = 0; i < 3000000; i++)
		sum += i * i;
}
int main(void) {
	for (;;) {
		burn();
		free(malloc(100000));
	}
}
END_OF_C
gcc -g -O1 -fno-builtin burn.c -o burn || fail "gcc failed"
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./burn &
burning=$!
started+=("$burning")
await 60 is_known "$burning"
is_sampled() {
    grep -q 'CPU time  *sampled since' <<<"$("$mallow" status "$burning")"
}
is_not_sampled() { ! is_sampled; }
LC_ALL=C.UTF-8 terminal new-session -d -x 100 -y 20 "$mallow top --cpu $burning"
on_screen "burn \(pid $burning\)  sampling, CPU time, 100 Hz"
on_screen 'TIME +TIME% +SINCE MARK +NOW\* +FUNCTION$'
on_screen '^ *[0-9.]+ m?s +[0-9.]+% .* burn$'
is_sampled || fail "the view does not sample"
terminal send-keys +
on_screen 'CPU time, 200 Hz'
terminal send-keys Enter
on_screen 'of a processor now$'
on_screen ' burn +.*burn\.c:[0-9]+$'
terminal send-keys q
for size in 20 44 72; do
    terminal resize-window -x "$size" -y 8
    on_screen '[0-9] m?s'
done
terminal send-keys q
await 60 has_no_session
await 60 is_not_sampled
kill "$burning"
ok "CPU time"

# All processes: two of ours, one of which is chosen by its place behind the other.
pids=()
for _ in 1 2; do
    MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./prog &
    pids+=("$!")
    started+=("$!")
done
LC_ALL=C.UTF-8 terminal new-session -d -x 100 -y 40 "$mallow top --all"
on_screen 'processes with mallow, live '
on_screen "^ *${pids[0]} .* prog"
on_screen "^ *${pids[1]} +6\.[0-9]+ MiB .*iB .* prog"
terminal send-keys s
on_screen 'GROWTH\*'
terminal send-keys s
on_screen 'ALLOC/s\*'
terminal send-keys s m
for _ in $(seq 30); do terminal send-keys Up; done
terminal send-keys Enter
on_screen '\(pid [0-9]+\)  sampling'
terminal send-keys q
on_screen 'processes with mallow'
for size in 20 44 72; do
    terminal resize-window -x "$size" -y 8
    on_screen 'MiB'
done
kill "${pids[@]}"
shows_none_of_them() {
    ! grep -qE "^ *(${pids[0]}|${pids[1]}) " <<<"$(shown)"
}
await 60 shows_none_of_them
terminal send-keys q
try 2 "$mallow" top --all
one_line_error
says err 'needs a terminal'
try 2 "$mallow" top --all 1
one_line_error
ok "all processes"
