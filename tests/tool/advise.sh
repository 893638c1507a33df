#!/bin/bash
# SPDX-License-Identifier: MIT
# advise.sh BUILD_DIR -- `mallow advise`: programs with one fault each, found with the function's
# name and a number; a program without a fault; what cannot be answered; the commands it names.
source "$(dirname "$0")/lib.bash"
needs python3 ps
g++ -g -O1 -fno-builtin -fno-optimize-sibling-calls -pthread -o advised "$here/advised.cc" ||
    fail "advised.cc does not compile"

cat >finds.py <<'END'
import json, sys
kind, function, of, least = sys.argv[1:5]
data = json.load(open("out"))
assert data["view"] == "advise" and data["program"] == "advised", data
found = [f for f in data["findings"]
         if f["kind"] == kind and f.get("function", "-") == function and f["of"] == of]
shares = [f["share"] for f in data["findings"]]
assert shares == sorted(shares, reverse=True) and all(0.01 <= s <= 1 for s in shares), shares
assert len(found) == 1 and found[0]["share"] >= float(least), (kind, function, data)
assert found[0]["bytes"] > 0 or found[0]["objects"] > 0, found
assert any(letter.isdigit() for letter in found[0]["text"]), found
open("command", "w").write(found[0]["command"])
END

# finds FAULT KIND FUNCTION OF SHARE OPTION...: the program with the fault is told of it, as text
# and as JSON, and the command that shows more works.
finds() {
    local fault=$1 kind=$2 function=$3 of=$4 share=$5
    shift 5
    start_ready ./advised "$fault"
    is_found() {
        "$mallow" advise --json "$@" "$pid" >out 2>err
        python3 finds.py "$kind" "$function" "$of" "$share" 2>why
    }
    # Some faults take a time to be seen: what grows, what nobody touches, what stays.
    await 60 is_found "$@"
    try 1 "$mallow" advise "$@" "$pid"
    says out "^advised \(pid $pid\): [1-9]"
    says out "^   more: mallow .*$pid"
    "$mallow" advise --json "$@" "$pid" >out
    valid advise
    PATH=$build/bin:$PATH timeout 60 bash -c "$(cat command)" >out 2>err || fail "$(cat command)"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    ok "$fault: $kind"
}

time="of CPU time, estimated" live="of memory in use" resident="of resident memory"
conf=prof_seed:5,prof_sample:64K,prof_cost_limit:0
finds vector reserve collect_rows "$time" 0.05
finds string reserve join_words "$time" 0.05
finds realloc reserve append_lines "$time" 0.05
finds temporaries freed_at_once format_key "$time" 0.03
finds jobs other_threads make_job "$time" 0.02
finds sessions fragmentation open_session "$resident" 0.3
finds cache only_grows remember "$resident" 0.1
finds accounts only_grows open_account "$resident" 0.1
finds mapped mapped - "$resident" 0.5
finds pool untouched reserve_pool "$live" 0.5
finds nodes sizes make_node "$live" 0.15
finds tables duplicates load_table "$live" 0.5 --look
# So few blocks are sampled that nobody can be named with certainty.
conf=prof_seed:5,prof_sample:16M,prof_cost_limit:0
finds sessions fragmentation - "$resident" 0.3
conf=prof_sample:1
finds stacks stacks serve_deeply "$resident" 0.5
conf=prof_seed:5,prof_sample:64K,prof_cost_limit:0
finds idle option - "$resident" 0.5

# No fault, no finding; contents are read on demand only.
start_ready ./advised well
try 0 "$mallow" advise "$pid"
says out "^advised \(pid $pid\): no findings"
says out "^   equal contents: --look reads"
has_run() { [ "$(ps -o etimes= -p "$pid")" -ge 4 ]; }
await 60 has_run
try 0 "$mallow" advise --look --json "$pid"
python3 -c 'import json; a = json.load(open("out"))
assert a["findings"] == [] and a["unanswered"] == [], a' || fail "findings, or not looked for"
ok "no fault"

# Who has ended: what its state file holds is found still, and the rest is named.
start_ready ./advised nodes
kill -9 "$pid"
wait "$pid" 2>/dev/null
try 1 "$mallow" advise "$pid"
says out "just above a size class: "
says out "^   never touched: the process has ended"
ok "ended"

# A profile in a file.
start_ready ./advised temporaries
try 0 "$mallow" dump --labels -o saved.pb.gz "$pid"
try 1 "$mallow" advise saved.pb.gz
says out 'format_key allocated [0-9.]+[kMG]? blocks of 48 B'
says out '^   only grows: only a live process or its state file tells it'
try 0 "$mallow" dump -o plain.heap "$pid"
try 0 "$mallow" advise plain.heap
says out '^   freed at once: the profile holds no lifetimes'
try 0 "$mallow" dump -o plain.pb.gz "$pid"
try 0 "$mallow" advise plain.pb.gz
says out '^   reserve here: the profile holds no sizes .*mallow dump --labels'
try 2 "$mallow" advise nothing.pb.gz
one_line_error
ok "files"
