#!/bin/bash
# SPDX-License-Identifier: MIT
# doctor.sh BUILD_DIR -- `mallow doctor`: each thing that can be wrong is made wrong, and found.
source "$(dirname "$0")/lib.bash"
needs python3
unset MALLOC_CONF MALLOW_CONF

# diagnosis HEALTH TOPIC PATTERN: a line of the output.
diagnosis() {
    grep -Eq -- "^$1 +$2 +.*$3" out || fail "no $1 of $2 that says '$3'"
}
# The machine may have findings of its own: 0 or 1, and nothing of ours.
"$mallow" doctor >out 2>err
[ $? -le 1 ] || fail "the doctor is in trouble"
diagnosis fine library 'libmallow.so.1, version [0-9.]+, loads'
for topic in 'state files' permissions kernel; do
    grep -q "  $topic  " out || fail "nothing is said of $topic"
done
says_not out '  options  '
"$mallow" ls --json >out
says_not out 'probe-'
ok "a machine as it is"

MALLOC_CONF=narenas:3,lg_prof_sampel:3 MALLOW_CONF=dump_live:x try 1 "$mallow" doctor
diagnosis finding options 'MALLOC_CONF: .*lg_prof_sampel:3 .did you mean "lg_prof_sample"'
diagnosis finding options 'MALLOW_CONF: .*dump_live'
diagnosis note options 'but they have no effect: narenas'
[ "$(grep -c '  options  ' out)" = 3 ] || fail "something is said twice"
MALLOW_CONF=prof_final:true,stats_print:true "$mallow" doctor >out
diagnosis fine options 'all options are known: prof_final:true,stats_print:true'
[ -z "$(ls ./*.pb* 2>/dev/null)" ] || fail "the probe left a dump"
ok "options"

TCMALLOC_SKIP_SBRK=1 TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=9 TCMALLOC_RELEASE_RATE=2 \
    "$mallow" doctor >out
diagnosis note environment 'TCMALLOC_SKIP_SBRK has no effect with mallow$'
diagnosis note environment 'TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD has no effect .*request_limit'
says_not out TCMALLOC_RELEASE_RATE
TCMALLOC_PAGE_FENCE=1 CPUPROFILE=p "$mallow" doctor >out
diagnosis note environment 'TCMALLOC_PAGE_FENCE has an effect only with .*libtcmalloc_debug.so.4'
diagnosis note environment 'CPUPROFILE has an effect only with .*libprofiler.so.0'
ok "variables of gperftools"
MIMALLOC_EAGER_COMMIT=1 MIMALLOC_GUARDED_MIN=9 MIMALLOC_PURGE_DELAY=2 "$mallow" doctor >out
diagnosis note environment 'MIMALLOC_EAGER_COMMIT has no effect with mallow$'
diagnosis note environment 'MIMALLOC_GUARDED_MIN has no effect .*prof_guard'
says_not out MIMALLOC_PURGE_DELAY
ok "variables of mimalloc"

MALLOW_LIB=/no/such/file try 1 "$mallow" doctor
diagnosis finding library '/no/such/file: cannot open: No such file'
echo text >libmallow.so
MALLOW_LIB=$work/libmallow.so try 1 "$mallow" doctor
diagnosis finding library 'left no state file'
diagnosis finding options 'cannot be preloaded'
ok "a library that is not there, or none"

echo 'int main(void) { return 0; }' >static.c
if gcc -static static.c -o static 2>/dev/null; then
    try 1 "$mallow" doctor ./static
    diagnosis finding program 'statically linked, .*libmallow.a'
fi
"$mallow" doctor sleep >out
diagnosis fine program 'sleep: the library can be preloaded'
try 1 "$mallow" doctor ./no-such-program
diagnosis finding program 'no-such-program: the program does not exist'
ok "programs"

has_become_sleep() {
    grep -qx sleep "/proc/$1/comm"
}
sleep 100 &
started+=("$!")
await 60 has_become_sleep "$!"
try 1 "$mallow" doctor "$!"
diagnosis finding preload "sleep does not run mallow; start it with 'mallow run PROGRAM'"
LD_PRELOAD=/no/such/libmallow.so sleep 100 2>/dev/null &
started+=("$!")
await 60 has_become_sleep "$!"
try 1 "$mallow" doctor "$!"
diagnosis finding preload 'sleep does not run mallow, although LD_PRELOAD is /no/such/libmallow.so'
ok "processes without mallow"

cat >hold.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(void) {
	for (int i = 0; i < 200; i++)
		kept = malloc(60000);
	sleep(100);
	return 0;
}
EOF
gcc -O0 -g hold.c -o hold || fail "gcc failed"
# Another build: names of a build that was seen before are kept.
sed 's/200/201/' hold.c >stripped.c
gcc -O0 stripped.c -s -o stripped || fail "gcc failed"
reports_blocks() {
    "$mallow" report "$pid" >out 2>&1 && grep -q 'MiB' out
}
for program in hold stripped; do
    MALLOC_CONF=narenas:3 MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 \
        LD_PRELOAD=$build/lib/libmallow.so ./$program &
    pid=$!
    started+=("$pid")
    await 60 reports_blocks
    "$mallow" doctor "$pid" >out 2>err
    diagnosis fine sampling 'sampling is on'
    diagnosis note options 'but they have no effect: narenas'
    [ "$(grep -c narenas out)" = 1 ] || fail "options are said twice"
    diagnosis '(fine|finding)' mappings 'of at most [0-9]+ mappings'
