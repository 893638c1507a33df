#!/bin/bash
# SPDX-License-Identifier: MIT
# crowded.sh BUILD_DIR -- a program that is killed again and again, in a container whose /dev/shm
# holds 4 MiB: each run has its profile, and other programs have room.
source "$(dirname "$0")/lib.bash"
if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ] || ! mount -o remount,size=4m /dev/shm; then
    echo "skipped: /dev/shm cannot be made small (needs root and namespaces)"
    exit 77
fi
cat >crash.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
void *blocks[20000];
__attribute__((noinline)) static void fill(void) {
	for (int i = 0; i < 20000; i++)
		blocks[i] = malloc(64);
}
int main(void) {
	fill();
	kill(getpid(), SIGKILL);
	return 0;
}
END
cc -g -O1 crash.c -o crash || fail "the compiler refuses crash.c"
dead_bytes() {
    du -cB1 "/dev/shm/mallow-$(id -u)" | tail -1 | cut -f1
}
for ((i = 1; i <= 12; i++)); do
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=lg_prof_sample:0 ./crash 2>/dev/null &
    pid=$!
    started+=("$pid")
    wait "$pid" 2>/dev/null
    try 0 "$mallow" report --top 3 "$pid"
    says out '^ *1.22 MiB .* fill'
    says_not out 'incomplete|full'
    # The file of the run that was killed last, and a quarter for those before.
    [ "$(dead_bytes)" -le $((3 << 20)) ] || fail "run $i: the dead have $(dead_bytes) bytes"
done
ok "12 killed runs have a profile each; $(dead_bytes) bytes of 4 MiB are taken"
