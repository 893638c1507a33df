#!/bin/bash
# SPDX-License-Identifier: MIT
# locks.sh BUILD_DIR -- `mallow cpu --locks`: which lock, who waits, who holds it.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -pthread -o locks "$here/locks.c" || fail "locks.c does not compile"
conf=prof_state_min:0
start_ready ./locks
try 0 "$mallow" cpu --wait 60 --locks --for 3s "$pid"
says out '^Locks that threads waited for in [23].* looks\):$'
python3 - <<'END' || fail "the locks are wrong"
import re
locks = re.split(r"^ +[0-9.]+ (?:s|ms)  ", open("out").read(), flags=re.M)[1:]
by_name = {text.split("\n")[0].split(" (")[0]: text for text in locks}
cache = by_name["cache_lock"]
assert re.search(r"reader-1 \(\d+\) waited [0-9.]+ (s|ms), in look_up\n", cache), cache
assert re.search(r"reader-2 \(\d+\) waited [0-9.]+ (s|ms), in look_up\n", cache), cache
holders = [line for line in cache.split("\n") if "held by refresher (" in line]
assert len(holders) == 1 and holders[0].endswith("mostly it was in refresh_cache"), cache
# The holder is there in nearly all of the time.
def seconds(text):
    number, unit = re.search(r"([0-9.]+) (s|ms)", text).groups()
    return float(number) * (1 if unit == "s" else 0.001)
held = seconds(re.search(r"held by refresher \(\d+\) while (.*?) were", cache)[1])
waited = sum(seconds(one) for one in re.findall(r"waited (.*?),", cache))
assert waited > 1 and held > waited / 2, (waited, held)
[heap] = [text for name, text in by_name.items() if name.startswith("the lock at 0x")]
assert re.search(r"stuck \(\d+\) waited [23]", heap), heap
assert re.search(r"held by keeper \(\d+\) while [23].* in keep_forever", heap), heap
assert not any("quiet" in name for name in by_name), by_name.keys()
END
ok "a convoy: the lock by its name, who waits, who holds it"

try 0 "$mallow" cpu --wait 60 --locks --json --for 2s "$pid"
valid locks
python3 - "$pid" <<'END' || fail "the locks are wrong in JSON"
import json, re, sys
data = json.load(open("out"))
assert (data["view"], data["program"], data["pid"]) == ("locks", "locks", int(sys.argv[1])), data
assert 1.5 < data["seconds"] < 60 and data["looks"] > 10 and data["stopped_seconds"] == 0, data
sums = [lock["seconds"] for lock in data["locks"]]
assert sums == sorted(sums, reverse=True), sums
[cache] = [lock for lock in data["locks"] if lock["name"] == "cache_lock"]
[heap] = [lock for lock in data["locks"] if lock["name"] is None]
assert re.fullmatch("0x[0-9a-f]+", heap["address"]), heap
readers = {one["thread"]: one for one in cache["waiters"]}
assert set(readers) == {"reader-1", "reader-2"}, cache
assert all(one["function"] == "look_up" and one["thread_id"] > 0 for one in readers.values()), cache
assert abs(sum(one["seconds"] for one in readers.values()) - cache["seconds"]) < 1e-6, cache
assert {"thread": "keeper", "function": "keep_forever"}.items() <= heap["holders"][0].items(), heap
END
ok "the same as JSON"

# While the process is stopped nobody waits for a lock, and nothing is looked at.
cpu_value() {
    "$mallow" status --json "$pid" | python3 -c 'import json, sys
print((json.load(sys.stdin)["cpu"] or {}).get(sys.argv[1], 0))' "$1"
}
exceeds() {
    [ "$(cpu_value "$1")" -gt "$2" ]
}
# stop_when NAME VALUE OPTIONS: a command that samples; the process is stopped when this value of
# its status is exceeded, and goes on when the command has ended.
stop_when() {
    local name=$1 value=$2 command status
    shift 2
    "$mallow" cpu "$@" --for 3s "$pid" >out 2>err &
    command=$!
    await 60 exceeds "$name" "$value"
    kill -STOP "$pid"
    wait "$command"
    status=$?
    kill -CONT "$pid"
    return "$status"
}
stop_when samples "$(cpu_value samples)" --locks --json || fail "status $?, not 0"
grep -q "note: pid $pid: the process was stopped" err || fail "the note is missing"
python3 - <<'END' || fail "the time in which it was stopped counts"
import json
data = json.load(open("out"))
assert data["stopped_seconds"] > 0.5, data
waited = [one["seconds"] for lock in data["locks"] for one in lock["waiters"]]
assert max(waited) < data["seconds"] + 0.05, data
assert data["seconds"] + data["stopped_seconds"] < 60, data
END
ok "a process that is stopped meanwhile"

kill -9 "$pid"
wait "$pid" 2>/dev/null
build_steps <<'END'
static void *volatile kept[2000];
int main(void) {
	for (int i = 0; i < 2000; i++)
		kept[i] = malloc(1000);
	wait_for_line();
	return kept[0] == NULL;
}
END
start_ready ./steps
try 0 "$mallow" cpu --wait 60 --locks --for 0.3s "$pid"
says out '^no thread waited for a lock in .* looks\)$'
for option in --locks "" --memory-cost; do
    # shellcheck disable=SC2086 # words
    stop_when hz 0 $option
    [ "$?" = 2 ] || fail "cpu $option of a process that is stopped: not status 2"
    one_line_error
    says err "pid $pid: nothing was sampled: the process is stopped, .*'kill -CONT $pid'"
    [ ! -s out ] || fail "cpu $option: an empty table"
done
for option in --memory-cost "--event page-faults" "-o x.html"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" cpu --locks $option "$pid"
    one_line_error
    says err 'and --locks do not go together'
done
try 0 "$mallow" help lock
says out 'mallow cpu --locks PID'
ok "no lock, and complaints"
