#!/bin/bash
# SPDX-License-Identifier: MIT
# pauses.sh BUILD_DIR -- a stop and a start leave a mark: report, status, timeline and dumps say how
# long sampling was off, and which part of the time was seen.
source "$(dirname "$0")/lib.bash"
needs python3
cat >steady.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>

int main(void) {
	static void *volatile kept;
	for (int i = 0; write(i == 0 ? 1 : -1, "ready\n", 6) == 6 || i > 0; i++) {
		kept = malloc(1000 + i % 100);
		usleep(1000);
	}
	return 1;
}
EOF
cc -g -O1 -fno-builtin -o steady steady.c || fail "cc"
mkfifo from
MALLOW_CONF=prof_sample:1,prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./steady >from &
pid=$!
started+=("$pid")
read -r -t 60 _ <from
now() {
    date +%s.%N
}
begun=$(now)
sleep 1
for command in "report $pid" "status $pid" "timeline $pid"; do
    # shellcheck disable=SC2086 # several words
    try 0 "$mallow" $command
    says_not out 'was off'
done
ok "no mark where nothing was stopped"

before_stop=$(now)
try 0 "$mallow" stop "$pid" --wait 60
after_stop=$(now)
sleep 1.5
try 0 "$mallow" status "$pid"
says out 'sampling +off since'
says out 'unseen +sampling was off 1 time for [0-9.]+ s.*[0-9]+ % of the time was seen'
before_start=$(now)
try 0 "$mallow" start "$pid" --wait 60
after_start=$(now)
sleep 1
# What the commands took at most and at least, by this script's clock: the pause lies between the
# two.
least=$(awk "BEGIN { print $before_start - $after_stop }")
most=$(awk "BEGIN { print $after_start - $before_stop }")
looked=$(now)
try 0 "$mallow" status --json "$pid"
time=$(awk "BEGIN { print $looked - $begun }")
python3 - out "$least" "$most" "$time" <<'END' || fail "status --json"
import json, sys
status = json.load(open(sys.argv[1]))
least, most, time = map(float, sys.argv[2:])
unseen, seen = status["unseen_ns"] / 1e9, status["seen_share"]
assert least - 0.1 < unseen < most + 0.1 and status["stops"] == 1, (unseen, status["stops"])
# The process began before `begun`, and was looked at later than that.
assert 0 < seen < 1 and seen >= 1 - (most + 0.1) / time, seen
END
seen='sampling was off 1 time for [0-9.]+ s.*: [0-9.]+ % of the time was seen'
try 0 "$mallow" report "$pid"
says out "^Note: +$seen"
try 0 "$mallow" timeline "$pid"
says out '^sampling was off from [0-9:.]+ to [0-9:.]+$'
try 0 "$mallow" timeline --json "$pid"
python3 - out "$least" "$most" <<'END' || fail "timeline --json"
import json, sys
pauses = json.load(open(sys.argv[1]))["pauses"]
least, most = map(float, sys.argv[2:])
assert len(pauses) == 1, pauses
assert least - 0.1 < (pauses[0]["until_ns"] - pauses[0]["from_ns"]) / 1e9 < most + 0.1, pauses
END
try 0 "$mallow" timeline -o steady.svg "$pid"
grep -q 'class="pause"' steady.svg || fail "the picture has no pause"
for mark in 'sampling off' 'sampling on'; do
    grep -q "class=\"mark\".*<title>$mark</title>" steady.svg ||
        fail "the picture has no mark '$mark'"
    try 0 "$mallow" timeline "$pid"
    says out "^[0-9:.]+  $mark\$"
done
try 0 "$mallow" dump -o steady.pb.gz "$pid"
try 0 "$mallow" report steady.pb.gz
says out "^Note: +$seen"
try 0 "$mallow" dump --in-process "$pid"
own=$(sed -n 's/.*the process wrote //p' err)
try 0 "$mallow" report "$own"
says out "^Note: +$seen"
try 0 "$mallow" report --json "$pid"
python3 -c 'import json, sys
least, most = map(float, sys.argv[1:])
assert least - 0.1 < json.load(open("out"))["unseen_ns"] / 1e9 < most + 0.1' \
    "$least" "$most" || fail "report --json"
ok "a pause is told everywhere"

# What was reset is not missing any more.
try 0 "$mallow" reset "$pid" --wait 60
try 0 "$mallow" report "$pid"
says_not out 'was off'
kill -9 "$pid"
ok "a reset begins anew"
