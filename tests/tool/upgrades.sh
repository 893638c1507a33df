#!/bin/bash
# SPDX-License-Identifier: MIT
# upgrades.sh BUILD_DIR [--keep LIBRARY] -- a library and a command of different versions: state
# files of this layout and profiles of earlier versions are read, state files of other layouts are
# refused with one line, and nothing is written to them.  layouts/ has an archive for each layout
# since 14, of a state file and dumps by the command of that time, and the state file of layout 8.
# --keep adds what LIBRARY, the libmallow.so of a build folder, and the command of that folder
# write.
source "$(dirname "$0")/lib.bash"
needs python3
unset MALLOW_CONF
layouts=$here/layouts
version=$(sed -n 's/^#define MW_STATE_VERSION \([0-9]*\)u$/\1/p' "$here/../../src/state/layout.h")
[ -n "$version" ] || fail "the layout has no version"

# Keeps 1000 blocks of 1000 bytes, each of them a sample.
keep() {
    local library=$1 state number command
    cat >keeper.c <<'END_OF_C'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept[1000];
static void fill(void) {
	for (int i = 0; i < 1000; i++)
		kept[i] = memset(malloc(1000), 'k', 1000);
}
int main(void) {
	fill();
	raise(SIGKILL);
}
END_OF_C
    cc -g -O1 -fno-inline -fno-builtin -o keeper keeper.c || fail "keeper.c does not compile"
    MALLOW_CONF=prof_sample:1,prof_state_min:0,prof_seed:1 LD_PRELOAD=$library ./keeper 2>err
    state=$(echo "/dev/shm/mallow-$(id -u)/"*)
    [ -f "$state" ] || fail "the program left no state file: $state"
    number=$(od -An -tu4 -j8 -N4 "$state" | tr -d ' ')
    mv "$state" "$number.state"
    command=${library%/lib/*}/bin/mallow
    if [ -x "$command" ]; then
        "$command" dump -o "$number.pb.gz" "$number.state" 2>err || fail "dump as proto"
        "$command" dump -o "$number.heap" "$number.state" 2>err || fail "dump as text"
    fi
    tar --sparse --owner=0 --group=0 -czf "$layouts/$number.tar.gz" "$number".*
    ok "layouts/$number.tar.gz"
}
if [ "${2:-}" = --keep ]; then
    keep "${3:?--keep LIBRARY}"
    exit
fi

[ -f "$layouts/$version.tar.gz" ] ||
    fail "layouts/ has no state file of layout $version: make it by $0 BUILD_DIR --keep LIBRARY"
# On the file system of state files, where holder.py renames them.
unpacked=$(mktemp -d /dev/shm/unpacked.XXXXXX)
at_end "rm -rf '$unpacked'"
unpack() {
    tar -C "$unpacked" -xzf "$layouts/$1.tar.gz" || fail "layouts/$1.tar.gz"
}
unpack "$version"
try 0 "$mallow" report "$unpacked/$version.state"
says out '^Total: +1000 KiB \(1024000 bytes\) in 1000 objects, from 1 stack$'
says out '^ +1000 KiB 100\.0% 100\.0% +1000 KiB 100\.0%  keeper\+0x'
says out '^Ended: +killed'
ok "the state file of layout $version is read as it was written"

count=0
for kept in "$layouts"/*.tar.gz; do
    tar -xzf "$kept" --wildcards '*.pb.gz' '*.heap' 2>/dev/null
done
for profile in *.pb.gz *.heap; do
    count=$((count + 1))
    try 0 "$mallow" report "$profile"
    says out '^Total: +1000 KiB.* in 1000 objects'
    case $profile in
    *.pb.gz) says out '^ +1000 KiB 100\.0% 100\.0% +1000 KiB 100\.0%  fill' ;;
    *) says out '^ +1000 KiB 100\.0% 100\.0% +1000 KiB 100\.0%  ' ;;
    esac
    ok "$profile is read"
done
[ "$count" -ge 4 ] || fail "only $count profiles are kept"

# A process that holds the state file, as its library would.
cat >holder.py <<'END_OF_PYTHON'
import fcntl, mmap, os, struct, sys
kept, = sys.argv[1:]
ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
folder = f"/dev/shm/mallow-{os.getuid()}"
os.makedirs(folder, 0o700, exist_ok=True)
path = f"{folder}/{os.getpid()}.{ticks}.{os.stat('/proc/self/ns/pid').st_ino}"
os.rename(kept, path)
file = os.open(path, os.O_RDWR)
memory = mmap.mmap(file, 4096)
# As src/os takes it: F_OFD_SETLK of byte 0.
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
print(path, flush=True)
sys.stdin.readline()
END_OF_PYTHON

# refused FILE NUMBER: by every command that reads a state file, of a dead and of a live process.
refused() {
    local file=$1 number=$2 path before
    local line="has layout version $number, this command reads version $version; use the command"
    try 2 "$mallow" report "$file"
    says err "$line"
    one_line_error
    mkfifo holder.in holder.out
    python3 holder.py "$file" <holder.in >holder.out &
    holder=$!
    started+=("$holder")
    exec {to}>holder.in {from}<holder.out
    read -rt 60 path <&"$from" || fail "the holder does not answer"
    before=$(head -c 65536 "$path" | sha256sum)
    for command in report status "dump -o out.pb.gz" start stop reset "set rate=1M" \
        "mark --label m" leaks trim "top --top 1" map advise timeline; do
        # shellcheck disable=SC2086 # its words
        try 2 "$mallow" $command "$holder"
        says err "$line"
        one_line_error
    done
    try 0 "$mallow" ls --all
    says err "/$holder\..*$line"
    says_not err 'no process runs mallow;'
    [ "$(head -c 65536 "$path" | sha256sum)" = "$before" ] || fail "something was written"
    exec {to}>&- {from}<&-
    wait "$holder"
    rm -f holder.in holder.out "$path"
}
for kept in "$layouts"/*.tar.gz; do
    number=${kept##*/}
    number=${number%.tar.gz}
    [ "$number" = "$version" ] && continue
    unpack "$number"
    refused "$unpacked/$number.state" "$number"
    ok "layout $number is refused by one line, and nothing is written"
done
# A later library: the layout's number is the first word behind the magic.
later=$((version + 1))
printf '%b' "\\x$(printf %x "$later")" |
    dd of="$unpacked/$version.state" bs=1 seek=8 conv=notrunc status=none
refused "$unpacked/$version.state" "$later"
ok "layout $later is refused by one line, and nothing is written"
