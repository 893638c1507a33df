#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh BUILD_DIR -- `mallow run`: exit statuses, signals, and the profile of each kind of end.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -o example "$here/example.c" || fail "cc"

# The only profile in the folder; its name must be named on standard error.
the_profile() {
    local files
    files=$(ls mallow.*.pb.gz)
    [ "$(echo "$files" | wc -l)" = 1 ] || fail "profiles: $files"
    grep -Fq "profile written: $files" err || fail "$files is not named"
    echo "$files"
}

try 0 "$mallow" run --exact ./example
usable=$(cat out)
profile=$(the_profile)
case $profile in
mallow.example.*.20[0-9][0-9]*.pb.gz) ;;
*) fail "name: $profile" ;;
esac
says err 'do_something '
says err 'do_something_else'
says err \
    "^mallow: live at the peak: .*\($usable usable bytes\) in [0-9]+ objects, .* after the start"
says err "^mallow: next: mallow report $profile\$"
# shellcheck disable=SC2046 # words of a command line
try 0 "$mallow" $(sed -n 's/^mallow: next: mallow //p' err)
says out 'Total: .*objects'
try 0 "$mallow" report --lines "$profile"
says out 'do_something .*example\.c:13'
says out 'do_something_else .*example\.c:18'
ok "the tutorial's example, exact: $usable bytes"

# The peak is the first allocation, before there is a state file; the time is of the process.
cat >peak.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	usleep(300000);
	char *block = malloc(30 << 20);
	memset(block, 1, 30 << 20);
	return block[5] == 0;
}
END
cc -g -O0 -fno-builtin -o peak peak.c || fail "peak.c does not compile"
try 0 "$mallow" run -o peak.pb.gz ./peak
says err \
    '^mallow: live at the peak: .* (3[0-9][0-9] ms|[4-9][0-9][0-9] ms|[0-9.]+ s) after the start$'
ok "the time of the peak"

if command -v go >/dev/null; then
    export GOCACHE=$work/go HOME=$work PPROF_TMPDIR=$work
    try 0 go tool pprof -top -unit B -sample_index inuse_space "$profile"
    says out " ${usable}B total|of ${usable}B"
    try 0 go tool pprof -top -sample_index inuse_objects "$profile"
    says out '\b(119|120)\b'
    ok "go tool pprof reads it"
else
    leave_out "go is not installed: pprof was not asked"
fi
rm -f mallow.*

try 7 "$mallow" run --exact sh -c './example; exit 7'
says err 'ended after .* with status 7'
says err 'other processes of this run'
says err 'the process that held the most memory was example \(pid [0-9]+\):'
says err 'profile written: mallow\.example\..*\.pb\.gz'
says err '(sh|dash|bash) \(pid [0-9]+\), resident at the peak .*: mallow\.'
rm -f mallow.*
# In a shell of its own, which says "Killed" on its standard error.
try 137 bash -c "exec '$mallow' run --exact sh -c './example >/dev/null; kill -9 \$\$'"
says err 'ended by signal 9 \(Killed\)'
the_profile_of_sh=$(ls mallow.sh.*.pb.gz mallow.dash.*.pb.gz mallow.bash.*.pb.gz 2>/dev/null)
[ -n "$the_profile_of_sh" ] || fail "no profile of the killed shell"
rm -f mallow.*
"$mallow" run --exact sh -c 'kill -TERM $$' 2>err
[ $? = 143 ] || fail "status of a terminated program"
rm -f mallow.*
ok "exit statuses, a killed program, and processes of the program"

printf '#include <stdlib.h>\nint main(void) { free(malloc(1 << 20)); }\n' >freed.c
cc -g -O0 -o freed freed.c || fail "cc"
try 0 "$mallow" run --exact -o freed.pb.gz ./freed
says err 'mallow: next: mallow report --peak-space freed.pb.gz'
try 0 "$mallow" report --peak-space freed.pb.gz
says out '1\.00 MiB 100\.0% .* main .*freed\.c:2'
for view in report top flame tree graph; do
    try 0 "$mallow" "$view" freed.pb.gz
    one_line_error
    says err \
        'note: inuse_space is 0, so this shows the peak, peak_space: 1\.00 MiB; --sample-type'
    says out 'main'
done
try 0 "$mallow" sizes freed.pb.gz
says err 'note: inuse_space is 0, so this shows all that was allocated, alloc_space: 1\.00 MiB'
says out '1\.00 MiB|1024 KiB'
try 0 "$mallow" lifetimes freed.pb.gz
says out '^ +[0-9.]+ \( *100%\): '
# A process's notes of its heap over time are in the profile, the peak among them.
try 0 "$mallow" timeline --json freed.pb.gz
python3 -c '
import json
m = json.load(open("out"))["moments"]
assert len(m) > 1 and max(x["value"] for x in m) == 1 << 20 and m[-1]["value"] == 0, m
' || fail "the timeline"
for view in report top; do
    try 0 "$mallow" "$view" --inuse-space freed.pb.gz
    says_not err note
    says_not out main
