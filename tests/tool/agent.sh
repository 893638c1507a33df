#!/bin/bash
# SPDX-License-Identifier: MIT
# agent.sh BUILD_DIR -- `mallow agent` with a period of a second: each allocation of each process is
# pushed once, whatever is killed; names, a receiver that is down, the bound of the spool, hostile
# state files, mistakes in the configuration, two agents, users without rights.
source "$(dirname "$0")/lib.bash"
needs python3 curl
library=$build/lib/libmallow.so
agent=
: >agent.err

# A program that allocates until its file `stop` is there, and then waits.  Each block has a sample.
cat >worker.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static char *hold(size_t bytes) {
	char *block = malloc(bytes);
	memset(block, 1, bytes);
	return block;
}
int main(int argc, char **argv) {
	static char *kept[1000];
	const struct timespec nap = {.tv_nsec = 2000000};
	for (unsigned i = 0; argc > 1; i++) {
		free(kept[i % 1000]);
		kept[i % 1000] = hold(1000);
		nanosleep(&nap, NULL);
		if (i % 64 == 0 && access(argv[1], F_OK) == 0)
			break;
	}
	for (;;)
		pause();
}
END
cc -O1 -g worker.c -o worker || fail "worker.c does not compile"

# start_worker NAME: sets $pid; it stops to allocate when the file NAME.stop is there.
start_worker() {
    MALLOW_CONF=lg_prof_sample:0,prof_state_min:0 LD_PRELOAD=$library \
        ./worker "$1.stop" --name="$1" &
    pid=$!
    started+=("$pid")
    await 60 is_known "$pid"
}

# start_agent [OPTION...]: with ./agent.conf; what it says goes to agent.err.
start_agent() {
    "$mallow" agent --config agent.conf "$@" 2>>agent.err &
    agent=$!
    started+=("$agent")
}
# said PATTERN: the agent has said it.
said() {
    has_line agent.err "$1"
}
times_said() {
    grep -cE "$1" agent.err
}
end_agent() {
    kill -TERM "$agent"
    kill -TERM "$agent"
    wait "$agent" || fail "the agent ended with status $?: $(cat agent.err)"
}
# Prints the files of a store that have a profile of the service.
cat >files_of.py <<'END'
import glob, gzip, sys
for name in sorted(glob.glob(sys.argv[1] + "/profiles/*/*.pb.gz")):
    if b"service=" + sys.argv[2].encode() + b"\x32" in gzip.open(name).read():
        print(name)
END
# pushed_total FOLDER NAME TYPE: the sum of a type over all profiles of a service in a store.
pushed_total() {
    local files
    mapfile -t files < <(python3 files_of.py "$1" "$2")
    [ "${#files[@]}" -gt 0 ] || {
        echo none
        return
    }
    total_of "$3" "${files[@]}"
}
# total_of TYPE TARGET...: the sum.  The state file of a process stays when it is killed.
total_of() {
    "$mallow" report --json --sample-type "$@" | sed -n 's/^ *"total": \([0-9]*\),/\1/p'
}
is_pushed() {
    [ "$(pushed_total store "$1" alloc_objects)" = "$2" ]
}

cat >agent.conf <<END
push dir://$work/store
folder $work/folder
period 1s
scan 0.2s
host test-host
service command --name=([a-z]+) svc-\$1
label tier file $work/tier
END

# ---- the configuration ----

