#!/bin/bash
# SPDX-License-Identifier: MIT
# measure.sh BUILD_DIR [PROCESSES] -- what `mallow agent` costs on a host with so many small
# processes: processor time and resident memory, for some periods of 60 s with 15 searches each, as
# a period of 15 minutes has.  Takes 6 minutes, as root, in namespaces of its own.
set -euo pipefail
build=$(cd "${1:?usage: $0 BUILD_DIR [PROCESSES]}" && pwd)
processes=${2:-200}
if [ -z "${MALLOW_MEASURE:-}" ]; then
    MALLOW_MEASURE=1 exec unshare --mount --pid --fork --mount-proc "$0" "$build" "$processes"
fi
mount -t tmpfs tmpfs /dev/shm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work
cat >small.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static char *hold(size_t bytes) {
	char *block = malloc(bytes);
	memset(block, 1, bytes);
	return block;
}
int main(void) {
	for (int i = 0; i < 200; i++)
		if (hold(10000) == NULL)
			return 1;
	for (;;) {
		sleep(1);
		free(hold(10000));
	}
}
END
cc -O1 -g small.c -o small
for ((i = 0; i < processes; i++)); do
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./small &
done
printf 'period 60s\nscan 4s\nmetrics 127.0.0.1:9464\nfolder %s\n' "$work/folder" >agent.conf
"$build/bin/mallow" agent --config agent.conf --to "dir://$work/store" &
agent=$!
most=0
for ((second = 1; second <= 300; second++)); do
    sleep 1
    sum=0
    for pid in $agent $(<"/proc/$agent/task/$agent/children"); do
        kib=$(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null) ||
            true
        sum=$((sum + ${kib:-0}))
    done
    most=$((sum > most ? sum : most))
    if ((second % 60 == 0)); then
        echo "resident at the highest: $most KiB;" \
            "$(curl -s http://127.0.0.1:9464/metrics | grep -E \
                '^mallow_agent_(cpu_seconds|profiles|scans)_total' | tr '\n' ' ')"
    fi
done
kill "$agent"
wait "$agent" || true
# The first process of the PID namespace: all others end with it.
