#!/bin/bash
# SPDX-License-Identifier: MIT
# replaced.sh BUILD_DIR -- a library without build-id whose file is replaced while the program has
# the former one: no name comes from the new file, and the report says so; each loaded version has
# its own names, and a file that only got other rights keeps them.
source "$(dirname "$0")/lib.bash"

# version NUMBER FIRST SECOND: both have the same functions in another order, so that all addresses
# and sizes are equal.
version() {
    {
        echo '#include <stdlib.h>'
        echo "void *$2(long bytes) { return malloc(bytes); }"
        echo "void *$3(long bytes) { return malloc(bytes); }"
    } >plugin.c
    cc -O1 -shared -fPIC -Wl,--build-id=none plugin.c -o "plugin.$1" || fail "plugin.c"
    # A package's files are older than their installation.
    touch -d '2020-01-01' "plugin.$1"
}
version 1 reserve compose
version 2 compose reserve
cat >host.c <<'END'
/* Each line of input: loads ./plugin.so anew, allocates with it; prints "ready". */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *kept[4000];
int main(void) {
	int used = 0, loads = 0;
	void *plugin = NULL;
	do {
		if (plugin != NULL)
			dlclose(plugin);
		plugin = dlopen("./plugin.so", RTLD_NOW);
		void *symbol = plugin != NULL ? dlsym(plugin, "reserve") : NULL;
		void *(*reserve)(long) = (void *(*)(long))symbol;
		for (int i = 0; i < 1000 && symbol != NULL; i++)
			kept[used++] = reserve(10240 << loads);
		loads++;
		puts("ready");
		fflush(stdout);
	} while (getchar() != EOF && loads < 4);
	return 0;
}
END
cc -g -Wl,--build-id=none -o host host.c || fail "host.c"

conf=lg_prof_sample:0,prof_state_min:0
start() {
    cp -p plugin.1 plugin.so
    start_ready ./host
}
replace() {
    cp -p "plugin.$1" new.so && mv new.so plugin.so
}
is_named() {
    try 0 "$mallow" report --top 10 "$pid"
    says out "^ *$1 MiB .* reserve\$"
    says_not out compose
}
is_refused() {
    try 0 "$mallow" report --top 10 "$pid"
    says_not out 'compose|reserve'
    says out 'plugin\.so\+0x'
    says err 'plugin\.so: was replaced or changed after the program had loaded it'
}

start
is_named 9.77
says_not err replaced
chmod 700 plugin.so
is_named 9.77
replace 2
# Root may open the former file by the process's mapping.
if "$mallow" report --top 10 "$pid" 2>/dev/null | grep -c ' reserve$' >out; then
    is_named 9.77
else
    is_refused
fi
mkdir former && cp plugin.1 former/plugin.so
try 0 "$mallow" report --top 10 --binary-path=former "$pid"
says out '^ *9.77 MiB .* reserve$'
says_not out compose
ok "a live process"

kill -9 "$pid"
wait "$pid" 2>/dev/null
is_refused
ok "a process that was killed"

# The new version is loaded where the former one was: 1,000 blocks of 20 KiB are its own.
start
replace 2
obey x
is_named 19.5
says out '^ *9.77 MiB .* plugin\.so\+0x'
says err 'plugin\.so: was replaced or changed after the program had loaded it'
kill -9 "$pid"
wait "$pid" 2>/dev/null
is_named 19.5
says out '^ *9.77 MiB .* plugin\.so\+0x'
ok "two versions in one process"

# Written over in place: what is mapped are the new bytes.
start
replace 1
obey x
cat plugin.1 >plugin.so
is_named 29.3
ok "a file with the same bytes, written anew"