printf 'perod 1s\nperiod 1\n# fine\nservice dns\nperiod 5x\n' >wrong.conf
try 2 "$mallow" agent --config wrong.conf --check
[ "$(grep -c . err)" = 3 ] || fail "not one line a mistake"
says err '^mallow: wrong.conf:1: unknown setting .perod.; did you mean period\?'
says err '^mallow: wrong.conf:4: unknown source .dns.'
says err '^mallow: wrong.conf:5: period: line 2 has set it already'
try 0 "$mallow" agent --config agent.conf --check
try 2 "$mallow" agent --config none.conf --check
one_line_error
try 2 "$mallow" agent --config agent.conf --to ftp://host --check
one_line_error
# Files that the configuration names are looked at, too.
# names_file SETTING STATUS PATTERN: of the file `named`.
names_file() {
    (cat agent.conf && echo "$1 $work/named") >files.conf
    try "$2" "$mallow" agent --config files.conf --check
    [ -z "$3" ] || says err "$3"
}
names_file token-file 2 '/named: cannot read the secret: No such file'
names_file tls-ca 2 '/named: cannot read: No such file'
echo secret >named && chmod 644 named
names_file token-file 2 'run chmod 600'
chmod 600 named
names_file token-file 0 ''
names_file tls-ca 0 ''
ok "mistakes in the configuration, one line each"

# ---- a process that is killed, agents that are killed: each allocation counts once ----

echo gold >tier
start_worker killed
killed=$pid
start_worker live
live=$pid
start_agent
await 60 said 'pushes to dir://'
try 2 "$mallow" agent --config agent.conf
one_line_error
says err "folder: another agent with the pid $agent has this folder"
ok "a second agent of the folder ends"

is_any() {
    [ "$(pushed_total store "$1" alloc_objects)" != none ]
}
await 60 is_any svc-live
await 60 is_any svc-killed
# Its label came from a file that is there no more when the last profile is taken.
rm tier
for _ in 1 2 3; do
    kill -9 "$agent"
    { wait "$agent"; } 2>/dev/null
    start_agent
    nap 0.7
done
kill -9 "$killed"
wait "$killed" 2>/dev/null
total=$(total_of alloc_objects "$killed")
[ "$total" -gt 100 ] || fail "the process made $total allocations"
await 60 is_pushed svc-killed "$total"
await 60 test -s folder/ended
kill -9 "$agent"
wait "$agent" 2>/dev/null
start_agent
touch live.stop
stopped() {
    local before
    before=$(total_of alloc_objects "$live")
    nap 0.3
    [ "$before" = "$(total_of alloc_objects "$live")" ]
}
await 60 stopped
total_live=$(total_of alloc_objects "$live")
await 60 is_pushed svc-live "$total_live"
# Some more periods: nothing is counted again, and the ended process is pushed once.
count=$(find store/profiles -name '*.pb.gz' | wc -l)
more() {
    [ "$(find store/profiles -name '*.pb.gz' | wc -l)" -ge $((count + 3)) ]
}
await 60 more
is_pushed svc-live "$total_live" ||
    fail "$total_live, counted twice: $(pushed_total store svc-live alloc_objects)"
is_pushed svc-killed "$total" ||
    fail "$total, counted twice: $(pushed_total store svc-killed alloc_objects)"
bytes=$(pushed_total store svc-killed alloc_space)
[ "$bytes" = "$(total_of alloc_space "$killed")" ] || fail "bytes: $bytes"
[ "$(wc -l <folder/ended)" = 1 ] || fail "not one process has ended: $(cat folder/ended)"
latest=$(python3 files_of.py store svc-killed | tail -1)
try 0 "$mallow" comments "$latest"
says out '^mallow-identity: tag.tier=gold$'
says out "^mallow-identity: instance=test-host:$killed:[0-9]*\$"
says out '^mallow-identity: build_id=.'
try 0 "$mallow" report --sample-type alloc_space "$latest"
says out 'hold +worker.c'
ok "each allocation is pushed once, though agents and the process were killed"

# ---- hostile state files ----

folder=/dev/shm/mallow-$(id -u)
namespace=$(readlink /proc/self/ns/pid | tr -dc 0-9)
head -c 8192 /dev/urandom >"$folder/77777.1.$namespace"
head -c 100 /dev/zero >"$folder/77778.1.$namespace"
cp "$folder/$killed."* "$folder/77779.1.$namespace"
printf '\377\377\377\377\377\377\377\377' |
    dd of="$folder/77779.1.$namespace" bs=1 seek=64 conv=notrunc 2>/dev/null
