#!/bin/bash
# SPDX-License-Identifier: MIT
# formats.sh BUILD_DIR -- what gperftools writes, read by mallow and by gperftools' own pprof: the same
# functions with the same numbers.
source "$(dirname "$0")/lib.bash"
libraries=/usr/lib/x86_64-linux-gnu
for needed in "$libraries/libtcmalloc.so.4" "$libraries/libprofiler.so.0" "$(command -v google-pprof)"; do
    [ -e "$needed" ] || {
        echo "skipped: gperftools is not installed"
        exit 77
    }
done
cat >prog.c <<'END_OF_C'
#include <math.h>
#include <stdlib.h>
static void *kept[1000];
__attribute__((noinline)) void *make_block(int bytes) {
	void *volatile block = malloc((size_t)bytes);
	return block;
}
__attribute__((noinline)) void keep_blocks(void) {
	for (int i = 0; i < 1000; i++)
		kept[i] = make_block(1000 + i);
}
__attribute__((noinline)) double compute(void) {
	double sum = 0;
	for (int i = 0; i < 20000000; i++)
		sum += sqrt((double)i);
	return sum;
}
int main(void) {
	keep_blocks();
	for (int i = 0; i < 400; i++)
		free(kept[i]);
	return compute() < 0;
}
END_OF_C
cc -g -O1 prog.c -o prog -lm || fail "cc failed"

HEAPPROFILE=$work/heap LD_PRELOAD=$libraries/libtcmalloc.so.4 ./prog 2>/dev/null
try 0 "$mallow" report --json heap.0001.heap
says out '"total": 1019700' # 600 blocks of 1400 to 1999
google-pprof --raw ./prog heap.0001.heap >heap.raw 2>/dev/null
try 0 "$mallow" collapsed heap.raw
says out ';main;keep_blocks;make_block 1019700'
ok "a heap profile, plain and with its symbols"

CPUPROFILE=$work/cpu LD_PRELOAD=$libraries/libprofiler.so.0 ./prog 2>/dev/null
samples=$(google-pprof --text ./prog cpu 2>/dev/null | sed -n 's/^Total: \([0-9]*\) samples$/\1/p')
[ "${samples:-0}" -gt 0 ] || fail "google-pprof sees no samples"
try 0 "$mallow" top --sample-index samples --cum cpu
says out "of $samples total"
says out ' compute$'
google-pprof --raw ./prog cpu >cpu.raw 2>/dev/null
try 0 "$mallow" top --sample-index samples cpu.raw
says out "of $samples total"
ok "a CPU profile, plain and with its symbols"
