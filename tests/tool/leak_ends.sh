#!/bin/bash
# SPDX-License-Identifier: MIT
# leak_ends.sh BUILD_DIR -- arrays that a program holds by their first element and by the end behind
# their last one: the end is not taken for a pointer to the block behind, which is lost.
source "$(dirname "$0")/lib.bash"
cat >ends.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef COUNT
#define COUNT 1000
#endif
typedef struct array {
	char *first, *end;
} array_t;
array_t *arrays;
__attribute__((noinline)) static void lose(size_t bytes) {
	volatile char *block = malloc(bytes);
	block[0] = 1;
}
int main(int argc, char **argv) {
	size_t bytes = (size_t)atol(argv[1]);
	arrays = calloc(COUNT, sizeof *arrays);
	for (int i = 0; i < COUNT; i++) {
		arrays[i].first = malloc(bytes);
		arrays[i].end = arrays[i].first + bytes;
		lose(bytes);
	}
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	return 0;
}
END
cc -g -O1 ends.c -o ends || fail "the compiler refuses ends.c"

# most_are_found FILE: at least 990 of the 1000 lost blocks, and none of those that are held.
most_are_found() {
    local count
    count=$(sed -n 's/^ends .pid [0-9]*.: \([0-9]*\) blocks leaked.*/\1/p' "$1")
    if [ "${count:-0}" -lt 990 ] || [ "$count" -gt 1000 ]; then
        fail "$bytes bytes: $(head -5 "$1")"
    fi
}

for bytes in 16 48 64 128 256 1024 4096 8192; do
    try 1 "$mallow" run --leaks -- ./ends $bytes
    most_are_found err
done
ok "arrays of 16 to 8192 bytes when the program ends"

for bytes in 64 1024; do
    rm -f input
    mkfifo input
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 \
        ./ends $bytes wait <input >told &
    pid=$!
    started+=("$pid")
    exec 7>input
    await 60 grep -q ready told
    try 1 "$mallow" leaks --wait 60 "$pid"
    most_are_found out
    exec 7>&-
    wait "$pid" || fail "the program ends with $?"
done
ok "arrays of a live process"

for bytes in 64 1024; do
    try 23 env LD_PRELOAD="$build/lib/mallow/compat/liblsan.so.0" ./ends $bytes
    says err "^SUMMARY: LeakSanitizer: [0-9]+ byte.s. leaked in (99[0-9]|1000) allocation"
done
ok "liblsan"

# One block in some thousands is sampled: a sampled block that is lost is found as well, and tells
# how many others ends hide.
cc -g -O1 -DCOUNT=300000 ends.c -o ends || fail "the compiler refuses ends.c"
for bytes in 64 256; do
    rm -f input
    mkfifo input
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=prof_seed:7,prof_cost_limit:0 \
        ./ends $bytes wait <input >told &
    pid=$!
    started+=("$pid")
    exec 7>input
    await 60 grep -q ready told
    try 1 "$mallow" leaks --wait 60 "$pid"
    # 37 and 146 of the blocks are sampled, as a rule: bounds at four deviations.
    about=$(sed -nE 's/^  note +about .* in ([0-9.e+]+) blocks leaked, as the sampled.*/\1/p' out)
    awk -v n="${about:-0}" -v e="$(awk "BEGIN { print 4 / sqrt(300000 * $bytes / 524288) }")" \
        'BEGIN { exit !(n > 300000 * (1 - e) && n < 300000 * (1 + e)) }' ||
        fail "$bytes bytes: about '$about' of 300000 blocks"
    exec 7>&-
    wait "$pid" || fail "the program ends with $?"
    : >told
done
ok "arrays at the ordinary rate"
