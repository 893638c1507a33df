#!/bin/bash
# SPDX-License-Identifier: MIT
# prof.sh BUILD_DIR SOURCE_DIR -- the controls of the profile pass on mallow and, so that they ask
# for what jemalloc does, on Debian's; what they write is JSON.
. "$(dirname "$0")/lib.sh"

conf=prof:true,lg_prof_sample:0,prof_stats:true
for side in ours ${reference:+theirs}; do
    mkdir "$work/$side"
    cd "$work/$side"
    if [ "$side" = ours ]; then
        LD_LIBRARY_PATH=$compat MALLOC_CONF=$conf "$build/tests/jemalloc_prof"
    else
        TEST_REFERENCE=1 LD_LIBRARY_PATH=$reference MALLOC_CONF=$conf "$build/tests/jemalloc_prof" \
            >"$work/out" || {
            tail -n 2 "$work/out"
            fail "Debian's jemalloc does not pass"
        }
    fi
done
python3 - "$work/ours/log.json" ${reference:+"$work/theirs/log.json"} <<'END' || fail "the logs"
import json, sys
logs = [json.load(open(path)) for path in sys.argv[1:]]
for log in logs:
    assert list(log) == list(logs[-1]), list(log)
    assert list(log["info"]) == list(logs[-1]["info"]), log["info"]
    for a in log["allocations"]:
        assert list(a) == list(logs[-1]["allocations"][0]), a
        assert a["alloc_timestamp"] <= a["free_timestamp"], a
        for thread in (a["alloc_thread"], a["free_thread"]):
            assert 0 <= thread < len(log["threads"]), a
        for stack in (a["alloc_trace"], a["free_trace"]):
            assert len(log["stack_traces"][stack]) >= 2, a
    names = [t["thr_name"] for t in log["threads"]]
    assert "worker" in names, names
END
ok "the log has jemalloc's keys, and its indices are in range"

mkdir "$work/debug"
cd "$work/debug"
LD_PRELOAD=$build/lib/libmallow_debug.so LD_LIBRARY_PATH=$compat MALLOC_CONF=$conf \
    "$build/tests/jemalloc_prof" >out ||
    fail "the debug build: $(tail -n 2 out)"
ok "the same with the debug build"

cd "$work"
for preload in "" "$build/lib/libmallow_debug.so"; do
    for options in prof_recent_alloc_max:5 background_thread:true; do
        LD_PRELOAD=$preload LD_LIBRARY_PATH=$compat \
            MALLOC_CONF=prof:true,lg_prof_sample:12,prof_stats:true,$options \
                "$build/tests/jemalloc_storm"
    done
done

# From the start to the end of the process, by an option.
mkdir "$work/option"
cd "$work/option"
for resolution in default high; do
    rm -f ./*
    LD_PRELOAD=$compat/libjemalloc.so.2 PYTHONMALLOC=malloc \
        MALLOC_CONF=prof:true,prof_log:true,lg_prof_sample:0,prof_time_resolution:$resolution \
        python3 -c 'print(sum(len(str(i)) for i in range(20000)))' >out
    python3 - jeprof.*.0.json $resolution <<'END' || fail "prof_log:true"
import json, sys, time
log = json.load(open(sys.argv[1]))
assert len(log["allocations"]) > 10000, len(log["allocations"])
assert log["info"]["prof_time_resolution"] == sys.argv[2]
last = log["allocations"][-1]["free_timestamp"] / 1e9
now = time.time() if sys.argv[2] == "high" else time.monotonic()
assert now - 60 < last <= now + 1, (last, now)
END
done
ok "prof_log:true, and the time of day with prof_time_resolution:high"
