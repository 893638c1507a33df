#!/bin/bash
# SPDX-License-Identifier: MIT
# setuid.sh BUILD_DIR -- a set-uid program that links mallow reads no options and makes no state
# file; the same program without the bit does both.  Needs root, to make it.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || {
    echo "skipped: only root can make a set-uid program of another user"
    exit 77
}
chmod 755 "$work"
install -m 755 "$build/tests/programs/setuid_probe" "$work/probe"

# probe: runs it; leaves its pid and AT_SECURE in $line, its state files in $files, its stderr in
# err.
probe() {
    local answer
    rm -f "$work/out"
    mkfifo "$work/go"
    MALLOW_CONF=confirm_conf:true,prof_sample:1,prof_state_min:0,no_such_option:1 \
        "$work/probe" <"$work/go" >"$work/out" 2>"$work/err" &
    later_kill "$!"
    exec 3>"$work/go"
    wait_for 10 test -s "$work/out" || fail "the program says nothing: $(cat "$work/err")"
    read -r line <"$work/out"
    files=$(find /dev/shm -path "/dev/shm/mallow-*/${line%% *}.*")
    answer=0
    echo go >&3
    exec 3>&-
    wait "$!" || answer=$?
    rm -f "$work/go"
    [ "$answer" -eq 0 ] || fail "the program ended with status $answer"
}

probe
[ "${line#* }" = 0 ] || fail "the plain program runs in secure mode"
[ -n "$files" ] || fail "the plain program made no state file: this test would prove nothing"
grep -q no_such_option "$work/err" || fail "the plain program did not read its options"
[ ! -e "$files" ] || fail "the state file stayed after the end"

chown nobody "$work/probe"
chmod 4755 "$work/probe"
probe
[ "${line#* }" != 0 ] || {
    echo "skipped: the set-uid bit has no effect in $work"
    exit 77
}
[ -z "$files" ] || fail "a set-uid program made $files"
[ ! -s "$work/err" ] || fail "a set-uid program read its options: $(head -n 2 "$work/err")"
echo "ok setuid: no file, no options"
