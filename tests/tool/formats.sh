#!/bin/bash
# SPDX-License-Identifier: MIT
# formats.sh BUILD_DIR -- what gperftools writes, read by mallow and by gperftools' own pprof: the
# same functions with the same numbers.
source "$(dirname "$0")/lib.bash"
libraries=/usr/lib/x86_64-linux-gnu
needs google-pprof go jeprof
for needed in libtcmalloc.so.4 libprofiler.so.0 libjemalloc.a; do
    [ -e "$libraries/$needed" ] || skip "there is no $libraries/$needed"
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
# The mean of each line, as pprof has it.
try 0 "$mallow" sizes heap.0001.heap
says out '\( *100%\): 1.66 KiB$'
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

# Linked into the program, jemalloc's own functions are what stacks begin with.
jemalloc=$libraries/libjemalloc.a
cat >new.cc <<'END_OF_C'
#include <new>
extern "C" __attribute__((noinline)) void *make_object(void) { return operator new(5000); }
END_OF_C
sed 's/^int main(void) {/void *make_object(void);\n&\n\tkept[999] = make_object();/' prog.c \
    >with_new.c
cc -g -O1 -c with_new.c || fail "cc failed"
g++ -g -O1 new.cc with_new.o -o static "$jemalloc" -lm -lpthread -ldl || fail "g++ failed"
MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:static ./static
try 0 "$mallow" top --trim=false static.*.heap
says out ' make_block$'
# jemalloc rounds 5000 bytes up to 5 KiB.
says out '^ *5.00 KiB .* make_object$'
says_not out 'prof_|fallback_impl|operator new|malloc'
# Named or not: what is written can be read by pprof, which leaves the same out.
try 0 "$mallow" dump --bundle -o static.pb.gz static.*.heap
go tool pprof -top -trim=false static.pb.gz >out 2>/dev/null || fail "go tool pprof failed"
says out ' make_block$'
says_not out 'prof_|fallback_impl|operator new|malloc'
try 0 "$mallow" dump -o unnamed.pb.gz static.*.heap
try 0 "$mallow" top --trim=false unnamed.pb.gz
says out ' make_block$'
says_not out 'prof_|fallback_impl|operator new|malloc'
ok "jemalloc within the program"

# jemalloc's threads, as jeprof prints them.
cat >thread.c <<'END_OF_C'
#include <pthread.h>
#include <stdlib.h>
__attribute__((noinline)) void *make_block(int bytes) {
	void *volatile block = malloc((size_t)bytes);
	return block;
}
static void *work(void *unused) {
	for (int i = 0; i < 100; i++)
		make_block(10240);
	return unused;
}
int main(void) {
	pthread_t thread;
	for (int i = 0; i < 50; i++)
		make_block(40960);
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}
END_OF_C
cc -g -O1 thread.c -o thread "$jemalloc" -lm -lpthread -ldl -lstdc++ || fail "cc failed"
MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:thread ./thread
for threads in 0 1 '*'; do
    jeprof --text "--thread=$threads" ./thread thread.*.heap 2>/dev/null >wanted
    try 0 "$build/lib/mallow/compat/bin/jeprof" --text "--thread=$threads" ./thread thread.*.heap
    [ "$(grep -c Total wanted)" -gt 0 ] || fail "jeprof prints no table"
    # Names of what jemalloc itself allocates differ with its symbols.
    [ "$(grep -E '^Total| main$| work$' out)" = "$(grep -E '^Total| main$| work$' wanted)" ] ||
        fail "--thread=$threads: not as jeprof has it"
done
try 0 "$mallow" threads thread.*.heap
says out '1000 KiB .*\(1\)$'
ok "threads of jemalloc's profiles"
