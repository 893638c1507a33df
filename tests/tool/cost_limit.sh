#!/bin/bash
# SPDX-License-Identifier: MIT
# cost_limit.sh BUILD_DIR -- a thread whose samples would cost too much is sampled at a larger T:
# status and report say so, and prof_cost_limit:0 turns it off.
source "$(dirname "$0")/lib.bash"
needs python3
cat >busy.c <<'END'
#include <stdlib.h>
int main(void) {
	for (long i = 0; i < 2000000; i++)
		free(malloc(32768));
	return 0;
}
END
cc -O1 -fno-builtin -o busy busy.c || fail "cc"

# status_of OPTIONS: what is known of a run with these options, in `out`.
status_of() {
    MALLOW_CONF=prof_keep:true,prof_state_min:0,prof_seed:7$1 LD_PRELOAD=$build/lib/libmallow.so \
        ./busy &
    pid=$!
    wait "$pid" || fail "busy"
    try 0 "$mallow" status --json "$pid"
}
status_of ''
python3 - out <<'END' || fail "limited"
import json, sys
status = json.load(open(sys.argv[1]))
assert status["most_times_mean"] > 1, status
assert 0.7 < status["alloc_objects"] / 2e6 < 1.3, status
assert status["live_objects"] == 0, status
END
try 0 "$mallow" status "$pid"
says out 'cost limit reached: a thread was sampled at [0-9]+ times T'
try 0 "$mallow" report "$pid"
says out 'Note: +busy threads were sampled at several times T'

status_of ',prof_cost_limit:0'
python3 - out <<'END' || fail "not limited"
import json, sys
status = json.load(open(sys.argv[1]))
assert status["most_times_mean"] == 1, status
assert 0.95 < status["alloc_objects"] / 2e6 < 1.05, status
END
status_of ',prof_sample:1'
python3 - out <<'END' || fail "exact"
import json, sys
status = json.load(open(sys.argv[1]))
assert status["most_times_mean"] == 1 and 2e6 <= status["alloc_objects"] < 2e6 + 100, status
END
