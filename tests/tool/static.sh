#!/bin/bash
# SPDX-License-Identifier: MIT
# static.sh BUILD_DIR -- static programs that are linked with libmallow.a and no other option, in C
# and C++: they have whole stacks, and the commands know them.
# shellcheck source=tests/tool/lib.bash
. "$(dirname "$0")/lib.bash"
needs cc c++ pkg-config

cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long sum;

__attribute__((noinline)) static void grow(void) {
	for (int i = 0; i < 20000; i++)
		memset(malloc(1000), 1, 1000);
}

__attribute__((noinline)) static void compute(void) {
	for (unsigned long i = 0; i < 1000; i++)
		__atomic_fetch_add(&sum, sum * 31 + i, __ATOMIC_RELAXED);
}

int main(int count, char **words) {
	if (count > 1)
		grow();
	puts("ready");
	fflush(stdout);
	while (count > 2)
		compute();
	while (getchar() != '\n')
		;
	return words == NULL;
}
END
cp program.c program.cc
# crt1.o of some releases of libc cannot be linked so.
cc -static program.c -o plain 2>err || skip "there is no static libc"
c++ -static program.cc -o plain 2>err || skip "there is no static libstdc++"

# sees_stacks: the process has whole stacks, and all commands know it.
sees_stacks() {
    "$mallow" report "$pid" >out 2>err || fail "report: $(cat err)"
    says out ' grow( |$|\(\))'
    says out ' main( |$)'
    says out ' _start$'
    says_not out truncated
    "$mallow" doctor "$pid" >out
    says_not out '  stacks  '
    says_not out 'does not run mallow'
    says_not out jemalloc
    "$mallow" status "$pid" >out || fail "status"
    says out "^$1 \(pid $pid\): running"
    "$mallow" leaks "$pid" >out 2>err
    # A register or the stack may still hold the last one.
    says out '^#1 .* in (20000|19999) blocks'
    says out '^ +main( |$)'
}

# try_kind COMPILER FILE [OPTION...]
try_kind() {
    local compiler=$1 file=$2 answer
    shift 2
    # The linker warns of calls of dlopen in static programs.
    "$compiler" -g -O1 -fno-builtin "$file" "$@" -o program "$build/lib/libmallow.a" 2>err ||
        fail "$compiler $*"
    start_piped program ./program grow
    read -r -t 60 answer <&"$from"
    sees_stacks program
    echo >&"$to"
    start_piped program ./program grow compute
    read -r -t 60 answer <&"$from"
    "$mallow" cpu --for 1s "$pid" >out 2>err || fail "cpu: $(cat err)"
    says out ' compute( |$|\(\))'
    says out ' main( |$)'
    says_not out truncated
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    # Without symbols, the tables are there.
    strip program
    start_piped program ./program grow
    read -r -t 60 answer <&"$from"
    try 0 "$mallow" traces "$pid"
    says_not out truncated
    echo >&"$to"
    ok "$compiler $*"
}
conf=
for program in 'cc program.c' 'c++ program.cc'; do
    # shellcheck disable=SC2086 # two words
    for options in -static -static-pie '-static-pie -Wl,--no-eh-frame-hdr' \
        '-static -Wl,--eh-frame-hdr'; do
        try_kind $program $options
    done
done

# libc of a static program allocates before all else, and hides where from writing.
conf=prof_state_min:0
start_piped program ./program
read -r -t 60 <&"$from"
try 0 "$mallow" leaks --wait 60 "$pid"
says out 'no leaks'
echo >&"$to"
conf=
ok "no leaks"

# A file, and a process whose heap is so small that it makes a state file only when it is asked.
try 0 "$mallow" doctor ./program
says out '^fine +program +\./program: it is linked with libmallow\.a'
says_not out 'jemalloc|preload'
start_piped program ./program
read -r -t 60 <&"$from"
"$mallow" doctor "$pid" >out
says out '^fine +sampling +sampling is on'
says_not out 'jemalloc|LD_PRELOAD'
echo >&"$to"
try 0 "$mallow" run --rate 1T ./program < <(echo)
says err 'no profile: program allocated too little'
says_not err 'jemalloc|statically linked'
ok "before there is a profile"

# A program that calls no malloc itself, by the flags that pkg-config knows.
cat >indirect.c <<'END'
#include <stdio.h>
#include <string.h>
int main(void) {
	size_t sum = 0;
	for (int i = 0; i < 100000; i++)
		sum += (size_t)strdup("many copies of one sentence that are never freed") % 3;
	printf("%zu\n", sum);
	return 0;
}
END
cp indirect.c indirect.cc
cmake --install "$build" --prefix "$work/prefix" >out 2>err || fail "install"
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
for program in 'cc indirect.c' 'c++ indirect.cc'; do
    for option in -static -static-pie; do
        # shellcheck disable=SC2046,SC2086 # words
        $program $option -g -fno-builtin $(pkg-config --static --cflags --libs mallow) \
            -o indirect 2>err || fail "$program $option by pkg-config"
        try 0 "$mallow" run -o profile.pb.gz ./indirect
        try 0 "$mallow" report profile.pb.gz
        says out ' main( |$)'
        says_not out truncated
        ok "pkg-config: $program $option"
    done
done
