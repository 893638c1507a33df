#!/bin/bash
# SPDX-License-Identifier: MIT
# targets.sh BUILD_DIR -- targets that are none: each a clear line, and status 2.
source "$(dirname "$0")/lib.bash"

sleep 1000 &
# Until the shell's child has become sleep.
until [ "$(cat "/proc/$!/comm")" = sleep ]; do :; done
started+=($!)
until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done
for command in status start stop reset dump report "set rate=5"; do
    # shellcheck disable=SC2086
    try 2 "$mallow" $command $!
    one_line_error
    says err "pid $! \(sleep\): it does not run mallow; start it with 'mallow run PROGRAM'"
done
ok "a pid without mallow"

kill -9 $!
wait $! 2>/dev/null
try 2 "$mallow" report $!
one_line_error
says err "pid $!: there is no such process"
try 2 "$mallow" start $!
one_line_error
ok "a pid that is gone"

echo '#include <unistd.h>
int main(void) { return pause(); }' >quiet.c
cc -o quiet quiet.c || fail "cc"
LD_PRELOAD=$build/lib/libmallow.so ./quiet &
started+=($!)
sleep 0.3
try 2 "$mallow" status $!
one_line_error
says err 'not grown to prof_state_min'
ok "a process that has allocated little"

# A copy: the build may lie where the other user cannot look.
chmod 711 "$work"
cp "$mallow" "$work/mallow"
if [ "$(id -u)" = 0 ] && runuser -u nobody -- "$work/mallow" --version >/dev/null 2>&1; then
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so sleep 1000 &
    started+=($!)
    sleep 0.3
    for command in status stop report; do
        try 2 runuser -u nobody -- "$work/mallow" $command $!
        one_line_error
        says err "pid $! \(sleep\): it belongs to user root"
    done
    try 0 runuser -u nobody -- "$work/mallow" ls
    says_not out "\b$!\b"
    ok "another user's process"
fi

# A file with the name of a state file, of a process that is gone.
folder=/dev/shm/mallow-$(id -u)
[ -d "$folder" ] || mkdir -m 700 "$folder"
sleep 0 &
gone=$!
wait $gone
started+=("$gone")
echo garbage >"$folder/$gone.1"
try 2 "$mallow" status "$gone"
one_line_error
try 2 "$mallow" report "$gone"
one_line_error
try 0 "$mallow" ls --all
says err "^mallow: note: $folder/$gone.1: "
# Another version leaves dozens: the first is named, the others are counted.
for n in 2 3 4; do echo garbage >"$folder/$gone.$n"; done
try 0 "$mallow" ls --all
[ "$(grep -c "^mallow: note: $folder/$gone\.[1-4]: " err)" = 4 ] || fail "--all does not name all"
try 0 "$mallow" ls
[ "$(grep -c '^mallow: note: ' err)" = 2 ] || fail "ls floods the screen: $(grep -c '^mallow: note: ' err) lines"
says err '^mallow: note: and [0-9]+ more that cannot be read: mallow ls --all names them'
rm -f "$folder/$gone".[1-4]
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
