#!/bin/bash
# SPDX-License-Identifier: MIT
# full_disk.sh BUILD_DIR -- files that a process writes for its user, on a full file system and
# below RLIMIT_FSIZE: one message each, no part of a file is left behind, and the program ends as
# usual.
source "$(dirname "$0")/lib.bash"
if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ] ||
    ! { mkdir disk && mount -t tmpfs -o size=64k tmpfs disk; }; then
    echo "skipped: no small file system can be mounted (needs root and namespaces)"
    exit 77
fi
at_end "umount $work/disk"
cat >work.c <<'END'
#include <stdlib.h>
void *blocks[3000];
int main(void) {
	for (int i = 0; i < 3000; i++)
		blocks[i] = malloc(1000);
	for (int i = 0; i < 3000; i++)
		free(blocks[i]);
	for (volatile long i = 0; i < 200000000; i++) {
	}
	return 3;
}
END
cc -g -O1 work.c -o work || fail "the compiler refuses work.c"
compat=$build/lib/mallow/compat

# leaves_nothing PATTERN VARIABLE...: the program with these variables says PATTERN once.
leaves_nothing() {
    local pattern=$1
    shift
    try 3 env "$@" ./work
    [ "$(grep -cE "$pattern" err)" = 1 ] || fail "$*: not one line '$pattern'"
    [ -z "$(find "$work/disk" -type f ! -name filler)" ] || fail "$*: left $(ls -l disk)"
}

each_kind() {
    leaves_nothing "prof_log .*/disk/log.*: no space is left on the file system; there is no log" \
        LD_PRELOAD="$build/lib/libmallow.so" \
        MALLOW_CONF="lg_prof_sample:0,prof_log:true,prof_prefix:$work/disk/log"
    leaves_nothing "Failed dumping heap profile to .*errno is (27|28)" \
        LD_PRELOAD="$compat/libtcmalloc.so.4" HEAPPROFILE="$work/disk/heap"
    leaves_nothing "CPU profile .*/disk/cpu: it cannot be written \(errno (27|28)\)" \
        LD_PRELOAD="$compat/libprofiler.so.0" CPUPROFILE="$work/disk/cpu"
}

head -c 64k /dev/zero >disk/filler 2>/dev/null
each_kind
leaves_nothing "dump .*/disk/dump.*: no space is left on the file system" \
    LD_PRELOAD="$build/lib/libmallow.so" \
    MALLOW_CONF="lg_prof_sample:0,prof_final:true,dump_name:$work/disk/dump.pb"
ok "a full file system"
rm disk/filler
ulimit -f 1
each_kind
ok "a limit of 1 KiB a file"