mkfifo "$folder/77780.1.$namespace"
await 60 said '77777.1'
await 60 said '77778.1'
nap 2
for name in 77777 77778 77779; do
    [ "$(times_said "$name.1")" -le 1 ] || fail "$name: more than a line"
done
kill -0 "$agent" || fail "the agent has ended"
rm -f "$folder"/7777?.1.* "$folder/77780.1."*
ok "damaged state files cost a line each"

# ---- signals ----

echo 'period never' >>agent.conf
kill -HUP "$agent"
await 60 said 'agent.conf:8: period: line 3 has set it'
await 60 said 'the configuration before stays'
sed -i '/never/d; s/svc-/new-/' agent.conf
echo 'metrics 127.0.0.1:0' >>agent.conf
kill -HUP "$agent"
await 60 said 'the configuration was read anew'
await 60 said 'metrics at http'
is_any_new() {
    [ "$(pushed_total store new-live inuse_objects)" != none ]
}
await 60 is_any_new
url=$(sed -n 's/.*metrics at \(http.*\)/\1/p' agent.err | tail -1)
try 0 curl -sf --max-time 20 "$url"
says out '^mallow_agent_processes 1$'
says out '^mallow_agent_spool_limit_bytes 268435456$'
says out '^mallow_agent_configuration_errors_total 1$'
says out '^mallow_agent_sent_total [1-9]'
try 22 curl -sf --max-time 20 -H 'Host: elsewhere.example' "$url"
end_agent
said 'ended; [0-9]+ profiles wait' || fail "it says nothing at its end"
ok "a configuration with mistakes is not taken, one without is; the page of counters"

# ---- a receiver that is down, then up; the bound of the spool ----

rm -rf store folder
sed -i 's/^push.*//; s/^metrics.*//' agent.conf
: >blocker
start_agent --to "dir://$work/blocker/store"
await 60 said 'blocker'
waiting() {
    [ "$(find folder/ready -name '*.pb.gz' | wc -l)" -ge "$1" ]
}
await 60 waiting 3
[ "$(times_said 'wait in the spool')" = 1 ] || fail "not one line: $(cat agent.err)"
end_agent
waiting 3 || fail "the spool is empty after the end"
start_worker late
touch late.stop
await 60 stopped
start_agent --to "dir://$work/blocker/store"
rm blocker
mkdir blocker
back() {
    [ -d blocker/store ] &&
        [ "$(pushed_total blocker/store new-live alloc_objects)" = "$total_live" ]
}
await 120 back
end_agent
ok "a receiver that was down gets what waited"

: >blocked
echo 'spool 64K' >>agent.conf
start_agent --to "dir://$work/blocked/store"
await 120 said 'the spool is full: lost [0-9]+ profiles'
[ "$(du -sb folder/ready | cut -f1)" -le 80000 ] || fail "the spool: $(du -sb folder/ready)"
end_agent
ok "the spool keeps to its bound, and says what was lost"

# ---- a user without rights ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    share_build
    : >agent.err
    mkdir nobody
    chown 65534 nobody
    sed "s|^folder.*|folder $work/nobody/folder|; s/^spool.*//" agent.conf >nobody.conf
    chmod 644 nobody.conf
    setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work/nobody" \
        "$mallow" agent --config nobody.conf --to "dir://$work/nobody/store" 2>>agent.err &
    agent=$!
    started+=("$agent")
    await 60 said 'note: processes of other users \(uid 0\) are not pushed'
    nap 1
    [ "$(times_said 'other users')" = 1 ] || fail "more than once: $(cat agent.err)"
    end_agent
    ok "a user without rights says once whose processes are not pushed"
else
    leave_out "not root, or setpriv is missing: no other user"
fi
