#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh BUILD_DIR -- `mallow check`: exit statuses, offending stacks, suppressions, JSON, JUnit.
source "$(dirname "$0")/lib.bash"
needs python3
cat >leaks.c <<'EOF'
#include <stdlib.h>
void *leak_here(size_t size) { return malloc(size); }
void *keep_this(size_t size) { return malloc(size); }
int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 1;
	int left = keep_this(100000) != NULL;
	for (int i = 0; i < count; i++)
		left += leak_here(50000) != NULL;
	free(malloc(2000000));
	return left == 0;
}
EOF
cc -g -O0 -o leaks leaks.c || fail "leaks.c does not compile"
for count in 1 2; do
    "$mallow" run --exact -o $count.pb.gz -- ./leaks $count 2>err || fail "leaks does not run"
done

try 0 "$mallow" check --max-live 1M --max-peak 3M 2.pb.gz
says out '^ok +max-peak: '
says out '^ok +max-live: '
try 1 "$mallow" check --max-live 100K 2.pb.gz
says out '^FAILED +max-live: '
says out '^    leak_here  .*leaks\.c:2$'
try 1 "$mallow" check --max-peak 1M 2.pb.gz
says out '^    main  .*leaks\.c:9$'
try 1 "$mallow" check --max-live 0 --top 1 2.pb.gz
says out '^  and 1 more stack$'
try 0 "$mallow" check --max-live 0 --focus=leek_here 2.pb.gz
says err 'note: the options select no stack of the profile'
# It takes the options of the views that choose stacks: other ways to say the same.
for options in "--focus leak_here" "--thread leaks --ignore nothing" "--tagfocus thread=leaks" \
    "--show-from main"; do
    # shellcheck disable=SC2086 # words
    try 1 "$mallow" check --max-live 100K $options 2.pb.gz
    says out '^FAILED +max-live: '
done
for options in "--thread nobody" "--tagfocus thread=nobody" "--show-from main --exclude ."; do
    # shellcheck disable=SC2086 # words
    try 0 "$mallow" check --max-live 100K $options 2.pb.gz
done
# A peak that the last few blocks make: it is not below what is in use.
cat >grows.c <<'EOF'
#include <stdlib.h>
int main(void) {
	int left = 0;
	for (int i = 0; i < 303; i++)
		left += malloc(20000) != NULL;
	return left == 0;
}
EOF
cc -g -O0 -o grows grows.c || fail "grows.c does not compile"
"$mallow" run --exact -o grows.pb.gz -- ./grows 2>err || fail "grows does not run"
try 0 "$mallow" check --max-live 1G --max-peak 1G --format json grows.pb.gz
python3 - <<'EOF' || fail "more is in use than at the peak"
import json
limits = sorted(json.load(open("out"))["limits"], key=lambda limit: limit["name"])
live, peak = (limit["measured"] for limit in limits)
assert peak == live == 303 * 20480, (peak, live)
EOF
ok "limits on what is in use and the peak"

