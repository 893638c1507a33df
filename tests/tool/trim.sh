#!/bin/bash
# SPDX-License-Identifier: MIT
# trim.sh BUILD_DIR -- `mallow trim`: an idle process gives its free memory back.
source "$(dirname "$0")/lib.bash"
build_steps <<'END'
#include <string.h>
enum { BLOCKS = 2000 };
static char *volatile blocks[BLOCKS];
int main(void) {
	for (;;) {
		for (int i = 0; i < BLOCKS; i++)
			memset(blocks[i] = malloc(30000), 1, 30000);
		for (int i = 0; i < BLOCKS; i++)
			if (i != 7)
				free(blocks[i]);
		wait_for_line();
		for (int i = 0; i < 30000; i++)
			if (blocks[7][i] != 1)
				return 1;
		free(blocks[7]);
	}
}
END
resident() {
    awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"
}
trims_to_little() {
    local before after kib
    before=$(resident)
    try 0 "$mallow" trim --wait 60 "$pid"
    says out "^pid $pid: gave [0-9.]+ MiB back$"
    after=$(resident)
    kib=$(sed -nE 's/.*gave ([0-9]+)\.?[0-9]* MiB.*/\1/p' out)
    { [ "$kib" -ge 40 ] && [ $((before - after)) -ge 40000 ]; } ||
        fail "gave $kib MiB back, resident memory went from $before to $after KiB"
    try 0 "$mallow" trim --wait 60 "$pid"
    says out "^pid $pid: gave 0 B back$"
    try 0 "$mallow" status "$pid"
    says out ' 0 B +0.0%  free, kept for reuse'
}
for conf in dirty_decay_ms:-1 dirty_decay_ms:-1,background_thread:true prof_active:false; do
    [ "$conf" != prof_active:false ] || conf=dirty_decay_ms:-1,prof_active:false
    start_ready ./steps
    trims_to_little
    # It goes on, and does it again.
    echo >&"$to"
    read -r -t 60 answer <&"$from"
    [ "$answer" = ready ] || fail "the process does not go on"
    trims_to_little
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    ok "$conf"
done

start_ready ./steps
first=$pid
start_ready ./steps
try 0 "$mallow" trim --wait 60 --name steps
[ "$(grep -Ec "^pid ($first|$pid): gave [0-9.]+ MiB back$" out)" = 2 ] || fail "not both"
try 2 "$mallow" trim
says err 'trim: which process\?'
try 2 "$mallow" trim 999999999
one_line_error
kill -STOP "$pid"
try 2 "$mallow" trim --wait 0.2 "$pid"
says err 'the process is stopped'
kill -CONT "$pid"
ok "several processes, and complaints"
