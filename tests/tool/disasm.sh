#!/bin/bash
# SPDX-License-Identifier: MIT
# disasm.sh BUILD_DIR -- instructions: addresses as objdump has them, numbers as `go tool pprof` has
# them for each address, both syntaxes, aarch64; the web page; files that are missing or damaged.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
needs python3
pprof=
! has_pprof || pprof=yes

build_calls
profile calls ./calls
cat >inlined.cc <<'CODE'
#include <vector>
static inline void grow(std::vector<int> &all, int i) { all.push_back(i); }
int main() {
	std::vector<std::vector<int>> kept(500);
	for (auto &one : kept)
		for (int i = 0; i < 1000; i++)
			grow(one, i);
	auto *left = new std::vector<std::vector<int>>(kept);
	return left->size() == 0;
}
CODE
g++ -g -O1 -o inlined inlined.cc || fail "inlined.cc does not compile"
# No place of a few kilobytes may go without a sample.
rate=256 profile inlined ./inlined

# Address, flat and cum of the instructions that hold something.
cat >held.py <<'CODE'
import json
for function in json.load(open("out"))["functions"]:
    for one in function["instructions"]:
        if one["cum"]:
            print(int(one["address"], 16), one["flat"], one["cum"])
CODE
# The same of pprof's table of addresses, which are in calls: the last one of each instruction, in
# the process.  Its own
# -disasm finds no symbol in programs that are not Go's.
cat >addresses.py <<'CODE'
import json, re, subprocess, sys
profile, binary = sys.argv[1:]
raw = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", profile],
                     capture_output=True, text=True).stdout
start, offset = next((int(m[1], 16), int(m[2], 16)) for m in
    re.finditer(r"^\d+: 0x([0-9a-f]+)/0x[0-9a-f]+/0x([0-9a-f]+) (\S+)", raw, re.M)
    if m[3].endswith("/" + binary))
table = subprocess.run(["go", "tool", "pprof", "-top", "-addresses", "-noinlines", "-trim=false",
                        "-unit=B", "-symbolize=none", profile],
                       capture_output=True, text=True).stdout
code = [int(m[1], 16) for m in re.finditer(r"^ +([0-9a-f]+):\t", open("code").read(), re.M)]
sums = {}
for m in re.finditer(r"^ *(-?\d+)B? +\S+ +\S+ +(-?\d+)B? +\S+ +([0-9a-f]{16}) (.*)$", table, re.M):
    # Text segments of these programs lie where they lie in the file.
    address = int(m[3], 16) - start + offset
    if not code[0] <= address <= code[-1] or not int(m[2]):
        continue
    at = max(c for c in code if c <= address)
    old = sums.get(at, (0, 0))
    sums[at] = (old[0] + int(m[1]), old[1] + int(m[2]))
for at in sorted(sums):
    print(at, *sums[at])
CODE
for program in calls inlined; do
    try 0 "$mallow" disasm --json . "$program.pb.gz"
    python3 - "$program" <<'END' || fail "the functions of $program"
import json, sys
data = json.load(open("out"))
data["functions"] = [f for f in data["functions"] if f["file"].endswith("/" + sys.argv[1])]
assert len(data["functions"]) >= 2, data
json.dump(data, open("out", "w"))
END
    objdump -d --no-show-raw-insn "$program" >code
    # shellcheck disable=SC2046 # numbers
    python3 -c 'import json, re
code = {int(m[1], 16): m[2]
        for m in re.finditer(r"^ +([0-9a-f]+):\t(?:data16 |cs )*(\S+)", open("code").read(),
                             re.M)}
names = {"call": "callq", "ret": "retq", "jmp": "jmp"}
count = 0
for function in json.load(open("out"))["functions"]:
    if function["name"].startswith("_start"):
        continue
    last = 0
    for one in function["instructions"]:
        at = int(one["address"], 16)
        assert at in code and at > last, hex(at)
        assert one["text"].startswith(code[at][:3]), (hex(at), one["text"], code[at])
        last, count = at, count + 1
