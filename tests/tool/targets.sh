#!/bin/bash
# SPDX-License-Identifier: MIT
# targets.sh BUILD_DIR -- targets that are none: each a clear line, and status 2.
source "$(dirname "$0")/lib.bash"

sleep 1000 &
started+=($!)
# The shell's child is a shell until it executes the program.
has_become_sleep() {
    grep -qx sleep "/proc/$1/comm"
}
await 60 has_become_sleep $!
for command in status start stop reset dump report "set rate=5"; do
    # shellcheck disable=SC2086
    try 2 "$mallow" $command $!
    one_line_error
    says err "pid $! \(sleep\): the process does not run mallow; start it with 'mallow run PROGRAM'"
done
ok "a pid without mallow"

kill -9 $!
wait $! 2>/dev/null
try 2 "$mallow" report $!
one_line_error
says err "pid $!: no such process runs"
try 2 "$mallow" start $!
one_line_error
ok "a pid that is gone"

cat >quiet.c <<'END'
#include <unistd.h>
int main(void) { return write(1, "ready\n", 6) == 6 ? pause() : 1; }
END
cc -o quiet quiet.c || fail "cc"
LD_PRELOAD=$build/lib/libmallow.so ./quiet >quiet.out &
started+=($!)
await 60 grep -q ready quiet.out
# Asked by its pid, it publishes its profile although its heap is below prof_state_min.
try 0 "$mallow" status $!
says out 'live +0 B in 0 objects'
ok "a process that has allocated little"

if [ "$(id -u)" = 0 ] && command -v runuser >/dev/null; then
    share_build
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so sleep 1000 &
    started+=($!)
    await 60 is_known $!
    for command in status stop report; do
        try 2 runuser -u nobody -- "$mallow" $command $!
        one_line_error
        says err "pid $! \(sleep\): the process belongs to user root"
    done
    try 0 runuser -u nobody -- "$mallow" ls
    says_not out "\b$!\b"
    ok "another user's process"
else
    leave_out "another user's process: it takes root and runuser"
fi

# A file with the name of a state file, of a process that is gone.
folder=/dev/shm/mallow-$(id -u)
[ -d "$folder" ] || mkdir -m 700 "$folder"
sleep 0 &
gone=$!
wait $gone
started+=("$gone")
space=$(stat -Lc %i /proc/self/ns/pid)
echo garbage >"$folder/$gone.1.$space"
try 2 "$mallow" status "$gone"
one_line_error
try 2 "$mallow" report "$gone"
one_line_error
try 0 "$mallow" ls --all
says err "^mallow: note: $folder/$gone.1.$space: "
# Another version leaves dozens: the first is named, the others are counted.
for n in 2 3 4; do echo garbage >"$folder/$gone.$n.$space"; done
try 0 "$mallow" ls --all
[ "$(grep -c "^mallow: note: $folder/$gone\.[1-4].$space: " err)" = 4 ] ||
    fail "--all does not name all"
try 0 "$mallow" ls
[ "$(grep -c '^mallow: note: ' err)" = 2 ] ||
    fail "ls floods the screen: $(grep -c '^mallow: note: ' err) lines"
says err '^mallow: note: [0-9]+ more state files cannot be read; .mallow ls --all. names them'
rm -f "$folder/$gone".[1-4].*
ok "damaged state files"

try 2 "$mallow" report /no/such/file
one_line_error
try 2 "$mallow" report "$work"
one_line_error
echo garbage >garbage
try 2 "$mallow" report garbage
one_line_error
try 2 "$mallow" status garbage
one_line_error
try 2 "$mallow" start garbage
one_line_error
head -c 4096 /dev/zero >zeros
try 2 "$mallow" report zeros
{ printf MALLOWST; head -c 8000 /dev/urandom; } >damaged
for command in status start report dump; do
    try 2 "$mallow" $command damaged
    one_line_error
done
: >empty
try 2 "$mallow" report empty
one_line_error
try 2 bash -c "'$mallow' report <(echo garbage)"
one_line_error
ok "files that are no profiles"