done
diagnosis finding symbols "$work/stripped: [0-9]+ of [0-9]+ frames have no name; build it with -g"
"$mallow" stop --wait 0 "$pid" >/dev/null
kill -STOP "$pid"
MALLOW_CONF=prof_active:false,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./hold &
off=$!
started+=("$off")
await 60 is_known "$off"
"$mallow" doctor "$off" >out 2>err
diagnosis finding sampling "sampling is off, .*'mallow start $off'"
ok "processes with mallow"

# The state file of a library of another version.
state=$("$mallow" ls --json | python3 -c "
import json, sys
print(next(p['state_file'] for p in json.load(sys.stdin) if p['pid'] == $pid))")
version=$("$mallow" --version | grep -Eo '[0-9]+\.[0-9]+\.[0-9]+')
python3 - "$state" "$version" <<'EOF' || fail "no version in $state"
import sys
with open(sys.argv[1], "r+b") as file:
    version = sys.argv[2].encode()
    at = file.read(4096).index(version)
    file.seek(at)
    file.write(b"9" + version[1:])
EOF
"$mallow" doctor "$pid" >out 2>err
diagnosis finding library "runs libmallow.so 9${version:1}, this command is mallow $version"
ok "a library of another version"

library=$(sed -n 's|.* \(/.*\)/libmallow.so[.0-9]*$|\1|p' "/proc/$pid/maps" | sed -n 1p)
for gperftools in '' "$library/mallow/compat/libtcmalloc.so.4"; do
    HEAPPROFILE=$work/heap TCMALLOC_SKIP_MMAP=1 PERFTOOLS_VERBOSE=-1 \
        LD_PRELOAD=${gperftools:-$library/libmallow.so} sleep 100 &
    started+=("$!")
    await 60 has_become_sleep "$!"
    "$mallow" doctor "$!" >out 2>err
    diagnosis note environment 'TCMALLOC_SKIP_MMAP has no effect with mallow$'
    if [ -n "$gperftools" ]; then
        says_not out HEAPPROFILE
    else
        diagnosis note environment "HEAPPROFILE has an effect only with mallow's libtcmalloc.so.4"
    fi
done
ok "variables of gperftools in a process"

"$mallow" doctor --json "$pid" >out 2>err
[ $? = 1 ] || fail "status with --json"
python3 - out <<'EOF' || fail "the JSON is not what it should be"
import json, sys
value = json.load(open(sys.argv[1]))
assert set(value) == {"version", "findings", "checks"}, value
assert value["findings"] == sum(c["health"] == "finding" for c in value["checks"]) >= 1
assert all(set(c) == {"health", "topic", "text"} for c in value["checks"])
EOF
ok "JSON"

try 2 "$mallow" doctor 4194305
one_line_error
says err 'no such process runs'
try 2 "$mallow" doctor 99999999999999999999
one_line_error
ok "complaints"

# An allocator in the executable, under its own names or as malloc: mallow sees none of its blocks.
cat >arena.c <<'END'
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) void *ALLOCATE(size_t bytes) {
	void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return block;
}
int main(int argc, char **argv) {
	(void)argv;
	volatile char *block = ALLOCATE(1 << 20);
	block[0] = 1;
	if (argc > 1)
		pause();
	return 0;
}
END
for row in je_malloc:jemalloc mallocx:jemalloc _rjem_malloc:jemalloc mi_malloc:mimalloc \
    tc_malloc:tcmalloc; do
    gcc -fno-builtin "-DALLOCATE=${row%:*}" arena.c -o arena || fail "gcc refuses ${row%:*}"
    try 1 "$mallow" doctor ./arena
    diagnosis finding allocator "brings ${row#*:} .${row%:*}.: .*in no profile"
done
"$mallow" run -o p.pb.gz -- ./arena >out 2>err
says err 'run: note: ./arena brings tcmalloc .tc_malloc.'
LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=prof_state_min:0 ./arena wait &
started+=("$!")
has_become_arena() {
    grep -qx arena "/proc/$1/comm"
}
await 60 has_become_arena "$!"
try 1 "$mallow" doctor "$!"
diagnosis finding allocator 'arena brings tcmalloc .tc_malloc.'
gcc -fno-builtin -DALLOCATE=malloc arena.c -o arena
"$mallow" doctor ./arena >out
diagnosis note allocator 'brings a malloc of its own'
"$mallow" doctor sleep >out
says_not out '  allocator  '
head -c 3000 arena >arena.cut && chmod +x arena.cut
"$mallow" doctor ./arena.cut >out 2>err
[ $? -le 1 ] || fail "a cut executable is trouble"
ok "allocators in the executable"

