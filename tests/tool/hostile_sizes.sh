#!/bin/bash
# SPDX-License-Identifier: MIT
# hostile_sizes.sh BUILD_DIR -- what a crafted file can make the command take: memory, time, lines
# on the terminal.
source "$(dirname "$0")/lib.bash"
needs python3

# within KIB SECONDS STATUS COMMAND...: as try, with at most so much address space and processor
# time.
within() {
    local kib=$1 seconds=$2
    shift 2
    # shellcheck disable=SC2016 # expanded by the shell within
    try "$1" bash -c 'ulimit -v "$1" -t "$2"; shift 2; exec "$@"' bash "$kib" "$seconds" "${@:2}"
}

# A file of a state file's size that is none is not read whole.
truncate -s 1G blank
within 300000 5 2 "$mallow" report blank
one_line_error
says_not err 'memory'
printf 'XALLOWST' | dd of=blank conv=notrunc 2>/dev/null
within 300000 5 2 "$mallow" report blank
one_line_error
says_not err 'memory'
# Nor from a pipe.
# shellcheck disable=SC2016
try 2 bash -c 'ulimit -v 300000; head -c 1G /dev/zero | "$1" report /dev/stdin' bash "$mallow"
one_line_error
says_not err 'memory'
ok "files of no format are not read whole"

# A reader takes 1 GiB, or what the option says.
python3 - >large.heap <<'END'
print("heap profile: 1: 1 [1: 1] @ heapprofile")
block = "1: 1 [1: 1] @ 0x1\n" * 100000
for i in range(120):
    print(block, end="")
END
try 2 "$mallow" report large.heap
one_line_error
says err 'large.heap: takes more than 1.00 GiB of memory to read; --memory=SIZE allows more'
try 0 "$mallow" top --memory 8G large.heap
head -100000 large.heap >middle.heap
try 0 "$mallow" report middle.heap
try 2 "$mallow" report --memory=4M middle.heap
one_line_error
says err 'takes more than 4.00 MiB of memory'
try 2 "$mallow" report --memory=none middle.heap
one_line_error
# The limit holds for reading alone: programs that the command starts have what they had.
try 0 "$mallow" run -o ran.pb.gz -- bash -c 'ulimit -d'
says out unlimited
ok "memory for reading is bounded"

# MAPPED_LIBRARIES: linear time, and a few notes.
python3 - <<'END'
def write(name, count):
    with open(name, "w") as f:
        f.write("heap profile: 1: 1 [1: 1] @ heapprofile\n")
        for i in range(count):
            f.write("1: 100 [1: 100] @ %x\n" % (0x10000000 + i * 0x1000 + 16))
        f.write("\nMAPPED_LIBRARIES:\n")
        for i in range(count):
            start = 0x10000000 + i * 0x1000
            f.write("%x-%x r-xp 00000000 00:00 0 /nonexistent/%d.so\n" % (start, start + 0x1000, i))
write("libraries.heap", 100000)
write("four.heap", 4)
write("three.heap", 3)
END
within 2000000 15 0 "$mallow" top libraries.heap
[ "$(grep -c '^mallow: note' err)" -le 4 ] || fail "$(grep -c '^mallow: note' err) notes"
says err 'note: 99997 more files could not be used; their functions have no names'
try 0 "$mallow" top four.heap
says err 'note: 1 more file could not'
try 0 "$mallow" top three.heap
says_not err 'more files'
ok "100,000 libraries take a few seconds and a few lines"
