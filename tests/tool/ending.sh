#!/bin/bash
# SPDX-License-Identifier: MIT
# ending.sh BUILD_DIR -- a process that is about to end has no memory any more, in which its library
# could be seen: it "has ended", and does not lack the library.
source "$(dirname "$0")/lib.bash"
needs pgrep
[ -n "${MALLOW_TEST_OWN_PIDS:-}" ] || skip "pid namespaces take root"
# The first process of a pid namespace is no zombie before all others are waited for, which a tracer
# outside can put off.
cat >tracer.c <<'EOF'
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char **argv) {
	if (argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) != 0 ||
	    write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
EOF
cc -O1 -o tracer tracer.c || fail "cc"
MALLOW_CONF=prof_state_min:0 unshare --pid --fork --kill-child env \
    LD_PRELOAD="$build/lib/libmallow.so" perl -e '
    my @kept = map { "x" x 1000 } 1 .. 3000;
    if (!fork) { sleep 1000 while 1; }
    sleep 1000 while 1;' &
started+=("$!")
has_both() { [ "$(pgrep -c -x perl)" = 2 ]; }
await 60 has_both
pid=$(pgrep -o -x perl)
child=$(pgrep -n -x perl)
await 60 is_known "$pid"
./tracer "$child" >traced &
tracer=$!
started+=("$tracer")
await 60 grep -qs ready traced
kill -9 "$pid"
has_no_memory() { ! grep -q VmSize "/proc/$pid/status"; }
await 60 has_no_memory
grep -q '^State:.Z' "/proc/$pid/status" && fail "the process is a zombie"
for command in report status 'set rate=1M' leaks cpu threads; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" $command "$pid"
    one_line_error
    says err "^mallow: pid $pid \(perl\): the process has ended and left no state file"
done
try 2 "$mallow" doctor "$pid"
says err "^mallow: doctor: pid $pid \(perl\): the process has ended"
ok "a process that is about to end"
