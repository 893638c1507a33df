#!/bin/bash
# SPDX-License-Identifier: MIT
# named.sh BUILD_DIR -- targets by name, without a name, and by --name.
source "$(dirname "$0")/lib.bash"
build_steps <<'EOS'
static void *volatile kept[3000];
int main(void) {
	for (int i = 0; i < 3000; i++)
		kept[i] = malloc(1000);
	wait_for_line();
	return kept[0] == NULL;
}
EOS
conf=prof_sample:65536
# starts_as NAME: a process of this name that holds 3 MB, and whose pid is in $pid.
starts_as() {
    local answer
    cp steps "$1"
    start_piped "$1" "./$1"
    read -r -t 60 answer <&"$from"
    [ "$answer" = ready ] || fail "$1 did not start"
}

try 2 "$mallow" report
one_line_error
says err 'report: no process runs mallow'
ok "no target, and no process"

starts_as teapot
teapot=$pid
mkdir elsewhere
cd elsewhere || exit 1
for command in "report --top 5" status top "leaks --last" "cpu --for 0.1 --wall" "dump -o x.pb" \
    "peek main" timeline "mark --label m"; do
    # shellcheck disable=SC2086
    "$mallow" $command teapot >"$work/out" 2>"$work/err"
    case $? in 0 | 1) ;; *) [ "${command%% *}" = leaks ] || fail "$command teapot" ;; esac
    says_not err 'no such file'
done
try 0 "$mallow" report teapot
says out "^Program: teapot \(pid $teapot\)"
try 0 "$mallow" report
says out "^Program: teapot \(pid $teapot\)"
says err "^mallow: note: this is teapot, pid $teapot, the only process that runs mallow"
try 0 "$mallow" list '^main$'
says err "teapot, pid $teapot"
try 0 "$mallow" status
says out "pid $teapot"
ok "a process by its name, and the only process"

# A word with a slash is a file, a word without one a file if that is a profile.
try 2 "$mallow" report ./teapot
one_line_error
says err '^mallow: ./teapot: cannot open'
try 0 "$mallow" dump -o teapot "$teapot"
try 0 "$mallow" report --json teapot
says_not err .
"$mallow" comments teapot >"$work/out" 2>&1 || fail "the file teapot"
try 2 "$mallow" status teapot
says err 'teapot: this is not a state file'
rm teapot
cp ../steps teapot
try 0 "$mallow" status teapot
says out "pid $teapot"
rm teapot
try 2 "$mallow" report kettle
one_line_error
says err "^mallow: kettle: no such file, and no process of this name runs; .mallow ls. lists"
sleep 1000 &
started+=($!)
await 60 grep -qx sleep "/proc/$!/comm"
try 2 "$mallow" report sleep
one_line_error
says err "pid $! \(sleep\): the process does not run mallow"
ok "files and names"

cd "$work" || exit 1
starts_as kettle
kettle=$pid
starts_as urn
urn=$pid
mv urn urn.program && mv kettle kettle.program && mv teapot teapot.program
try 2 "$mallow" report
says err '^mallow: report: which process\? 3 run mallow; give a pid or a name:$'
says err "^ +$teapot  teapot"
says err "^ +$kettle  kettle"
says_not out .
try 2 "$mallow" leaks --name .
says err '^mallow: leaks: which process\? 3 match; give a pid or a name:$'
try 2 "$mallow" cpu --name nothing
says err 'cpu: no live process matches'
try 0 "$mallow" report "$kettle" "$urn"
total=$(grep '^Total' out)
try 0 "$mallow" report --name '^(kett|urn)'
says out "^$total"
try 0 "$mallow" leaks --wait 60 --name kett
try 0 "$mallow" check --max-live 1G --name kett
try 2 "$mallow" check --max-live 1G
says err 'check: too few arguments'
for command in stop start reset; do
    try 2 "$mallow" $command
    says err "$command: which process\?"
    says err "^ +$kettle  kettle"
done
ok "several processes, and --name"

mkdir other && cp steps other/kettle && cd other || exit 1
start_ready ./kettle
second=$pid
cd "$work" || exit 1
try 2 "$mallow" status kettle
one_line_error
says err "kettle: 2 processes have this name: $kettle, $second; give one of these pids"
ok "two processes of one name"

try 0 "$mallow" "$teapot"
says out "pid $teapot"
says out "^Program: teapot \(pid $teapot\)"
says out ' main  steps.c'
says_not out 'huge_cached_bytes'
try 0 "$mallow" teapot
says out "^Program: teapot \(pid $teapot\)"
try 2 "$mallow" 999999999
one_line_error
try 2 "$mallow" teapott
one_line_error
says err "unknown subcommand 'teapott'"
ok "mallow PID"

# A killed process leaves its profile, and one that exits takes it along.
kill -9 "$second" "$kettle"
wait "$second" "$kettle" 2>/dev/null
try 0 "$mallow" report kettle
says err 'note: 2 ended processes were called kettle; this is the newest'
kill -9 "$teapot"
wait "$teapot" 2>/dev/null
echo >urn.to
wait "$urn"
for word in "$urn" urn; do
    try 2 "$mallow" report "$word"
    one_line_error
    says err 'a process that exits removes its state file, unless it has MALLOW_CONF=prof_keep:true'
done
try 2 "$mallow" report
says err 'report: which process\? 3 have ended and left a profile; give a pid or a name:$'
try 0 "$mallow" clean --keep 1
kill -0 "$urn" 2>/dev/null && fail "urn runs"
try 0 "$mallow" report
says err 'note: this is [a-z]+, pid [0-9]+, the only process that left a profile'
ok "ended processes"