# mallow itself under another name, and in the executable.
cp "$build/lib/libmallow.so" other_name.so
LD_PRELOAD=$work/other_name.so MALLOW_CONF=prof_state_min:0 sleep 100 &
started+=("$!")
await 60 has_become_sleep "$!"
"$mallow" doctor "$!" >out
diagnosis fine sampling 'sampling is on'
says_not out 'does not run mallow|brings'
ok "mallow under another name"

cp "$build/lib/libmallow.so" libjemalloc.so.2
LD_PRELOAD=$work/libjemalloc.so.2 MALLOW_CONF=prof_state_min:0 sleep 100 &
started+=("$!")
await 60 has_become_sleep "$!"
"$mallow" doctor "$!" >out
diagnosis fine sampling 'sampling is on'
says_not out 'does not run mallow|brings|loaded as well'
# Its heap is below prof_state_min: it publishes the profile when it is asked for it.
if [ "$(uname -m)" = x86_64 ]; then
    LD_PRELOAD=$work/libjemalloc.so.2 sleep 100 &
    started+=("$!")
    await 60 has_become_sleep "$!"
    "$mallow" doctor "$!" >out
    diagnosis fine sampling 'sampling is on'
    says_not out 'does not run mallow'
fi
ok "mallow under another allocator's name"

# An allocator without a name: the heap is compared with the memory that the process has.
cat >unseen.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile sig_atomic_t is_over;
static void on_end(int number) {
	is_over = number;
}
int main(void) {
	enum { BYTES = 24 << 20 };
	void *volatile block = malloc(64);
	void *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(block);
	signal(SIGTERM, on_end);
	if (all == MAP_FAILED || memset(all, 1, BYTES) != all || write(1, "ready\n", 6) != 6)
		return 1;
	while (!is_over)
		pause();
	return 0;
}
END
gcc -O1 -fno-builtin -s -o unseen unseen.c || fail "gcc"
# The run looks at the program from time to time: what it has read grows.
has_read() { sed -n 's/^rchar: //p' "/proc/$1/io"; }
has_looked() { [ "$(has_read "$running")" -gt "$before" ]; }
"$mallow" run -o unseen.pb.gz -- ./unseen >unseen.out 2>unseen.err &
running=$!
await 60 grep -qs ready unseen.out
for _ in 1 2 3; do
    before=$(has_read "$running")
    await 60 has_looked
done
pid=$(sed 's/ .*//' "/proc/$running/task/$running/children")
"$mallow" doctor "$pid" >out
diagnosis note memory 'the heap has [0-9.]+ (Ki)?B of 24[.0-9]* MiB of the process.s anonymous'
"$mallow" leaks "$pid" >out
says out '  note +most of the process.s memory came past malloc'
kill "$pid"
wait "$running" || fail "run: status $?"
grep -qE 'resident 2[4-9][.0-9]* MiB at the peak: [0-9.]+ KiB from malloc .*, 24[.0-9]* MiB' \
    unseen.err ||
    fail "run: $(cat unseen.err)"
# Nothing to say of a program whose memory is its heap.
build_steps <<'END'
#include <string.h>
int main(void) {
	for (int i = 0; i < 20000; i++)
		memset(malloc(1000), 1, 1000);
	wait_for_line();
	return 0;
}
END
conf=prof_state_min:0
start_ready ./steps
"$mallow" doctor "$pid" >out
says_not out '  memory  '
"$mallow" leaks "$pid" >out
says_not out 'past malloc'
echo >&"$to"
ok "memory that comes past malloc"

# A program that is compiled and linked without unwind tables.
build_steps <<'END'
#include <string.h>
__attribute__((noinline)) static void grow(void) {
	for (int i = 0; i < 20000; i++)
		memset(malloc(1000), 1, 1000);
}
/* libc, which has tables, allocates nothing. */
static char of_output[4096], of_input[4096];
int main(void) {
	setvbuf(stdout, of_output, _IOFBF, sizeof of_output);
	setvbuf(stdin, of_input, _IOFBF, sizeof of_input);
	grow();
	wait_for_line();
	return 0;
}
END
cc -g -O2 -fno-builtin -fno-asynchronous-unwind-tables -fomit-frame-pointer steps.c -o steps ||
    fail "cc -fno-asynchronous-unwind-tables"
conf=
start_ready ./steps
"$mallow" doctor "$pid" >out
says out '^finding +stacks .*no stack of the program .*-fno-asynchronous-unwind-tables'
says_not out 'all frames have names'
echo >&"$to"
ok "no unwind tables"

# A finding that cannot be printed is trouble: a full disk does not look like a leak.
sleep 100 &
started+=("$!")
await 60 has_become_sleep "$!"
"$mallow" doctor "$!" >/dev/full 2>err
[ $? = 2 ] || fail "a finding that cannot be written: not 2"
says err 'standard output: cannot write: No space left'
ok "a full disk"
