#!/bin/bash
# SPDX-License-Identifier: MIT
# naps.sh BUILD_DIR [RUNS] -- `mallow leaks` of a process whose first thread sleeps 1 ms at a time
# and allocates nothing: the thread may run, begin or end a sleep when the command looks at it. No
# other thread has room on its stack.
source "$(dirname "$0")/lib.bash"
runs=${2:-10}
cat >naps.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile char input;
static void *sleep_on(void *unused) {
	for (;;)
		pause();
	return unused;
}
static void *read_input(void *unused) {
	while (read(0, (char *)&input, 1) > 0)
		continue;
	input = 'x';
	return unused;
}
__attribute__((noinline)) static void lose(void) {
	for (int i = 0; i < 100; i++)
		memset(malloc(48), 'x', 48);
}
int main(int argc, char **argv) {
	pthread_attr_t small;
	pthread_t thread;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32 << 10);
	for (int i = 0; i < atoi(argv[1]); i++)
		if (pthread_create(&thread, &small, sleep_on, NULL) != 0)
			return argc;
	lose();
	if (pthread_create(&thread, &small, read_input, NULL) != 0 || write(1, "ready\n", 6) != 6)
		return 2;
	while (input == 0)
		usleep(1000);
	return 0;
}
END
cc -g -O1 -pthread naps.c -o naps || fail "cc"
[ "$(uname -m)" = x86_64 ] || leave_out "a sleeping process is woken on x86-64"
for threads in 0 100 8000; do
    rm -f told pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
        ./naps $threads <pipe >told &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
    await 60 grep -qs ready told
    await 60 is_known "$pid"
    for ((i = 0; i < runs; i++)); do
        try 1 "$mallow" leaks --wait 60 "$pid"
        says out '^naps .*: (100|9[0-9]) blocks leaked'
    done
    exec {input}>&-
    wait "$pid" || fail "$threads threads: the program ended with status $?"
    ok "$runs checks beside $threads sleeping threads"
done
