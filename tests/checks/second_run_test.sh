#!/bin/bash
# SPDX-License-Identifier: MIT
# second_run_test.sh SOURCE_DIR -- run_tests of scripts/lib/tests.sh on small ctest projects: what
# fails once is named and counts as passed, what fails twice is red, and many failures, or no time,
# mean no second run; what runs again on another library comes after the rest, what is of other
# platforms comes last, and both are named if no time is left.
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MALLOW_SECOND_RUN MALLOW_DEADLINE

fail() {
    echo "FAILED: $*"
    sed 's/^/  /' "$work/out"
    exit 1
}

# entry NAME COMMAND: an entry of the project; the command is a line of shell without double quotes.
entry() {
    printf 'add_test([=[%s]=] "bash" "-c" [=[%s]=])\n' "$1" "$2" >>"$work/CTestTestfile.cmake"
    printf 'set_tests_properties([=[%s]=] PROPERTIES SKIP_RETURN_CODE 77)\n' "$1" \
        >>"$work/CTestTestfile.cmake"
}
# Passes in a second run only.
once="echo the first output; exit \$((\${MALLOW_SECOND_RUN:-0} != 1))"

# begin: a project without entries.
begin() {
    rm -rf "${work:?}"/*
    : >"$work/CTestTestfile.cmake"
}
# run STATUS: runs the project's entries as check.sh does; ./out has what run_tests printed.
run() {
    local status=0
    MALLOW_BUILD=$work bash -c '. scripts/lib/common.sh; . scripts/lib/tests.sh
        run_tests "$MALLOW_BUILD/check.xml"' >"$work/out" 2>&1 || status=$?
    [ "$status" = "$1" ] || fail "status $status, not $1"
}
says() {
    grep -qxE -- "$1" "$work/out" || fail "does not say '$1'"
}
says_not() {
    ! grep -qE -- "$1" "$work/out" || fail "says '$1'"
}
last_line() {
    [ "$(tail -n 1 "$work/out")" = "$1" ] || fail "the last line is not '$1'"
}

begin
entry a/good true
entry a/skipped 'echo skipped: nothing; exit 77'
run 0
last_line "1 passed, 0 failed"
says_not 'second run|run again'
[ ! -e "$work/check-failures.log" ] || fail "a run without failures leaves a log of them"

# Two that fail once: each is alone the second time, in the first run's place in no report.
begin
entry a/good true
entry a/one "$once"
entry 'b/two(c++)' "mkdir alone && sleep 0.2 && rmdir alone && $once"
entry b/three "mkdir alone && sleep 0.2 && rmdir alone && $once"
run 0
last_line "4 passed, 0 failed"
says 'passed only when run again, alone: a/one'
says 'passed only when run again, alone: b/two\(c\+\+\)'
says 'passed only when run again, alone: b/three'
says '3 of them only in a second run: .*'
grep -q 'the first output' "$work/check-failures.log" || fail "the first run's output is lost"
grep -q '^FAILED: a/one: ' "$work/check-failures.log" || fail "the log does not name what failed"

# What fails twice, or is skipped the second time, has failed.
begin
entry a/good true
entry a/one "$once"
entry a/bad 'echo broken; false'
entry a/skips "exit \$((MALLOW_SECOND_RUN ? 77 : 1))"
run 1
last_line "2 passed, 2 failed"
says 'passed only when run again, alone: a/one'
says_not 'alone: a/(bad|skips|good)'

# Six failures are no chance.
begin
entry a/good true
for i in 1 2 3 4 5 6; do
    entry "a/once$i" "$once"
done
run 1
last_line "1 passed, 6 failed"
says '== no second run: more than 5 entries failed'
says_not 'alone:'

# Other platforms: after the rest, one at a time; not without time for them.
begin
entry a/good "mkdir all && sleep 0.5 && rmdir all"
entry 'b/other(c++)' "mkdir all && sleep 0.2 && rmdir all"
entry b/bad 'mkdir all && rmdir all; echo broken; false'
for name in 'b/other(c++)' b/bad; do
    printf 'set_tests_properties([=[%s]=] PROPERTIES LABELS platform)\n' "$name" \
        >>"$work/CTestTestfile.cmake"
done
run 1
last_line "2 passed, 1 failed"
says_not 'too little time'
grep -q '^FAILED: b/bad: ' "$work/check-failures.log" || fail "the log does not name what failed"
MALLOW_DEADLINE=$(($(date +%s) + 300)) run 0
last_line "1 passed, 0 failed"
says 'not run, because too little time was left: b/other\(c\+\+\)'
says 'not run, because too little time was left: b/bad'

# Once more on another library: after the rest, and before other platforms, a batch at a time.
begin
entry a/good "mkdir all && sleep 0.5 && rmdir all; echo good >>order"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
    entry "debug/again$i" "[ -e order ] && echo again >>order"
    printf 'set_tests_properties([=[debug/again%s]=] PROPERTIES LABELS again)\n' "$i" \
        >>"$work/CTestTestfile.cmake"
done
entry b/other "[ \$(sed -n 14p order) = again ]"
printf 'set_tests_properties([=[b/other]=] PROPERTIES LABELS platform)\n' \
    >>"$work/CTestTestfile.cmake"
run 0
last_line "15 passed, 0 failed"
[ "$(head -n 1 "$work/order")" = good ] || fail "entries that run again began before the rest"
MALLOW_DEADLINE=$(($(date +%s) + 500)) run 0
last_line "1 passed, 0 failed"
says 'not run, because too little time was left: debug/again13'
says 'not run, because too little time was left: b/other'
rm -f "$work/order"
MALLOW_DEADLINE=$(($(date +%s) + 1000)) run 0
last_line "14 passed, 0 failed"
says 'not run, because too little time was left: b/other'

# Without time.
begin
entry a/good true
entry a/one "$once"
MALLOW_DEADLINE=$(($(date +%s) + 40)) run 1
last_line "1 passed, 1 failed"
says '== no second run: no time is left for it'
MALLOW_DEADLINE=$(($(date +%s) + 600)) run 0
last_line "2 passed, 0 failed"
echo "ok second runs"
