#!/bin/bash
# SPDX-License-Identifier: MIT
# sources.sh BUILD_DIR -- list, disasm and weblist against `go tool pprof`: what each line of source
# and each instruction holds.  The programs are linked at fixed addresses: in others pprof finds no
# symbol, as it compares those of the file with addresses of the process.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
needs python3 go

cat >calls.c <<'CODE'
#include <stdlib.h>
static void *kept[40000];
__attribute__((noinline)) static void *make(int bytes) {
	char *block = malloc(bytes);
	*block = 1;
	return block;
}
__attribute__((noinline)) static void fill(int from, int to) {
	for (int i = from; i < to; i++)
		kept[i] = make(100 + i % 900);
}
int main(void) {
	fill(0, 20000);
	for (int i = 0; i < 10000; i++)
		free(kept[i]);
	fill(20000, 30000);
	for (int i = 30000; i < 40000; i++)
		kept[i] = calloc(i % 7 + 1, 64);
	return kept[0] == kept[1];
}
CODE
cat >inlined.cc <<'CODE'
#include <cstdlib>
struct node { node *next; char *text; };
static node *first;
static inline char *make_text(int bytes) { return static_cast<char *>(malloc(bytes)); }
static inline void add(int bytes) {
	first = new node{first, make_text(bytes)};
}
extern "C" __attribute__((noinline)) void work() { // pprof shows the names of symbols as they are
	for (int i = 0; i < 20000; i++)
		add(50 + i % 300);
}
int main() {
	work();
	return first->next == nullptr;
}
CODE
gcc -g -O2 -no-pie -o calls calls.c || fail "calls.c does not compile"
g++ -g -O2 -no-pie -o inlined inlined.cc || fail "inlined.cc does not compile"
# What pprof opens in a browser, or its own copy of it.
cat >browser <<'CODE'
#!/bin/sh
cp "${1#file://}" page.html
CODE
chmod +x browser

# facts VIEW FILE: a line of source or an instruction that holds something, a line.
cat >facts.py <<'CODE'
import html, json, re, sys
view, text = sys.argv[1], open(sys.argv[2]).read()
number = r"(\.|-?\d+)B?"
def say(kind, where, flat, cum):
    flat, cum = (int(x) if x != "." else 0 for x in (flat, cum))
    if flat or cum:
        print(kind, where, flat, cum)
if view == "weblist":
    function = ""
    text = html.unescape(re.sub(r"<span class=\"?line\"?> *(\d+)</span>", r"LINE \1 ", text))
    for line in text.splitlines():
        for m in re.finditer(r"<h2>(.*?)</h2>", line):
            function = m[1]
        line = re.sub(r"<[^>]*>", "", line)
        for m in re.finditer(rf"LINE (\d+) +{number} +{number} ", line):
            say(function, m[1], m[2], m[3])
        for m in re.finditer(rf"{number} +{number} +([0-9a-f]{{6,}}): ", line):
            say("at", m[3], m[1], m[2])
elif view == "json":
    for one in json.loads(text)["functions"]:
        for line in one["lines"]:
            say(one["name"], line["line"], str(line["flat"]), str(line["cum"]))
            for at in line["instructions"]:
                say("at", at["address"][2:], str(at["flat"]), str(at["cum"]))
else:
    function = ""
    for line in text.splitlines():
        m = re.match(r"ROUTINE =+ (\S+)", line)
        function = m[1] if m else function
        m = re.match(rf" *{number} +{number} +([0-9a-f]+):", line)
        if m:
            say(function, m[3], m[1], m[2])
CODE
facts() {
    python3 facts.py "$1" "$2" | sort
}

# alike VIEW PROGRAM FUNCTIONS
alike() {
    local reads=$1 json=() wanted=$3
    rm -f page.html
    # Of symbols pprof knows none by an anchored expression.
    [ "$1" = list ] || wanted=${3//[\^\$()]/}
    BROWSER=$work/browser go_pprof -unit=B -inuse_space "-$1=$wanted" "$2" "$2.pb.gz" >text \
        2>err
    if [ "$1" = weblist ]; then
        await 60 grep -qs '</html>' page.html
        mv page.html text || fail "pprof showed no page"
        reads=json json=(--json)
    fi
    facts "$1" text >theirs
    try 0 "$mallow" "$1" "${json[@]}" --unit=B --inuse_space "$3" "$2.pb.gz"
    facts "$reads" out >ours
    [ "$(wc -l <theirs)" -ge 2 ] || fail "pprof -$1 $3 says nothing of $2"
    diff theirs ours >difference || fail "$1 $3 of $2 differs from pprof's: $(head -12 difference)"
    compared=$((compared + 1))
}
for program in calls inlined; do
    rate=1 profile "$program" "./$program"
done
for view in list disasm weblist; do
    # pprof's page has no main.
    alike "$view" calls '^(make|fill)$'
    # It shows inlined lines below the function they ended up in, ours below their own
    # (doc/measurements/reading.md).
    [ "$view" = weblist ] || alike "$view" inlined '^(work|add|make_text)'
done
ok "$compared views of lines and instructions equal pprof's"
