#!/bin/bash
# SPDX-License-Identifier: MIT
# locks.sh BUILD_DIR -- `mallow cpu --locks`: which lock, who waits, who holds it.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -pthread -o locks "$here/locks.c" || fail "locks.c does not compile"
conf=prof_state_min:0
start_ready ./locks
try 0 "$mallow" cpu --locks --for 3s "$pid"
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
try 0 "$mallow" cpu --locks --for 0.3s "$pid"
says out '^no thread waited for a lock in .* looks\)$'
for option in --memory-cost --json "--event page-faults" "-o x.html"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" cpu --locks $option "$pid"
    one_line_error
    says err 'and --locks do not go together'
done
try 0 "$mallow" help lock
says out 'mallow cpu --locks PID'
ok "no lock, and complaints"
