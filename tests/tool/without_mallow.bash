# SPDX-License-Identifier: MIT
# without_mallow.bash -- programs that tests start and talk to, most of them without mallow:
# `source` it after lib.bash.
# shellcheck shell=bash disable=SC2154 # variables of lib.bash
mkfifo to from

# start COMMAND...: the program says "ready", and then obeys lines at the pipe `to` and answers each
# at `from`; its pid is in $pid.
start() {
    local answer
    "$@" <to >from &
    pid=$!
    started+=("$pid")
    exec {to}>to {from}<from
    read -r -t 60 answer <&"$from"
    [ "$answer" = ready ] || fail "the program did not start"
}
finish() {
    echo q >&"$to"
    wait "$pid" || fail "the program failed"
    exec {to}>&- {from}<&-
}
# has_begun TEXT: $tool, the command that samples, has written the text to err.tool.
has_begun() {
    grep -q "$1" err.tool && return
    kill -0 "$tool" 2>/dev/null || fail "$(cat err.tool)"
    false
}

# with_input COMMAND...: the program writes to the file `ready`, and ends with $input; its pid is in
# $pid.
with_input() {
    rm -f ready pipe
    mkfifo pipe
    "$@" <pipe >ready 2>&1 &
    pid=$!
    started+=("$pid")
    exec {input}>pipe
}
# asleep COMMAND...: likewise, and it has written "ready".
asleep() {
    with_input "$@"
    await 60 grep -qs ready ready
}
# ends NAME: now, with status 0.
ends() {
    exec {input}>&-
    wait "$pid" || fail "$1: the program ended with status $?: $(tail -n 3 ready)"
    ok "$1"
}
