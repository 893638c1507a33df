# SPDX-License-Identifier: MIT
# lib.bash -- what the scripts of this folder share: `source` it first.
# Each script is given the build folder, works in a folder of its own, and ends with status 1 at the
# first check that fails.
set -uo pipefail
build=${1:?usage: $0 BUILD_DIR}
# Elsewhere than in namespaces of their own ctest runs the scripts one at a time
# (tests/CMakeLists.txt).
# shellcheck source=tests/support/own_pids.bash
source "$(dirname "${BASH_SOURCE[0]}")/../support/own_pids.bash"
# shellcheck disable=SC2034 # for the scripts
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$build" && pwd)
# shellcheck disable=SC2034
mallow=$build/bin/mallow
work=$(mktemp -d "${TMPDIR:-/tmp}/mallow-tool.XXXXXX")
mkfifo "$work.nap"
started=()
# Commands that the end of the script runs: at_end COMMAND, one string each.
endings=()
at_end() {
    endings+=("$1")
}
cleanup() {
    local status=$? pid ending
    for pid in ${started[@]+"${started[@]}"}; do
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        rm -f "/dev/shm/mallow-$(id -u)/$pid".*
    done
    if [ -n "$terminals" ]; then terminal kill-server 2>/dev/null; fi
    for ending in ${endings[@]+"${endings[@]}"}; do
        eval "$ending"
    done
    cd / && rm -rf "$work" "$work.nap"
    if [ "$status" = 0 ] && [ "${#left_out[@]}" -gt 0 ]; then
        exit 77
    fi
}
# A terminal of this test's own, one for each $shell where a test has several; it ends with the
# test.
terminals=
terminal() {
    terminals=some
    # In $work: a PID is not unique among scripts that have a PID namespace each.
    TMUX_TMPDIR=$work tmux -L "mallow${shell:+-$shell}" -f /dev/null "$@"
}
# on_screen PATTERN: waits until a line of the terminal matches; ./out has the screen.
on_screen() {
    local last=$((SECONDS + 60))
    until terminal capture-pane -p >out 2>/dev/null && has_line out "$1"; do
        [ "$SECONDS" -le "$last" ] || fail "${shell:-the screen} does not show '$1'"
        nap 0.05
    done
}
trap cleanup EXIT
# Symbols kept from other runs would hide what is tested here.
export XDG_CACHE_HOME=$work
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    for file in out err; do
        [ -s "$work/$file" ] && head -40 "$work/$file" | sed "s/^/  $file: /" >&2
    done
    exit 1
}

# try STATUS COMMAND...: runs it with output in ./out and ./err and checks its exit status.
try() {
    local want=$1 got
    shift
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$want" ] || fail "$*: status $got, not $want"
}

# A new process takes 10 ms on some virtual machines, and these scripts look and wait thousands of
# times: the next two functions need none.
# has_line FILE PATTERN: a line matches the extended regular expression.
has_line() {
    local lines line
    mapfile -t lines <"$1"
    if [ "${#lines[@]}" -gt 100 ]; then
        grep -Eq -- "$2" "$1"
        return
    fi
    for line in ${lines[@]+"${lines[@]}"}; do
        if [[ $line =~ $2 ]]; then return 0; fi
    done
    return 1
}
# nap SECONDS: as sleep(1).  Nobody writes to the pipe.
nap() {
    read -rt "$1" <>"$work.nap" || true
}

# says FILE PATTERN: an extended regular expression is in ./out or ./err.
says() {
    has_line "$work/$1" "$2" || fail "std$1 does not say '$2'"
}

says_not() {
    ! has_line "$work/$1" "$2" || fail "std$1 says '$2'"
}

# One line on stderr, and nothing else.
one_line_error() {
    local lines
    mapfile lines <"$work/err"
    [ "${#lines[@]}" = 1 ] || fail "not one line of error"
    [[ ${lines[0]} =~ ^mallow:\ [^A-Z].*$'\n'$ ]] || fail \
        "the error does not begin with 'mallow: ' in lower case, or its line does not end"
}