try 0 "$mallow" check --max-growth 0 --baseline 2.pb.gz 2.pb.gz
try 1 "$mallow" check --max-growth 5% --baseline 1.pb.gz 2.pb.gz
says out '^FAILED +max-growth: '
says out '^    leak_here '
says_not out '^    keep_this '
try 0 "$mallow" check --max-growth 80% --baseline 1.pb.gz 2.pb.gz
try 0 "$mallow" check --max-growth 64K --baseline 1.pb.gz 2.pb.gz
try 0 "$mallow" check --max-growth 0 --baseline 1.pb.gz --baseline 1.pb.gz 2.pb.gz
# A cache that is destroyed before the end: nothing more is in use, but more was.
cat >cache.c <<'EOF'
#include <stdlib.h>
static void *blocks[600];
static void fill_cache(int count) {
	for (int i = 0; i < count; i++)
		blocks[i] = malloc(10000);
	for (int i = 0; i < count; i++)
		free(blocks[i]);
}
int main(int argc, char **argv) {
	for (int round = 0; round < (argc > 2 ? 3 : 1); round++)
		fill_cache(atoi(argv[1]));
	return 0;
}
EOF
cc -g -O0 -fno-builtin -o cache cache.c || fail "cache.c does not compile"
for way in "small:200" "large:600" "busy:200 again"; do
    # shellcheck disable=SC2086 # words
    "$mallow" run --exact -o "${way%%:*}.pb.gz" -- ./cache ${way#*:} 2>err || fail "cache"
done
try 0 "$mallow" check --max-growth 0 --baseline small.pb.gz large.pb.gz
try 1 "$mallow" check --max-peak-growth 5% --max-growth 5% --baseline small.pb.gz large.pb.gz
says out '^FAILED +max-peak-growth: 3.91 MiB more at the peak than in the baseline \(1.95 MiB\)'
says out '^    fill_cache '
says out '^ok +max-growth: '
try 0 "$mallow" check --max-peak-growth 210% --baseline small.pb.gz large.pb.gz
try 0 "$mallow" check --max-peak-growth 1M --baseline small.pb.gz busy.pb.gz
try 1 "$mallow" check --max-alloc-growth 1M --format json --baseline small.pb.gz busy.pb.gz
valid check
python3 - <<'EOF' || fail "the JSON of max-alloc-growth"
import json
[limit] = json.load(open("out"))["limits"]
assert limit["name"] == "max-alloc-growth" and not limit["passed"], limit
assert limit["measured"] == 2 * 200 * 10240 and limit["baseline"] >= 200 * 10240, limit
EOF
try 2 "$mallow" check --max-peak-growth 1M large.pb.gz
one_line_error
try 2 "$mallow" check --baseline small.pb.gz --max-peak 1M large.pb.gz
one_line_error
ok "growth against a baseline"

printf '# what we know of\n\nleak:leak_h*e\nleak:^keep_this$\nleak:/libc.so\n' >known
try 0 "$mallow" check --max-live 100 --focus=main --suppress known 2.pb.gz
says out '^suppressed  .*leak_h\*e'
printf 'leak:^leak_her$\n' >unknown
try 1 "$mallow" check --max-live 100 --suppress unknown 2.pb.gz
try 0 "$mallow" check --max-growth 0 --baseline 1.pb.gz --suppress known 2.pb.gz
printf 'race:leak_here\n' >wrong
try 2 "$mallow" check --max-live 0 --suppress wrong 2.pb.gz
one_line_error
says err 'wrong: line 1 is not a suppression'
ok "suppressions"

# Programs that leak nothing, but whose libraries keep something.
cat >hello.c <<'EOF'
#include <stdio.h>
int main(void) { puts("hello"); }
EOF
cat >hello.cc <<'EOF'
#include <iostream>
int main() { std::cout << "hello " << 1 << "\n"; }
EOF
cc -g -o hello_c hello.c || fail "hello.c does not compile"
c++ -g -o hello_cc hello.cc || fail "hello.cc does not compile"
programs=(./hello_c ./hello_cc)
# Libraries are known by names of functions, some of which Debian's libc has in libc6-dbg only.
"$mallow" run --exact -o hello.pb.gz -- ./hello_c >out 2>err || fail "hello does not run"
try 0 "$mallow" traces hello.pb.gz
if grep -q __libc_start_call_main out; then
    programs+=("/usr/bin/python3 -c print(1)")
else
    leave_out "libc's symbols are not installed: what python3 keeps was not looked at"
fi
for program in "${programs[@]}"; do
    # shellcheck disable=SC2086 # words of a command line
    "$mallow" run --exact -o hello.pb.gz -- $program >out 2>err || fail "$program does not run"
    try 0 "$mallow" check --max-live 0 hello.pb.gz
    says out '^left out  .* in [0-9]+ objects?: (glibc|CPython): '
    try 1 "$mallow" check --max-live 0 --no-default-suppressions hello.pb.gz
    try 0 "$mallow" check --max-live 0 --format json hello.pb.gz
    says out '"kept_by_libraries": \[$'
done
# They count at the peak.
"$mallow" run --exact -o hello.pb.gz -- ./hello_c >out 2>err || fail "hello does not run"
try 1 "$mallow" check --max-live 0 --max-peak 0 hello.pb.gz
says out '^FAILED  max-peak: 4\.00 KiB'
says out '^ok      max-live: '
ok "what libraries keep is no leak"

try 1 "$mallow" check --max-live 0 --max-peak 100M --format json 2.pb.gz
python3 - <<'EOF' || fail "the JSON is not what it should be"
import json
d = json.load(open("out"))
peak, live = d["limits"]
assert not d["passed"] and peak["passed"] and not live["passed"]
assert live["allowed"] == 0 and live["measured"] >= 200000
assert any(f["name"] == "leak_here" and f["line"] == 2 for f in live["stacks"][0]["frames"]
           + live["stacks"][1]["frames"])
EOF
try 1 "$mallow" check --max-live 0 --max-peak 100M --format junit -o junit.xml 2.pb.gz
python3 - <<'EOF' || fail "the XML is not what it should be"
import xml.etree.ElementTree as tree
suites = tree.parse("junit.xml").getroot()
assert suites.get("tests") == "2" and suites.get("failures") == "1"
cases = suites.findall("testsuite/testcase")
assert [c.get("name") for c in cases] == ["max-peak", "max-live"]
assert cases[0].find("failure") is None
assert "leak_here" in cases[1].find("failure").text
EOF
try 1 "$mallow" check --max-live 0 --format junit 1.pb.gz 2.pb.gz
says out '<testsuite name="mallow check 1\.pb\.gz 2\.pb\.gz" '
try 2 "$mallow" check --max-live 0 --format junit -o none/junit.xml 2.pb.gz
one_line_error
ok "JSON and JUnit"

try 2 "$mallow" check 2.pb.gz
one_line_error
try 2 "$mallow" check --max-growth 5% 2.pb.gz
one_line_error
try 2 "$mallow" check --max-live much 2.pb.gz
one_line_error
try 2 "$mallow" check --max-live 5% 2.pb.gz
one_line_error
try 2 "$mallow" check --max-live 0 "$here/lib.bash"
one_line_error
"$mallow" dump -o 2.heap 2.pb.gz 2>err || fail "no heap_v2"
try 2 "$mallow" check --max-peak 1M 2.heap
one_line_error
try 2 "$mallow" check --max-live 0 --suppress none 2.pb.gz
one_line_error
ok "complaints"
