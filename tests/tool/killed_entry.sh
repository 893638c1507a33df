#!/bin/bash
# SPDX-License-Identifier: MIT
# killed_entry.sh BUILD_DIR -- commands that have a sleeping process answer are killed at any
# moment: no call of the process returns EINTR, and it still answers.
source "$(dirname "$0")/lib.bash"
needs python3
[ "$(uname -m)" = x86_64 ] || skip "a sleeping process is woken on x86-64 only"
cc -g -O1 -pthread -o undisturbed "$here/undisturbed.c" || fail "cc"
mkfifo pipe
MALLOW_CONF=prof_state_min:0,background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
    ./undisturbed 1000 <pipe >said &
pid=$!
started+=("$pid")
exec {input}>pipe
await 60 grep -qs ready said
await 60 is_known "$pid"
# The moments are spread over what the command takes on this machine.
python3 - "$mallow" "$pid" <<'END_OF_PYTHON' || fail "python3"
import random, subprocess, sys, time
mallow, pid = sys.argv[1:]
def start(rate):
    return subprocess.Popen([mallow, "set", "--wait", "60", pid, f"rate={rate}"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
durations = []
for i in range(10):
    begin = time.monotonic()
    if start(f"{i + 1}M").wait() != 0:
        sys.exit("the process does not answer")
    durations.append(time.monotonic() - begin)
longest = sorted(durations)[5] * 1.5
chance = random.Random(1)
killed = 0
for i in range(400):
    command = start(f"{i % 10 + 1}M")
    time.sleep(chance.random() * longest)
    command.kill()
    killed += command.wait() != 0
print(f"# {killed} of 400 commands were killed, within {longest * 1000:.0f} ms")
if killed < 100:
    sys.exit("too few were killed")
END_OF_PYTHON
try 0 "$mallow" set --wait 60 "$pid" rate=3M
says out 'T = 3 MiB'
exec {input}>&-
wait "$pid" || fail "$(cat said)"
ok "commands killed in the middle of an entry: $(tail -1 said)"