ok() {
    echo "ok $*"
}

# await SECONDS COMMAND...: until it succeeds; the script fails if it does not within the limit.
# The limit is for what hangs: a minute is not too much for a slow machine.
await() {
    local last=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$last" ] ||
            fail "waited in vain: $*; errors: $(tail -qn 2 "$work"/err "$work"/*.err 2>/dev/null)"
        nap 0.05
    done
}

# For await.
is_known() {
    "$mallow" status "$1" >/dev/null 2>&1
}
# is_interrupted PID: sends ^C; succeeds once the process has ended.  A command that the shell runs
# in the background ignores ^C until it has its own handler: one signal may be lost.
is_interrupted() {
    kill -INT "$1" 2>/dev/null
    has_ended "$1"
}
# waits_for_interrupt PID: a command that the shell started in the background has its handler of ^C.
# Before the shell executes the command, the shell itself has one.
waits_for_interrupt() {
    [ "$(cat "/proc/$1/comm")" = mallow ] &&
        (((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") & 1 << (2 - 1)) != 0))
}
has_ended() {
    ! kill -0 "$1" 2>/dev/null || grep -qs "^State:.*zombie" "/proc/$1/status"
}

# share_build: $build and $mallow become a copy that every user of the machine can reach, and $work
# becomes readable to all.  The build may lie below a folder that only its owner may enter.
share_build() {
    chmod 755 "$work"
    mkdir "$work/build"
    cp -R "$build/bin" "$build/lib" "$work/build/" || fail "the build cannot be copied"
    chmod -R a+rX "$work/build"
    build=$work/build
    mallow=$build/bin/mallow
}

# A machine without a program: the script ends and counts as skipped.
needs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
}
skip() {
    echo "skipped: $*"
    exit 77
}

# valid NAME: the JSON in ./out has the members that the schema gives this view or subcommand.
schema_asked=
valid() {
    local answer
    if [ -z "$schema_asked" ]; then
        mkfifo "$work.asks" "$work.answers"
        at_end 'rm -f "$work.asks" "$work.answers"'
        python3 "$here/schema_check.py" "$here/../../doc/reference/mallow.schema.json" \
            "$work.asks" "$work.answers" &
        started+=("$!")
        exec {schema_asked}>"$work.asks" {schema_answers}<"$work.answers"
    fi
    echo "$1" >&"$schema_asked"
    read -r -t 60 answer <&"$schema_answers" || fail "$1: nobody checks the JSON"
    [ "$answer" = good ] || fail "$1: the JSON is not as its schema says: $answer"
}

# permits_events PID: the kernel permits events of a live process that allocates. The command that
# asked for them says if the kernel does not; any other answer fails the script.
permits_events() {
    "$mallow" start --cpu --cpu-rate 1000 --event page-faults --wait 60 "$1" >out 2>err
    case $? in
        0) ! grep -q pending out || fail "the process does not answer" ;;
        2)
            grep -q 'the kernel does not permit the event' err || fail "--event page-faults"
            return 1
            ;;
        *) fail "--event page-faults" ;;
    esac
}

# leave_out WHY: a part of the script cannot run on this machine.  The other parts run; the script
# counts as skipped if they pass and as failed if one does not.
left_out=()
leave_out() {
    echo "skipped: $*"
    left_out+=("$*")
}

# build_steps: ./steps from the functions on stdin, which may call wait_for_line().
build_steps() {
    {
        cat <<'EOF'
#include <stdio.h>
#include <stdlib.h>
static void wait_for_line(void) {
	puts("ready");
	fflush(stdout);
	while (getchar() != '\n')
		;
}
EOF
        cat
    } >steps.c
    cc -g -O0 -fno-builtin -o steps steps.c || fail "steps.c does not compile"
}

