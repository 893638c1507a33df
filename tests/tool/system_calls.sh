#!/bin/bash
# SPDX-License-Identifier: MIT
# system_calls.sh BUILD_DIR -- `mallow leaks` of processes that sleep in a system call: the threads
# that it stops, and the one that it lets answer, sleep on as if nothing had happened.
source "$(dirname "$0")/lib.bash"
[ "$(uname -m)" = x86_64 ] || skip "a sleeping process is woken on x86-64 only"
cc -D_GNU_SOURCE -g -O1 -pthread -o sleepers "$here"/sleepers{,_parts}.c -lrt || fail "cc"
mapfile -t calls < <(./sleepers)
[ "${#calls[@]}" -ge 30 ] || fail "only ${#calls[@]} calls"

# launch CALL [THREAD]: its pid is in pids[$*], the descriptor of its input in inputs[$*].
declare -A pids inputs
launch() {
    local input
    rm -f pipe
    mkfifo pipe
    MALLOW_CONF=prof_state_min:0,prof_sample:1 LD_PRELOAD=$build/lib/libmallow.so \
        ./sleepers "$@" <pipe >"said.$*" &
    pids[$*]=$!
    started+=("$!")
    exec {input}>pipe
    inputs[$*]=$input
}

# check WHO: a leak check of it.
check() {
    "$mallow" leaks --json "${pids[$1]}" >"found.$1" 2>"why.$1"
    echo "$1: status $?" >>checked
}
is_timed() { [[ $1 = *-for || $1 = *'-for thread' || $1 = *-until* ]]; }
# check_all WHO...: all of them at once.
check_all() {
    local who checks=()
    : >checked
    for who in "$@"; do
        check "$who" &
        checks+=("$!")
    done
    wait "${checks[@]}"
    ! grep -v 'status 1$' checked || fail "no leaks: $(cat why.*)"
}

for call in "${calls[@]}"; do
    launch "$call"
    launch "$call" thread
done
for who in "${!pids[@]}"; do
    await 60 grep -q ready "said.$who"
done
timed=() others=()
for who in "${!pids[@]}"; do
    if is_timed "$who"; then timed+=("$who"); else others+=("$who"); fi
done
for who in "${timed[@]}"; do
    echo x >&"${inputs[$who]}"
done
# The calls with a time limit of 60 seconds are in their second half then.
sleep 30
check_all "${timed[@]}"
# The second check finds calls that have been begun once more already.
check_all "${timed[@]}"
check_all "${others[@]}"
for who in "${others[@]}"; do
    echo x >&"${inputs[$who]}"
done
wrong=0
for who in "${!pids[@]}"; do
    wait "${pids[$who]}" || wrong=$((wrong + 1))
done
cat said.* | grep -v ready | sort
[ "$wrong" = 0 ] || fail "$wrong calls were disturbed"
ok "${#pids[@]} sleeping threads, in ${#calls[@]} system calls: ${calls[*]}"
