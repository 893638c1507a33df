#!/bin/bash
# SPDX-License-Identifier: MIT
# timeline.sh BUILD_DIR -- the heap over time: of a process that ended, of its dumps, of some of
# their stacks; the page in a browser; complaints.
source "$(dirname "$0")/lib.bash"
needs python3

# Holds 4, then 8 MiB; at each step it waits for a line.
build_steps <<'CODE'
void *first_half(void) { return malloc(4 << 20); }
void *second_half(void) { return malloc(4 << 20); }
int main(void) {
	int kept = first_half() != NULL;
	wait_for_line();
	kept += second_half() != NULL;
	wait_for_line();
	return kept != 2;
}
CODE
conf=prof_sample:1,prof_state_min:0,prof_keep:true
start_piped steps ./steps
mkdir dumps
for step in 1 2; do
    read -r answer <&"$from"
    [ "$answer" = ready ] || fail "the program did not start"
    try 0 "$mallow" dump -o "dumps/$step.pb.gz" "$pid"
    sleep 0.2 # the next moment is another one
    echo >&"$to"
done
wait "$pid" || fail "the program failed"

series() { python3 -c \
    'import json; d = json.load(open("out"))
print(d["program"], d["type"], *[m["value"] >> 20 for m in d["moments"]])'; }
try 0 "$mallow" timeline --json "$pid"
python3 - <<'END' || fail "the moments of the process are wrong"
import json
data = json.load(open("out"))
moments = data["moments"]
assert (data["program"], data["type"], data["unit"]) == ("steps", "inuse_space", "bytes"), data
times = [m["time_ns"] for m in moments]
assert times == sorted(set(times)) and len(times) >= 2, times
assert data["total"] == moments[-1]["value"] and 8 << 20 <= data["total"] < 9 << 20, data
assert all(m["resident_bytes"] > 1 << 19 for m in moments), moments
END
try 0 "$mallow" timeline --sample-type alloc_space --json "$pid"
[[ $(series) == "steps alloc_space "*" 8" ]] || fail "allocated: $(series)"
try 0 "$mallow" timeline "$pid"
says out '^peak 8\.[0-9]+ MiB at .*, resident .*, allocated .*/s$'
ok "of a process that ended"

try 0 "$mallow" timeline --json dumps
[ "$(series)" = "steps inuse_space 4 8" ] || fail "dumps: $(series)"
for way in "--focus=second_half 0 4" "--ignore=second_half 4 4"; do
    read -r option before after <<<"$way"
    try 0 "$mallow" timeline --json "$option" dumps
    [ "$(series)" = "steps inuse_space $before $after" ] || fail "$option: $(series)"
done
try 0 "$mallow" timeline --sample-type alloc_objects --json dumps/2.pb.gz dumps/1.pb.gz
says out '"unit": "count"'
# Formats without a time have the file's.
"$mallow" dump --format jemalloc -o "dumps/old.heap" "$pid" 2>err || fail "no heap_v2"
touch -d '2020-01-01 UTC' dumps/old.heap
echo "no profile" >dumps/notes.txt
try 0 "$mallow" timeline --json dumps
says err '^mallow: note: left out 1 file without a profile$'
says out '"time_ns": 1577836800000000000, "value": 8'
ok "of dumps, and of their stacks"

# Elsewhere a directory stands for the newest dump of each process in it.
for way in "report --json" "top --json" "check --max-live 1M"; do
    # shellcheck disable=SC2086
    "$mallow" $way dumps >out 2>err
    says err '^mallow: note: dumps/2\.pb\.gz: the newest of its process$'
    says_not err 'dumps/1\.pb\.gz'
    says err '^mallow: note: left out 1 file without a profile$'
done
mkdir named
for name in jeprof.4711.{9.i9,10.i10}.heap jeprof.4712.0.f.heap server.{0001,0002}.heap; do
    cp dumps/old.heap "named/$name"
    sleep 0.02 # the next one is newer
done
try 0 "$mallow" top --sample_index=inuse_space --json named
for name in jeprof.4711.10.i10 jeprof.4712.0.f server.0002; do
    says err "^mallow: note: named/$name\.heap: the newest of its process\$"
done
[ "$(grep -c newest err)" = 3 ] || fail "more than the newest"
[ "$(python3 -c 'import json; print(json.load(open("out"))["total"] >> 20)')" = 24 ] ||
    fail "no sum of the three"
# Each is read once: a library counts the bytes that are read of a file.
cat >reads.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t read(int fd, void *bytes, size_t count) {
	char link[64], name[4096] = "";
	ssize_t got = syscall(SYS_read, fd, bytes, count);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (got > 0 && readlink(link, name, sizeof(name) - 1) > 0 &&
	    strstr(name, getenv("COUNTED"))) {
		FILE *reads = fopen("reads", "a");
		fprintf(reads, "%zd\n", got);
		fclose(reads);
	}
	return got;
}
END
cc -shared -fPIC reads.c -o reads.so
mkdir once
cp dumps/[12].pb.gz once/
for name in 1 2; do
    rm -f reads
    try 0 env "COUNTED=/once/$name.pb.gz" LD_PRELOAD="$PWD/reads.so" "$mallow" top --json once
    says err 'once/2\.pb\.gz: the newest'
    [ "$(awk '{ sum += $1 } END { print sum }' reads)" = "$(stat -c %s "once/$name.pb.gz")" ] ||
        fail "$name.pb.gz is read more than once"
done
# What is found there and is no file is not opened: opening a pipe waits, opening a device changes
# it.
mkfifo pipe once/pipe.pb.gz
ln -s ../pipe once/0.pb.gz
ln -s /dev/ptmx once/3.pb.gz
for way in "top --json" "timeline --json" "report --json" "check --max-live 1G"; do
    # shellcheck disable=SC2086
    try 0 timeout 60 "$mallow" $way once
    says err '^mallow: note: left out 2 files without a profile$'
done
# A pipe that the user names is read.
cat dumps/2.pb.gz >pipe &
started+=($!)
try 0 timeout 60 "$mallow" top --sample_index=inuse_space --json pipe
[ "$(python3 -c 'import json; print(json.load(open("out"))["total"] >> 20)')" = 8 ] ||
    fail "not the dump in the pipe"
ok "the newest of a directory"

try 0 "$mallow" timeline "$pid" -o picture.svg
python3 -c 'import sys, xml.dom.minidom as dom
assert len(dom.parse("picture.svg").getElementsByTagName("path")) > 4' ||
    fail "picture.svg is no picture"
try 0 "$mallow" timeline "$pid" -o page.html
try 0 "$mallow" timeline "$pid" -o moments.json
try 0 "$mallow" timeline "$pid" --json
cmp -s out moments.json || fail "moments.json differs"
try 0 "$mallow" timeline "$pid" -o picture.txt
grep -q '^peak ' picture.txt || fail "picture.txt is no text"
in_chromium page.html timeline.js
ok "pictures, the page in chromium"

# The options of the views choose stacks of dumps.
whole=$("$mallow" timeline --json dumps 2>err |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
for options in "--exclude ." "--thread nobody" "--tagfocus thread=nobody"; do
    # shellcheck disable=SC2086 # words
    try 0 "$mallow" timeline --json $options dumps/[12].pb.gz
    [ "$(python3 -c 'import json; print(json.load(open("out"))["total"])')" = 0 ] ||
        fail "timeline $options"
done
try 0 "$mallow" timeline --json --show-from . dumps
[ "$(python3 -c 'import json; print(json.load(open("out"))["total"])')" = "$whole" ] ||
    fail "timeline --show-from"
ok "the options that choose stacks"

mkdir empty
for words in empty /nonexistent "--focus=x $pid" "--sample-type=lifetime $pid" "--focus=( dumps" \
    "--sample-type=none dumps" "-o x.png $pid"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" timeline $words
    one_line_error
done
ok "complaints"