# start_piped NAME PROGRAM [ARGUMENT...]: the program, preloaded with the options in $conf, and
# waiting for letters at the pipe `to`; its answers come from the pipe `from`.  Its PID is in $pid.
start_piped() {
    local name=$1
    shift
    rm -f "$name.to" "$name.from"
    mkfifo "$name.to" "$name.from"
    MALLOW_CONF=$conf LD_PRELOAD=$build/lib/libmallow.so "$@" <"$name.to" >"$name.from" &
    pid=$!
    started+=("$pid")
    # Open until the script ends: the program ends when its input does.
    exec {to}>"$name.to" {from}<"$name.from"
}

# start_ready PROGRAM: likewise, and returns when the program has said that it is ready.
start_ready() {
    local answer
    start_piped "$(basename "$1")" "$@"
    read -r -t 60 answer <&"$from"
    [ "$answer" = ready ] || fail "$1 did not start"
}

# in_chromium PAGE SCRIPT: the page, or the picture in SVG, with the script at its end, in a
# browser.  The script leaves what it saw in the attribute data-log of the body; the last entry must
# be there and good, the others good.
in_chromium() {
    local last script driven
    command -v chromium >/dev/null || {
        leave_out "chromium is not installed: $1 was not looked at"
        return 0
    }
    script=$2
    [ -e "$script" ] || script=$here/$2
    driven=driven.${1##*.}
    if [ "$driven" = driven.svg ]; then
        { sed '$d' "$1" && echo "<script><![CDATA[{" && cat "$script" &&
            echo "}]]></script></svg>"; } >$driven
    else
        { cat "$1" && echo "<script>" && cat "$script" && echo "</script>"; } >$driven
    fi
    timeout 240 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium" \
        --window-size=1200,700 --virtual-time-budget=3000 --dump-dom "file://$work/$driven" >dom \
        2>/dev/null
    grep -o 'data-log="[^"]*"' dom >out
    last=$(sed -n 's/^\(check\|say\)("\([^"]*\)".*/\2/p' "$script" | tail -1)
    says out "ok $last"
    says_not out FAILED
}

# build_calls: ./calls, two functions that allocate, without inlined calls (jeprof knows those from
# line tables only).
build_calls() {
    cat >calls.c <<'EOF'
#include <stdlib.h>
void *small(void) { return malloc(1000); }
void *large(void) { return malloc(100000); }
int main(void) {
	int left = 0;
	for (int i = 0; i < 5000; i++)
		left += small() != NULL && (i % 10 != 0 || large() != NULL);
	return left == 0;
}
EOF
    cc -g -O0 -o calls calls.c || fail "calls.c does not compile"
}

# obey [LETTER]: a test's program that waits at the pipe `to` goes on, and has answered at `from`.
# An idle process sees orders when it allocates next.
obey() {
    printf %s "${1:-x}" >&"$to"
    # shellcheck disable=SC2034 # for the scripts
    read -r answer <&"$from"
}

# dump_in_process PID: the process writes a dump itself, whose name is in `own`.
dump_in_process() {
    local dump
    obey
    "$mallow" dump --in-process "$1" >out 2>err &
    dump=$!
    while kill -0 "$dump" 2>/dev/null; do
        obey
        sleep 0.05
    done
    wait "$dump" || fail "dump --in-process: status $?"
    own=$(sed -n 's/.*the process wrote \([^ ]*\).*/\1/p' err)
}

# same_totals FILE FILE: as `mallow report` says them, of every type that a process's own dump has.
same_totals() {
    local type
    for type in alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space \
        alloc_requested \
        inuse_requested alloc_samples inuse_samples freed_objects freed_elsewhere \
        temporary_objects lifetime; do
        try 0 "$mallow" report --sample-type "$type" "$1"
        grep '^Total' out >own
        try 0 "$mallow" report --sample-type "$type" "$2"
        grep '^Total' out | cmp -s - own || fail "$type: $1 says $(cat own), $2 $(grep '^Total' \
            out)"
    done
}
