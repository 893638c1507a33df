#!/bin/bash
# SPDX-License-Identifier: MIT
# one_meaning.sh BUILD_DIR -- options that mean one thing everywhere, and what a command says that
# has nothing to show.
source "$(dirname "$0")/lib.bash"
build_steps <<'END'
static void *volatile kept[3000];
int main(void) {
	for (int i = 0; i < 3000; i++)
		kept[i] = malloc(1000);
	wait_for_line();
	return kept[0] == NULL;
}
END
conf=background_thread:true,prof_sample:65536
start_ready ./steps
waiter=$pid

# --rate is bytes on `run`; hertz are --cpu-rate everywhere.
for command in run start cpu; do
    try 0 "$mallow" help --all $command
    says out '--cpu-rate HZ'
done
for command in start cpu; do
    try 0 "$mallow" help --all $command
    says_not out ' --rate'
done
try 0 "$mallow" start --wait 60 --cpu --cpu-rate 250 "$waiter"
says out 'CPU time: on, 250 Hz'
says_not err 'rate'
try 0 "$mallow" start --wait 60 --cpu --rate 300 "$waiter"
one_line_error
says err 'note: --rate 300 is now called --cpu-rate 300; --rate means bytes'
says out 'CPU time: on, 300 Hz'
try 2 "$mallow" start --cpu-rate 300 "$waiter"
one_line_error
says err "start: --cpu-rate goes with --cpu; 'mallow set PID rate=BYTES' changes the heap's rate"
try 0 "$mallow" stop --wait 60 --cpu "$waiter"
for shell in bash zsh fish; do
    try 0 "$mallow" help --completion $shell
    says out 'cpu-rate'
    says_not out 'former name'
done
ok "--rate and --cpu-rate"

try 0 "$mallow" cpu --wait 60 --for 0.5s "$waiter"
says err "note: pid $waiter was on a CPU 0 % of the time; 'mallow cpu --wall $waiter' shows what it"
try 0 "$mallow" cpu --wait 60 --wall --for 0.5s "$waiter"
says_not err 'on a CPU'
ok "CPU time of a program that waits"

try 0 "$mallow" set --wait 60 "$waiter" dump_peak=1M
says_not err .
try 0 "$mallow" stop --wait 60 "$waiter"
for setting in dump_peak=2M prof_interval=1G dump_live=1G dump_freed=1G; do
    try 0 "$mallow" set --wait 60 "$waiter" "$setting"
    one_line_error
    says err "pid $waiter: sampling is off, and ${setting%=*} counts samples: no dump is written"
done
for setting in dump_peak=0 dump_seconds=1000 dump_resident=1G dump_keep=3; do
    try 0 "$mallow" set --wait 60 "$waiter" "$setting"
    says_not err .
done
try 0 "$mallow" start --wait 60 "$waiter"
ok "dumps of samples while sampling is off"

# Patterns as in dump_name.
mkdir dumps
try 0 "$mallow" dump -o 'dumps/%e.%p.%n.%u.%%.heap' "$waiter"
[[ $(cd dumps && ls) =~ ^steps\.$waiter\.0001\.[1-9][0-9]*\.%\.heap$ ]] || fail "is: $(ls dumps)"
head -1 dumps/* >out
says out '^heap_v2'
rm dumps/*
try 0 "$mallow" dump --every 1s --count 2 -o 'dumps/%t.pb.gz' "$waiter"
printf '%s\n' dumps/* >names
[ "$(grep -Ec '^dumps/[0-9]{8}-[0-9]{6}\.[0-9]{3}\.pb\.gz$' names)" = 2 ] || fail "is: $(ls dumps)"
rm dumps/*
start_ready ./steps
try 0 "$mallow" dump --name steps -o 'dumps/%h.%p.pb' "$waiter"
[ "$(cd dumps && ls)" = "$(printf '%s\n' "$(uname -n).$waiter.pb" "$(uname -n).$pid.pb")" ] ||
    fail "is: $(ls dumps)"
rm dumps/*
try 0 "$mallow" start --wait 60 --for 0.1s -o 'dumps/%p.pb' --all
[ "$(cd dumps && ls)" = "$(printf '%s\n' "$waiter.pb" "$pid.pb")" ] || fail "is: $(ls dumps)"
for output in 'x%' 'x%z' '%P.heap'; do
    try 2 "$mallow" dump -o "$output" "$waiter"
    one_line_error
    says err "dump: --output does not take '%.*'; allowed: %p pid, "
    try 2 "$mallow" start --for 1s -o "$output" "$waiter"
    one_line_error
done
try 2 "$mallow" dump --all -o '%t.pb' 
says err 'several dumps need a directory, a pattern with %p or %n'
try 2 "$mallow" dump --every 1s -o '%p.pb' "$waiter"
says err 'several dumps need a directory, a pattern with %p or %n'
ok "names of dumps by a pattern"

try 2 "$mallow" threads --thread nosuch "$waiter"
one_line_error
says err "no sample belongs to a thread 'nosuch'; the threads are: .*steps"
try 0 "$mallow" threads --thread steps "$waiter"
ok "a thread that there is not"