assert count > 20, count' || fail "objdump has other instructions in $program"
    if [ -n "$pprof" ]; then
        python3 held.py | sort -n >ours
        python3 addresses.py "$program.pb.gz" "$program" | sort -n >theirs
        [ "$(wc -l <theirs)" -ge 4 ] || fail "pprof knows too few addresses of $program"
        diff theirs ours >difference ||
            fail "pprof has other numbers in $program: $(cat difference)"
    fi
done
ok "instructions as objdump's, numbers as pprof's"

if [ -n "$pprof" ]; then
    # A line of source has a number or a dot in both columns; files that are not there are told
    # differently.
    lines() { awk \
        '/^ROUTINE/ { print; next }
         $1 ~ /^[0-9.]+/ && $2 ~ /^[0-9.]+/ && !/no source|Total:/ && ($1 != "." || $2 != ".")'; }
    for pattern in main 'small|large' 'grow|push_back'; do
        for program in calls inlined; do
            "$mallow" list "$pattern" -alloc_space -unit=minimum -wrappers "$program.pb.gz" \
                2>/dev/null | lines >ours
            go_pprof -list="$pattern" -alloc_space -unit=minimum -symbolize=none \
                "$program.pb.gz" 2>/dev/null | lines >theirs
            # The standard library's source is here, libc's is not: of that only pprof's headers
            # remain.
            diff theirs ours >difference ||
                fail "list $pattern of $program differs: $(head -20 difference)"
        done
    done
    ok "source lines as pprof's"
fi

try 0 "$mallow" disasm '^large$' calls.pb.gz
says out 'callq? 0x[0-9a-f]+ <malloc@plt>'
says out 'movq %rsp, %rbp'
says out 'pushq %rbp +;large calls\.c:3$'
try 0 "$mallow" disasm --syntax=intel '^large$' calls.pb.gz
says out 'mov rbp, rsp'
says_not out '%r|pushq'
cp out intel
try 0 "$mallow" disasm -intel_syntax '^large$' calls.pb.gz
cmp -s out intel || fail "-intel_syntax is another"
address=$(awk '/<malloc@plt>/ { sub(":", "", $5); print $5 }' intel)
try 0 "$mallow" disasm "0x$address" calls.pb.gz
says out '^ROUTINE =+ large in '
ok "both syntaxes, an address"

# of_machine NAME CALL BYTES TOOLS COMPILER...: a call in a heap profile of another machine, its
# address in the text. CALL is what it begins with, BYTES its length; TOOLS goes before the names of
# binutils.
of_machine() {
    local machine=$1 call=$2 length=$3 tools=$4 text offset start size place
    shift 4
    "$@" -g -O0 -nostdlib -o other.so -x c - <<'CODE' 2>err || return 0
extern void *malloc(unsigned long);
extern void use(void *);
void *kept(void) { return malloc(1000); }
void call(void) { use(kept()); }
CODE
    text=$("${tools}readelf" -lW other.so |
        awk '$1 == "LOAD" && / R E / && !found++ { print $2, $3, $6 }')
    read -r offset start size <<<"$text"
    place=$("${tools}objdump" -d other.so |
        awk '/<kept>:/ { inside = 1 }
            inside && /(bl|call)[\t ].*<malloc@plt>/ && !found++ { sub(":", "", $1); print $1 }')
    {
        echo "heap profile: 10: 10240 [10: 10240] @ heapprofile"
        printf '10: 10240 [10: 10240] @ 0x%x\n\nMAPPED_LIBRARIES:\n' $((0x10000000 + 0x$place - \
            start + length))
        printf '%x-%x r-xp %x 00:00 0 %s\n' 0x10000000 $((0x10000000 + size)) $((offset)) \
            "$PWD/other.so"
    } >other.heap
    try 0 "$mallow" disasm --json '^kept$' other.heap
    python3 - "$place" "$call" <<'END' || fail "$machine: $(cat out)"
import json, sys
function = json.load(open("out"))["functions"][0]
held = [i for i in function["instructions"] if i["flat"]]
assert len(held) == 1 and held[0]["flat"] == 10240, held
assert int(held[0]["address"], 16) == int(sys.argv[1], 16), held
assert held[0]["text"].startswith(sys.argv[2] + " "), held
assert held[0]["text"].endswith("<malloc@plt>"), held
assert held[0]["line"] == 3, held
END
    ok "$machine"
}
of_machine aarch64 bl 4 aarch64-linux-gnu- aarch64-linux-gnu-gcc -shared -fPIC
of_machine 'i386 with endbr32' calll 5 '' gcc -m32 -shared -fPIC -fcf-protection -Wl,-z,ibtplt
of_machine i386 calll 5 '' gcc -m32 -shared -fPIC
if echo 'void *malloc(unsigned long size) { return (void *)size; } void use(void *p) { (void)p; }' |
    gcc -m32 -shared -fPIC -nostdlib -fno-builtin -o linked.so -x c - 2>err; then
    of_machine 'i386 at a fixed place' calll 5 '' gcc -m32 -fno-pic -no-pie -Wl,-e,call \
        -Wl,--no-as-needed "$PWD/linked.so"
fi

try 0 "$mallow" weblist 'main|small|large' calls.pb.gz -o page.html
try 0 "$mallow" list 'main|small|large' calls.pb.gz -o list.html
sed -n 's/"view": "[a-z]*"//p' page.html >page
sed -n 's/"view": "[a-z]*"//p' list.html | diff -q page - >/dev/null ||
    fail "list -o page.html is another page"
try 0 "$mallow" weblist --json -alloc_space 'grow|push_back|main' inlined.pb.gz
python3 - <<'END' || fail "weblist's lines"
import json, subprocess
web = json.load(open("out"))["functions"]
grow = next(f for f in web if f["name"] == "grow")
inner = [i for line in grow["lines"] for i in line["instructions"] if i.get("inline")]
assert inner and all(i["name"] and i["line"] for i in inner), grow
json.dump([[f["name"], [[l["line"], l["flat"], l["cum"]] for l in f["lines"]]] for f in web],
          open("web.json", "w"))
END
try 0 "$mallow" list --json -alloc_space 'grow|push_back|main' inlined.pb.gz
python3 -c 'import json
lines = [[f["name"], [[l["line"], l["flat"], l["cum"]] for l in f["lines"]]]
         for f in json.load(open("out"))["functions"]]
assert lines == json.load(open("web.json"))' || fail "weblist has other numbers than list"
in_chromium page.html weblist.js
ok "the page: source that opens into instructions"

try 2 "$mallow" disasm 'no such function' calls.pb.gz
one_line_error
try 2 "$mallow" disasm '(' calls.pb.gz
one_line_error
try 2 "$mallow" disasm '' calls.pb.gz
one_line_error
for view in disasm list peek; do
    try 2 "$mallow" "$view" large calls.pb.gz -o picture.svg
    one_line_error
    [ ! -e picture.svg ] || fail "$view wrote a picture of all"
done
# The binary cut short, with garbage for headers, without sections; then gone.
cp calls whole
for size in 64 4096 8000 12000; do
    head -c "$size" whole >calls
    timeout 20 "$mallow" disasm large calls.pb.gz >out 2>err
    status=$?
    [ "$status" -le 2 ] || fail "a binary of $size bytes: status $status"
    [ -s out ] || one_line_error
done
for seed in 1 2 3 4 5 6 7 8; do
    python3 -c 'import random, sys
random.seed(int(sys.argv[1])); data = bytearray(open("whole", "rb").read())
for _ in range(40): data[random.randrange(64, len(data))] = random.randrange(256)
open("calls", "wb").write(data)' "$seed"
    timeout 20 "$mallow" disasm 'large|small' calls.pb.gz >out 2>err
    status=$?
    [ "$status" -le 2 ] || fail "a damaged binary (seed $seed): status $status"
done
rm calls
try 2 "$mallow" disasm large calls.pb.gz
says err 'calls: cannot open'
try 0 "$mallow" weblist large calls.pb.gz --json
says out '"note": "[^"]*calls: cannot open'
says out '"text": "void \*large'
ok "complaints, damaged files, no files"
