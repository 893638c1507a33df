#!/bin/bash
# SPDX-License-Identifier: MIT
# cut_file.sh BUILD_DIR -- somebody cuts the state files of running processes, or takes pages of
# them on a full file system: the processes go on and get a new file. SIGBUS for other reasons is
# the program's.
source "$(dirname "$0")/lib.bash"
cat >worker.c <<'END'
/* worker KIND: two threads allocate until a line is read, or, as "own", the program first makes an
 * access of its own that raises SIGBUS. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static atomic_bool ends;
static sigjmp_buf back;
static struct sigaction before;
static volatile sig_atomic_t seen;
static void *allocate(void *unused) {
	(void)unused;
	while (!ends) {
		void *blocks[64];
		for (int i = 0; i < 64; i++)
			blocks[i] = malloc(64 + 16 * (size_t)i);
		for (int i = 1; i < 64; i++)
			free(blocks[i]);
		usleep(1000);
	}
	return NULL;
}
static void on_bus(int number, siginfo_t *info, void *context) {
	(void)number, (void)info, (void)context;
	seen++;
	siglongjmp(back, 1);
}
static void on_bus_chained(int number, siginfo_t *info, void *context) {
	seen++;
	before.sa_sigaction(number, info, context);
}
static void touch_cut_file(void) {
	int file = memfd_create("own", 0);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	*(volatile char *)page = 1;
}
int main(int argc, char **argv) {
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t threads[2];
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	void *kept[5000];
	for (int i = 0; i < 5000; i++)
		kept[i] = malloc(300);
	if (strcmp(kind, "deadly") == 0)
		touch_cut_file();
	if (strcmp(kind, "sent") == 0)
		kill(getpid(), SIGBUS);
	if (strcmp(kind, "chained") == 0)
		action.sa_sigaction = on_bus_chained;
	if (strcmp(kind, "own") == 0 || strcmp(kind, "chained") == 0)
		sigaction(SIGBUS, &action, &before);
	if (strcmp(kind, "own") == 0 && sigsetjmp(back, 1) == 0)
		touch_cut_file();
	puts("ready");
	fflush(stdout);
	getchar();
	if (strcmp(kind, "deadly_later") == 0)
		touch_cut_file();
	ends = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d handled\n", (int)seen);
	return kept[0] == NULL;
}
END
cc -g -O1 -D_GNU_SOURCE -pthread worker.c -o worker || fail "the compiler refuses worker.c"

# begin KIND: starts the program; $pid, and $state, its file.
begin() {
    rm -f input
    mkfifo input
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=lg_prof_sample:9,prof_state_min:0 \
        ./worker "$1" <input >told 2>said &
    pid=$!
    started+=("$pid")
    exec 7>input
    await 60 grep -q ready told
    state=$(echo "/dev/shm/mallow-$(id -u)/$pid".*)
    [ -s "$state" ] || fail "the process has no state file"
}

# ends_as PATTERN: the program goes on until it is told to end, and ends with 0.
ends_as() {
    echo >&7
    exec 7>&-
    wait "$pid" || fail "worker ended with status $?: $(cat said)"
    grep -q "$1" told || fail "worker did not say '$1': $(cat told)"
}

is_new() {
    [ -s "$state" ] && [ "$(stat -c %i "$state")" != "$inode" ]
}

# There is another file, and it is in use.
has_new_file() {
    await 60 is_new
    grep -q 'mallow: another program cut the state file' said || fail "no message: $(cat said)"
    try 0 "$mallow" report --top 5 "$pid"
    says out 'Program: worker'
    says out ' main '
}

for kind in plain chained; do
    for size in 0 4096 20000; do
        begin "$kind"
        inode=$(stat -c %i "$state")
        truncate -s "$size" "$state"
        has_new_file
        ends_as handled
    done
done
ok "files that are cut to 0, 4096 and 20000 bytes"

# A report that is asked for later stands behind the handler.
begin deadly_later
try 0 "$mallow" set --wait 60 "$pid" crash_report=true
echo >&7
exec 7>&-
wait "$pid" 2>/dev/null
[ "$?" = 135 ] || fail "deadly_later: not SIGBUS"
grep -q 'mallow: signal 7:' said || fail "no crash report: $(cat said)"
ok "crash_report that is set while the file is there"

begin plain
for ((i = 1; i <= 3; i++)); do
    inode=$(stat -c %i "$state")
    truncate -s 0 "$state"
    await 60 is_new
done
has_new_file
ends_as handled
ok "a file that is cut three times"

begin own
ends_as '1 handled'
ok "the program's own handler gets the program's own faults"

for kind in deadly sent; do
    for report in false true; do
        LD_PRELOAD=$build/lib/libmallow.so \
            MALLOW_CONF=lg_prof_sample:9,prof_state_min:0,crash_report:$report \
            ./worker "$kind" </dev/null >told 2>said
        status=$?
        [ "$status" = 135 ] || fail "$kind: status $status instead of SIGBUS"
        [ "$(grep -c 'mallow: signal 7:' said)" = "$([ $report = true ] && echo 1 || echo 0)" ] ||
            fail "$kind: crash_report:$report says: $(cat said)"
    done
done 2>/dev/null
ok "SIGBUS without a handler ends a program as ever"

if [ -n "${MALLOW_TEST_OWN_PIDS:-}" ] && mount -o remount,size=1m /dev/shm; then
    begin plain
    inode=$(stat -c %i "$state")
    fallocate --punch-hole --offset 0 --length 16384 "$state"
    head -c 1m /dev/zero >/dev/shm/filler 2>/dev/null
    fallocate --punch-hole --offset 0 --length 65536 "$state"
    head -c 1m /dev/zero >>/dev/shm/filler 2>/dev/null
    await 60 grep -q 'mallow: another program cut the state file' said
    rm /dev/shm/filler
    ends_as handled
    ok "pages that are punched out of a file on a full file system"
else
    echo "left out: pages that are punched out (needs root and namespaces)"
fi
