#!/bin/bash
# SPDX-License-Identifier: MIT
# jit.sh BUILD_DIR -- generated code has its names in the report, from the map or the
# jitdump that node writes for perf; a stack deeper than prof_bt_max says that it was cut.
source "$(dirname "$0")/lib.bash"
needs node
cat >script.js <<'END'
const zlib = require("zlib");
function packOften(n) {
    let bytes = 0;
    for (let i = 0; i < n; i++) bytes += zlib.deflateSync(Buffer.alloc(3000, i)).length;
    return bytes;
}
packOften(3000);
require("fs").writeFileSync("pid", String(process.pid));
END
export MALLOW_CONF=prof_seed:1
try 0 "$mallow" run -o profile.pb.gz --rate 4k -- node --perf-basic-prof script.js
map=/tmp/perf-$(cat pid).map
[ -s "$map" ] || fail "node wrote no map"
rm -f "$map"
# The names are in the file: the map is not needed any more.
try 0 "$mallow" report --all --sample-type alloc_space profile.pb.gz
says out 'packOften script.js:2:19'
ok "functions of generated code"
# The frames of node itself are left out, and found all the same.
try 0 "$mallow" top --sample-type alloc_space --focus packOften profile.pb.gz
says out 'packOften script.js:2:19'
says_not out 'node::'
try 0 "$mallow" top --native --sample-type alloc_space --focus packOften profile.pb.gz
says out 'packOften script.js:2:19'
says out 'node::'
try 0 "$mallow" top --sample-type alloc_space --focus AllocForZlib profile.pb.gz
says out 'packOften script.js:2:19'
ok "frames of the interpreter"
# Their lines are in the script.
try 0 "$mallow" list --sample-type alloc_space packOften profile.pb.gz
says out '^ROUTINE =+ packOften script.js:2:19 in '
says out ' 2:function packOften'
ok "the script's lines"

# node writes a jitdump into the current directory, and maps it.
try 0 "$mallow" run -o dump.pb.gz --rate 4k -- node --perf-prof script.js
[ -s "jit-$(cat pid).dump" ] || fail "node wrote no jitdump"
rm -f jit-*.dump
try 0 "$mallow" report --all --sample-type alloc_space dump.pb.gz
says out 'packOften script.js:2:19'
ok "functions in a jitdump"

MALLOW_CONF=prof_bt_max:5,prof_seed:1 try 0 "$mallow" run -o short.pb.gz --rate 4k -- node script.js
try 0 "$mallow" report --all --sample-type alloc_space short.pb.gz
says out '\[truncated\]'
ok "stacks that were cut"