done
ok "a program that freed all: the peak"

try 127 "$mallow" run no-such-program
one_line_error
try 126 "$mallow" run /etc/passwd
one_line_error
[ -z "$(ls mallow.* 2>/dev/null)" ] || fail "a profile of nothing"
ok "126 and 127"

try 0 "$mallow" run --exact -o my.pb ./example
[ -s my.pb ] || fail "my.pb"
says err 'profile written: my\.pb'
try 0 "$mallow" report my.pb
try 0 "$mallow" run --exact -o my.heap ./example
grep -q '^heap_v2/1$' <<<"$(head -1 my.heap)" || fail "my.heap"
try 0 "$mallow" run --exact -o folder/ ./example
[ -n "$(ls folder/mallow.example.*.pb.gz)" ] || fail "folder/"
[ -z "$(ls mallow.* 2>/dev/null)" ] || fail "a profile besides the one asked for"
ok "--output"

try 0 "$mallow" run --exact bash -c 'for i in {1..20}; do ./example >/dev/null; done'
[ "$(echo mallow.example.*.pb.gz | wc -w)" = 16 ] || fail "profiles: $(ls mallow.*)"
says err \
    "^mallow: [4-9] processes of this run left out as too small; 'mallow run -o DIR/' writes all"
rm -f mallow.*
try 0 "$mallow" run --exact -o many/ bash -c 'for i in {1..20}; do ./example >/dev/null; done'
[ "$(echo many/mallow.example.*.pb.gz | wc -w)" = 20 ] || fail "profiles: $(ls many)"
says err '^mallow:   and [4-9] more in many$'
# One that outlives the program.
mkfifo to from
exec 9<>to # or it would see the end of its input
cc -O1 -o phases "$here/phases.c" || fail "cc"
# shellcheck disable=SC2016 # for the inner shell
try 0 "$mallow" run --exact bash -c \
    './phases <to >from 2>/dev/null 9>&- &
    printf a >to; read -r _ <from; echo $! >pid; exec sleep 0'
says err "phases \(pid $(cat pid)\): mallow report $(cat pid)"
exec 9>&-
# It keeps its state file when it ends, for whoever wants to see it.
await 60 has_ended "$(cat pid)"
try 0 "$mallow" report "$(cat pid)"
says out phase_a
rm "/dev/shm/mallow-$(id -u)/$(cat pid)".*
rm -f mallow.*
ok "many processes"

echo 'int main(void) { return 4; }' >static.c
if cc -static -o static static.c 2>/dev/null; then
    try 4 "$mallow" run --rate 1T ./static
    says err 'no profile: ./static: it is statically linked'
fi
# At a rate at which no sample comes by chance.
try 5 "$mallow" run --rate 1T env -i sh -c 'exit 5'
says err 'no profile'
try 0 "$mallow" run --rate 1T true
says err 'no profile: true .*--exact samples every allocation'
[ -z "$(ls mallow.* 2>/dev/null)" ] || fail "a profile of nothing"
ok "programs without a profile"

# shellcheck disable=SC2016 # for the inner shell
LD_PRELOAD=libm.so.6 MALLOW_CONF=prof_bt_max:64 try 0 "$mallow" run --exact sh -c \
    'echo "$LD_PRELOAD $MALLOW_CONF"'
says out 'libmallow\.so\.1:libm\.so\.6 prof_bt_max:64,'
rm -f mallow.*
ok "what was preloaded and configured is kept"

mkdir -p "odd place/bin"
cp "$mallow" "odd place/bin/"
try 2 "odd place/bin/mallow" run ./example
one_line_error
says err 'MALLOW_LIB'
MALLOW_LIB=$build/lib/libmallow.so try 0 "odd place/bin/mallow" run --exact ./example
rm -f mallow.*
ok "MALLOW_LIB"

"$mallow" run --exact sh -c 'trap "exit 9" TERM; echo ready >ready; while :; do sleep 0.1; done' \
    2>err &
started+=($!)
await 60 test -s ready
kill -TERM $!
wait $!
[ $? = 9 ] || fail "SIGTERM was not sent on"
rm -f mallow.*
ok "signals are sent on"

left=$(grep -ls run- /dev/shm/mallow-"$(id -u)"/* 2>/dev/null | while read -r file; do
    grep -q "^$work" <<<"$(strings -n 8 "$file")" && echo "$file"
done)
[ -z "$left" ] || fail "state files left behind: $left"
ok "no state file stays"
