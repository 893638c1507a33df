#!/bin/bash
# SPDX-License-Identifier: MIT
# hung_page.sh BUILD_DIR -- a process whose memory has pages that never come, because they are of a
# file system that does not answer: the command that has the process answer ends, and says why.
source "$(dirname "$0")/lib.bash"
# shellcheck source=tests/tool/hung.bash
source "$here/hung.bash"
[ "$(uname -m)" = x86_64 ] || skip "a sleeping process is woken on x86-64 only"
cc -g -O1 -pthread -Wl,-z,now -o hung_page "$here/hung_page.c" || fail "cc"
if ! hang_folder; then
    wait "$server"
    [ $? = 77 ] || fail "the file system"
    skip "no file systems of FUSE for this user"
fi

MALLOW_CONF=prof_state_min:0,background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
    ./hung_page wait folder hung >said &
pid=$!
started+=("$pid")
await 60 grep -qs ready said
# A report of it would read the file.
has_state_file() {
    compgen -G "/dev/shm/mallow-*/$pid.*" >found
}
await 60 has_state_file
try 2 timeout 120 "$mallow" cpu --for 0.2 --wait 1 "$pid"
says err 'a page of its memory has not come'
# The kernel lets the thread go when the page comes.
try 2 timeout 120 "$mallow" leaks --wait 1 "$pid"
says err 'it cannot be woken'
ok "pages that never come"
