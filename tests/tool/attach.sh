#!/bin/bash
# SPDX-License-Identifier: MIT
# attach.sh BUILD_DIR -- `mallow attach` and `mallow detach` with processes that were started
# without mallow: what the profile says, what the process notices, and what is refused.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ -s "$build/lib/mallow/attach.bin" ] || {
    echo "skipped: no code for this processor"
    exit 77
}
needs python3 gdb
g++ -O2 -g -pthread -o threads "$here/../torture/attach_threads.cc" || fail "g++"
cc -O1 -g -o epoll "$here/attach_epoll.c" || fail "cc"

asleep ./threads 4
try 0 "$mallow" attach --rate 4K "$pid"
says out "attached to glibc's malloc: [0-9]+ slots in [0-9]+ modules, T = 4 KiB"
try 2 "$mallow" attach "$pid"
one_line_error
says err 'attached already'
has_samples() {
    grep -q check_blocks <<<"$("$mallow" report --sample-type alloc_space "$pid" 2>/dev/null)"
}
await 60 has_samples
try 0 "$mallow" status "$pid"
says out 'attached   since .*: what was allocated before is not in the profile'
says out 'slots      [0-9]+ in [0-9]+ modules'
says_not out 'free blocks in the same pages|huge_blocks'
try 0 "$mallow" report "$pid"
says out "Note: .*'mallow attach' began the profile"
says_not out '^Memory:'
try 2 "$mallow" map "$pid"
for command in leaks trim; do
    try 2 "$mallow" "$command" "$pid"
    one_line_error
    says err "pid $pid: it cannot .*, because mallow is not its allocator"
done
# The kernel samples its CPU time.
try 0 "$mallow" cpu --for 0.5s "$pid"
says out ' check_blocks$'
try 0 "$mallow" detach "$pid"
says out 'detached'
try 0 "$mallow" status "$pid"
says out 'detached   at '
try 2 "$mallow" detach "$pid"
one_line_error
says err 'not attached'
try 0 "$mallow" attach --exact "$pid"
try 0 "$mallow" detach "$pid"
ends "four threads, attached twice"

# What was allocated in the last seconds and is in use, by stack.
cat >grows.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char *volatile last;
__attribute__((noinline)) static void keep(void) {
    last = malloc(3000);
}
__attribute__((noinline)) static void use(void) {
    last = malloc(5000);
    free(last);
}
int main(void) {
    puts("ready");
    fflush(stdout);
    for (int c; (c = getchar()) != EOF;)
        for (int i = 0; i < 200; i++) {
            use();
            if (c == 'k')
                keep();
        }
    return 0;
}
END
cc -O1 -g -o grows grows.c || fail "cc"
asleep ./grows
try 0 "$mallow" attach --exact "$pid"
echo k >&"$input"
has_kept() {
    "$mallow" leaks --growth 100 --json "$pid" >kept.json 2>err &&
        grep -q '"blocks": 200,' kept.json
}
await 60 has_kept
grep -q '"stack_count": 1,' kept.json || fail "more than one stack: $(cat kept.json)"
try 0 "$mallow" leaks --growth 100 "$pid"
says out '^grows \(pid [0-9]+\): 58[0-9] KiB in 200 blocks allocated in the last .* and in use$'
says out '^      keep  '
says_not out ' use  '
# Nothing was allocated in the last hundredth of a second, as soon as that has passed.
has_grown_no_more() {
    "$mallow" leaks --growth 0.01 "$pid" >out 2>err && grep -q ': 0 B in 0 blocks' out
}
await 60 has_grown_no_more
try 0 "$mallow" detach "$pid"
try 2 "$mallow" leaks --growth 100 "$pid"
one_line_error
says err 'mallow is detached from it'
ends "growth"

# A program that takes EINTR for an error sleeps all the while.
asleep ./epoll
for _ in 1 2 3 4 5; do
    try 0 "$mallow" attach "$pid"
    try 0 "$mallow" detach "$pid"
done
ends "a program that gives up at EINTR"

# Two commands at once: one waits for the other.
asleep ./threads 2
"$mallow" attach "$pid" >first 2>&1 &
one=$!
"$mallow" attach "$pid" >second 2>&1
two=$?
wait "$one"
[ $((two + $?)) = 2 ] || fail "two commands: $(cat first second)"
grep -q 'attached already' first second || fail "no command says that it came second"
try 0 "$mallow" detach "$pid"
ends "two commands at once"

# A process is named by its program; doctor says before what would happen.
cp epoll only_one
asleep ./only_one
try 1 "$mallow" doctor "$pid"
says out "fine +attach +'mallow attach $pid' can profile what only_one allocates"
try 0 "$mallow" attach only_one
says out "pid $pid: attached to glibc's malloc"
try 0 "$mallow" detach only_one
# It does not keep the pipe open itself.
./only_one <pipe >/dev/null {input}>&- &
second=$!
started+=("$second")
has_become() { grep -qx only_one "/proc/$1/comm"; }
await 60 has_become "$second"
try 2 "$mallow" attach only_one
one_line_error
says err "2 processes have the name 'only_one'; give one of their pids: [0-9]+, [0-9]+\$"
ends "a process by its name"
wait "$second" || fail "the second process ended with status $?"

