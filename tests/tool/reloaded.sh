#!/bin/bash
# SPDX-License-Identifier: MIT
# reloaded.sh BUILD_DIR -- a program that loads new versions of a plug-in, each where the former one
# was: heap and CPU samples of each version have its own function names, while the program runs and
# after it was killed.
source "$(dirname "$0")/lib.bash"
compiler=${CC:-cc}

# Both versions have the same functions in another order, so all addresses and sizes are equal.
reserve='void *reserve(long bytes) { return malloc(bytes); }'
compose='void *compose(long bytes) { return malloc(bytes); }'
spin() {
    echo "void *$1(long n) { for (volatile long i = 0; i < n * 100; i++) {} return 0; }"
}
# version NUMBER OPTIONS FIRST SECOND
version() {
    mkdir -p "$1"
    {
        echo '#include <stdlib.h>'
        echo "$3"
        echo "$4"
    } >"$1/plugin.c"
    # shellcheck disable=SC2086 # options are words
    "$compiler" $2 -O1 -shared -fPIC "$1/plugin.c" -o "$1/plugin.so" ||
        fail "the compiler refuses $1/plugin.c"
}

cat >host.c <<'END'
/* host ROUNDS FUNCTION...: calls FUNCTION of the plug-in 1, 2, 1, ... */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	void *last = NULL;
	int repeats = 0, rounds = atoi(argv[1]);
	for (int i = 0; i < rounds; i++) {
		void *plugin = dlopen(i % 2 ? "./2/plugin.so" : "./1/plugin.so", RTLD_NOW);
		Dl_info info;
		if (plugin == NULL || dladdr(dlsym(plugin, argv[2]), &info) == 0)
			return 2;
		repeats += info.dli_fbase == last;
		last = info.dli_fbase;
		for (int k = 2; k < argc; k++) {
			void *function = dlsym(plugin, argv[k]);
			void *(*call)(long) = (void *(*)(long))function;
			for (int n = 0; n < 10; n++) {
				void *block = call(10000 + 10000 * (i % 2));
				if (block != NULL)
					memset(block, 1, 10000);
			}
		}
		dlclose(plugin);
	}
	printf("%d of %d loads at one place\n", repeats, rounds);
	fflush(stdout);
	while (strcmp(argv[2], "reserve") == 0)
		pause();
	return 0;
}
END
"$compiler" -g host.c -o host || fail "the compiler refuses host.c"

# `reserve` of version 1 has 500 blocks of 10 KiB, that of version 2 500 of 20, `compose` none.
names_are_right() {
    try 0 "$mallow" report --top 10 "$1"
    says out '^ *14.6 MiB .* reserve$'
    says_not out compose
}

# Without debug information the two files differ in a few bytes of code and symbols only.
conf=lg_prof_sample:0,dump_name:own.heap,dump_signal:12
for option in -Wl,--build-id -Wl,--build-id=none; do
    version 1 "$option" "$reserve" "$compose"
    version 2 "$option" "$compose" "$reserve"
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=$conf ./host 100 reserve >told &
    pid=$!
    started+=("$pid")
    await 60 grep -q loads told
    repeats=$(cut -d" " -f1 told)
    [ "$repeats" -gt 50 ] || fail "only $(cat told)"
    names_are_right "$pid"
    try 0 "$mallow" dump -o live.pb.gz "$pid"
    try 0 "$mallow" dump -o live.heap "$pid"
    try 0 "$mallow" dump --format gperftools -o live.gperftools "$pid"
    kill -USR2 "$pid"
    await 60 test -e own.heap
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    names_are_right "$pid"
    # A line of a text format does not say of which library an address is.
    for file in live.pb.gz live.heap live.gperftools own.heap; do names_are_right "$file"; done
    rm own.heap
    ok "heap samples, $option: $(cat told)"
done

# CPU samples, at 1000 a second.
version 1 "-g -Wl,--build-id" "$(spin busy)" "$(spin calm)"
version 2 "-g -Wl,--build-id" "$(spin calm)" "$(spin busy)"
try 0 "$mallow" run --cpu-rate 1000 -o cpu.pb.gz -- ./host 20 busy
try 0 "$mallow" report --lines --top 10 --show 'busy|calm' cpu.pb.gz
says out 'busy  1/plugin.c:2'
says out 'busy  2/plugin.c:3'
says_not out calm
ok "CPU samples"
