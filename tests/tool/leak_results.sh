#!/bin/bash
# SPDX-License-Identifier: MIT
# leak_results.sh BUILD_DIR -- what a thread returned is no leak while the thread can be joined; it
# is one when the thread was joined and the result dropped, or was detached.
source "$(dirname "$0")/lib.bash"
cat >results.c <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 20, BYTES = 234 };
static pthread_t threads[THREADS];
static pthread_barrier_t made;
static void *make(void *how) {
	void *volatile block = malloc(BYTES), *result = block;
	block = NULL;
	/* All threads live at once, so each has a stack of its own. */
	pthread_barrier_wait(&made);
	if (how != NULL)
		pthread_exit(result);
	return result;
}
static int tasks(void) {
	char path[64], line[256];
	int count = 0;
	snprintf(path, sizeof path, "/proc/%d/status", getpid());
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "Threads: %d", &count);
	if (file != NULL)
		fclose(file);
	return count;
}
int main(int argc, char **argv) {
	const char *what = argv[1];
	pthread_barrier_init(&made, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, make, strcmp(what, "exit") == 0 ? &made : NULL);
	if (strcmp(what, "detach") == 0)
		for (int i = 0; i < THREADS; i++)
			pthread_detach(threads[i]);
	if (strcmp(what, "join") == 0)
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	while (tasks() > 1)
		usleep(1000);
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	return 0;
}
END
cc -g -O1 -pthread results.c -o results || fail "the compiler refuses results.c"

# leaked NUMBER FILE
leaked() {
    case $1 in
    0) ! grep -qE '[1-9][0-9]* blocks? leaked' "$2" || fail "$what: a result is a leak" ;;
    *) grep -qE " $1 blocks leaked" "$2" || fail "$what: not $1 leaks: $(sed -n 1,5p "$2")" ;;
    esac
}
for what in return exit detach join; do
    status=0 wanted=0
    case $what in detach | join) status=1 wanted=20 ;; esac
    try $status "$mallow" run --leaks -- ./results $what
    leaked $wanted err
    rm -f input
    mkfifo input
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 \
        ./results $what wait <input >told &
    pid=$!
    started+=("$pid")
    exec 7>input
    await 60 grep -q ready told
    try $status "$mallow" leaks "$pid"
    leaked $wanted out
    exec 7>&-
    wait "$pid" || fail "the program ends with $?"
    : >told
    status=0
    [ $wanted = 0 ] || status=23
    try $status env LD_PRELOAD="$build/lib/mallow/compat/liblsan.so.0" ./results $what
    [ $wanted = 0 ] || says err '^SUMMARY: LeakSanitizer: 4680 byte.s. leaked in 20 allocation'
    ok "$what"
done