for options in "--for 3" "--force" "-o x.pb.gz" "--outside --detach-after 3"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" attach $options 1
    one_line_error
    says err 'attach: .*--outside'
done
for options in "--force" "--rate 4K" "--outside 3 --watch 3" "--outside 3 --growth 3" \
    "--outside 3 --peek" "--outside 3 --last" "--outside 3 --suppress x"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" leaks $options 1
    one_line_error
    says err 'leaks: .*--outside'
done
ok "options of --outside"

# What is refused leaves registers, mappings and code as they were.
state_of() {
    sed 's/ *$//' "/proc/$pid/maps"
    gdb -batch -p "$pid" -ex 'info registers' -ex "x/64xg \$sp" 2>/dev/null |
        grep -E '^(r[a-z0-9]+|0x)'
}
# refused PATTERN: attaching ends with status 2 and one line, and changes nothing.
refused() {
    try 2 "$mallow" attach "$pid"
    one_line_error
    says err "$1"
}
asleep bash -c 'echo ready; exec cat'
await 60 grep -q '^Name:.cat' "/proc/$pid/status"
state_of >before
kill -STOP "$pid"
await 60 grep -q '^State:.T' "/proc/$pid/status"
refused 'kill -CONT'
kill -CONT "$pid"
await 60 grep -q '^State:.S' "/proc/$pid/status"
state_of >after
cmp -s before after || fail "a refused process has changed: $(diff before after)"
ends "stopped"

asleep bash -c 'echo ready; exec cat'
gdb -batch -p "$pid" -ex 'shell touch traced; while [ -e traced ]; do sleep 0.05; done' \
    >/dev/null 2>&1 &
tracer=$!
started+=("$tracer")
await 60 test -e traced
refused 'traces it; end that first'
rm traced
wait "$tracer"
ends "traced"

asleep env LD_PRELOAD="$build/lib/libmallow.so" ./epoll
refused 'runs with libmallow already'
ends "with libmallow"

cc -O1 -static -o fixed "$here/attach_epoll.c" || fail "cc -static"
asleep ./fixed
try 1 "$mallow" doctor "$pid"
says out "note +attach +'mallow attach $pid' cannot: it is a static program"
refused 'static program.*attach --outside [0-9]'
ends "static"

# It defines malloc, and its own calls have no slot.
cat >own.c <<'END'
#include <stddef.h>
static char pool[65536];
static size_t used;
void *malloc(size_t bytes) {
    used += (bytes + 15) / 16 * 16;
    return &pool[used - (bytes + 15) / 16 * 16];
}
void free(void *block) {
    (void)block;
}
END
cc -O1 -fno-builtin -rdynamic -o own "$here/attach_epoll.c" own.c || fail "cc"
asleep ./own
refused 'its malloc is a part of the program'
ends "a program that defines malloc"

cc -O1 -g -fsanitize=address -o asan "$here/attach_epoll.c" 2>/dev/null && {
    asleep ./asan
    refused 'sanitizer'
    ends "AddressSanitizer"
}

# A process that calls pause(2) and allocates nothing; kernels need not run it.
cat >narrow.s <<'END'
.globl _start
_start: movl $29, %eax
        int $0x80
        jmp _start
END
as --32 -o narrow.o narrow.s || fail "as --32"
ld -m elf_i386 -o narrow narrow.o || fail "ld"
./narrow &
pid=$!
started+=("$pid")
sleep 0.1
if grep -qs '^narrow$' "/proc/$pid/comm"; then
    refused '32-bit program'
    try 1 "$mallow" doctor "$pid"
    says out 'finding +preload .*32-bit program, of which there is no mallow; build it'
    says_not out 'libmallow.a'
    kill "$pid"
fi
ok "32 bits"

if command -v go >/dev/null; then
    cat >waits.go <<'END'
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}
END
    HOME=$work GOCACHE=$work/go CGO_ENABLED=0 go build -o waits waits.go || fail "go build"
    asleep ./waits
    refused "Go program.*pprof"
    ends "Go"
fi

# A process that takes the right to trace it from others of its user, as ssh-agent and gpg-agent do.
cat >secretive.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
int main(void) {
    free(malloc(100));
    prctl(PR_SET_DUMPABLE, 0);
    puts("ready");
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
END
cc -O1 -o secretive secretive.c || fail "cc"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$work" secretive
    cp "$mallow" theirs
    user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    asleep "${user[@]}" ./secretive
    try 2 "${user[@]}" ./theirs attach "$pid"
    one_line_error
    says err 'may not be traced .*root may'
    ends "a process that may not be traced"
fi

asleep ./epoll
exec {input}>&-
wait "$pid"
refused 'no such process'
try 2 "$mallow" attach hello
one_line_error
says err "no process has the name 'hello'"
try 2 "$mallow" attach 2
says err 'thread of the kernel|no such process|belongs to another user'
ok "no process"
