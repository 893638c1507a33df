#!/bin/bash
# SPDX-License-Identifier: MIT
# views.sh BUILD_DIR -- the views against `go tool pprof` on the same profile.proto, of programs as
# they are: the tables must be equal, line by line; and what pprof has no like of.
source "$(dirname "$0")/lib.bash"
# Before HOME changes: rustup's rustc looks for its tools there.
if command -v rustc >/dev/null && ! rustc -g -O -o catalog "$here/catalog.rs" 2>err; then
    rm -f catalog # rustup without a toolchain
fi
source "$here/pprof.bash"
needs python3

script='import json, ast
keep = [json.loads(json.dumps([{"a": str(i), "b": list(range(i % 20))} for i in range(4000)]))]
keep.append(ast.parse("x = 1\n" * 3000))'
profile python python3 -c "$script"
needs g++
cat >stl.cc <<'EOF'
#include <map>
#include <string>
#include <vector>
int main() {
	std::map<std::string, std::vector<int>> all;
	for (int i = 0; i < 20000; i++)
		all["a key that is too long to be kept in place " + std::to_string(i)]
			.resize(i % 50);
	std::vector<std::string> copies;
	for (auto &pair : all)
		copies.push_back(pair.first);
	auto *left = new std::map<std::string, std::vector<int>>(all);
	return left->size() == 0;
}
EOF
g++ -g -O1 -o stl stl.cc || fail "stl.cc does not compile"
profile stl ./stl
[ ! -x catalog ] || profile catalog ./catalog
if command -v redis-server >/dev/null; then
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=prof_sample:4096,prof_cost_limit:0 redis-server \
        --port 0 \
        --unixsocket "$work/redis.sock" --save '' --enable-debug-command yes >/dev/null 2>&1 &
    started+=($!)
    is_populated() {
        redis-cli -s "$work/redis.sock" debug populate 20000 >out 2>&1 && grep -q OK out
    }
    await 60 is_populated
    try 0 "$mallow" dump -o redis.pb.gz "${started[0]}"
else
    leave_out "redis-server is not installed"
fi

if has_pprof; then
    for profile in python stl catalog redis; do
        [ -e "$profile.pb.gz" ] || continue
        for type in alloc_space alloc_objects inuse_space; do
            same "$profile" top "-sample_index=$type"
            same "$profile" top -cum "-$type"
        done
        for rows in functions filefunctions files lines addresses; do
            same "$profile" top -alloc_space "-$rows"
            same "$profile" tree -alloc_space "-$rows" -nodecount=20
        done
        same "$profile" top -alloc_space -noinlines -lines
        same "$profile" top -alloc_space -trim=false
        same "$profile" top -alloc_space -cum -nodecount=10
        same "$profile" top -alloc_space -nodefraction=0.05
        same "$profile" top -alloc_space -divide_by=3
        same "$profile" tree -alloc_space
        same "$profile" tree -alloc_space -cum -edgefraction=0.01
        same "$profile" peek=alloc -alloc_space
    done
    for profile in python stl catalog redis; do
        [ -e "$profile.pb.gz" ] || continue
        alike "$profile" raw
        for type in alloc_space inuse_space; do
            # Of a program that freed all it took nothing is in use.
            [ "$profile-$type" != catalog-inuse_space ] || continue
            alike "$profile" traces -unit=minimum "-$type"
            alike "$profile" callgrind -addresses -unit=B "-$type"
            alike "$profile" dot -trim=false -unit=B "-$type"
            # Small nodes and edges left out, and those there is another way for.
            alike "$profile" dot -nodecount=100000 -nodefraction=0.02 -edgefraction=0.01 -unit=B \
                "-$type"
            alike "$profile" dot -nodecount=100000 -lines -unit=B "-$type"
        done
    done
    same python top -alloc_space '-focus=json|JSON|unicode'
    same python top -alloc_space '-ignore=[Uu]nicode' -cum
    same python top -alloc_space '-hide=^_?Py'
    same python top -alloc_space '-show=^_?Py' -cum
    same python top -alloc_space '-show_from=PyEval' -cum
    same python top -alloc_space '-prune_from=PyObject_Malloc|PyObject_Call'
    same python top -alloc_space -focus=Unicode -relative_percentages -cum
    same python tree -alloc_space -focus=List -ignore=Unicode
    ok "$compared tables equal pprof's"
fi

# jeprof reads heap_v2.  A program without inlined calls: it knows these from line tables only.
if has_jeprof; then
    build_calls
    "$mallow" run --rate 8K -o calls.heap -- ./calls 2>err || fail "calls does not run"
    for order in "" --cum; do
        # shellcheck disable=SC2086 # empty: no option
        jeprof --text --show_bytes $order ./calls calls.heap 2>/dev/null |
            awk 'NF == 6 && $2 ~ /%$/ { print $1, $4, $6 }' | sort >theirs
        # shellcheck disable=SC2086
        try 0 "$mallow" top --unit=B --trim=false $order calls.heap
        table <out | awk 'NR > 1 { sub("B$", "", $1); sub("B$", "", $4); print $1, $4, $6 }' |
            sort >ours
        grep -q ' large$' theirs || fail "jeprof says nothing"
        diff theirs ours >difference || fail "jeprof --text $order differs: $(cat difference)"
    done
    jeprof --collapsed --show_bytes ./calls calls.heap 2>/dev/null | sed 's/<[0-9a-f]*>//g' |
        sort >theirs
    try 0 "$mallow" collapsed calls.heap
    sort out | diff theirs - >difference || fail "jeprof --collapsed differs: $(cat difference)"
    # Lines of source, and instructions, that hold something.
    for view in "list [0-9]+" "disasm [0-9a-f][0-9a-f][0-9a-f]+"; do
        read -r name place <<<"$view"
        rows() { awk -v place="^$place:" \
            '($1 != "." || $2 != ".") && match($3, place) {
                gsub("B", "", $1); gsub("B", "", $2); print $1, $2, substr($3, 1, RLENGTH) }' |
            sort; }
        jeprof "--$name=^(small|large)" --show_bytes ./calls calls.heap 2>/dev/null | rows >theirs
        try 0 "$mallow" "$name" '^(small|large)' --unit=B calls.heap
        rows <out >ours
        [ "$(wc -l <theirs)" = 2 ] || fail "jeprof --$name knows too little: $(cat theirs)"
        diff theirs ours >difference || fail "jeprof --$name differs: $(cat difference)"
    done
    # C++ and Rust, inlined as compilers do: what was called, calls, and the sum of all stacks.
    for program in stl catalog; do
        [ -x "$program" ] || continue
        "$mallow" run --rate 8K -o "$program.heap" -- "./$program" >/dev/null 2>err ||
            fail "$program does not run"
        for view in text dot; do
            jeprof "--$view" --show_bytes "./$program" "$program.heap" >theirs 2>/dev/null
            try 0 "$build/lib/mallow/compat/bin/jeprof" "--$view" --show_bytes "./$program" \
                "$program.heap"
            same=$(python3 "$here/jeprof_rows.py" $view theirs out 2>difference) ||
                fail "jeprof --$view of $program differs: $(cat difference)"
            [ "$same" -ge 5 ] || fail "jeprof --$view of $program: $same rows to compare"
        done
        for view in jeprof "$build/lib/mallow/compat/bin/jeprof"; do
            "$view" --collapsed --show_bytes "./$program" "$program.heap" 2>/dev/null |
                awk '{ sum += $NF } END { printf "%d\n", sum }'
        done >sums
        [ "$(sort -u sums | grep -c '^[1-9]')" = 1 ] ||
            fail "jeprof --collapsed of $program adds up to $(tr '\n' ' ' <sums)"
    done
    ok "the rows equal jeprof's"
fi

p=$work/python.pb.gz
try 0 "$mallow" top --json "$p"
python3 -m json.tool out >/dev/null || fail "top --json is no JSON"
for view in tree tags; do
    try 0 "$mallow" "$view" --json "$p"
    python3 -m json.tool out >/dev/null || fail "$view --json is no JSON"
done
try 0 "$mallow" collapsed --alloc_space "$p"
sum=$(awk '{ sum += $NF } END { printf "%d", sum }' out)
try 0 "$mallow" top --alloc_space --json "$p"
[ "$sum" = "$(python3 -c 'import json; print(json.load(open("out"))["total"])')" ] ||
    fail "collapsed stacks add up to $sum"
# Stacks that differ in addresses and labels alone are one line.
try 0 "$mallow" collapsed --alloc_space "$p"
[ -z "$(sed 's/ [0-9]*$//' out | sort | uniq -d)" ] || fail "collapsed says a stack twice"
try 0 "$mallow" diff "$p" "$p"
says out '^Change: 0 from [0-9]'
says out '^nothing changed$'
try 0 "$mallow" top -base="$p" "$p"
says_not out '^Change'
try 0 "$mallow" top --focus=List "$p" -o focused.pb.gz
try 0 "$mallow" traces focused.pb.gz
says out List
ok "JSON, collapsed stacks, differences, a profile of what was selected"

# The profile itself, to a pipe or a file: labels, names and what was selected.
same_samples() {
    "$mallow" raw "$1" | sed -n '/^Samples:/,/^Locations/p' >ours
    "$mallow" raw "$2" | sed -n '/^Samples:/,/^Locations/p' >theirs
    grep -q ' thread: ' ours || fail "raw says no threads of $1"
    diff ours theirs >difference || fail "$2 is not $1: $(head -5 difference)"
}
try 0 "$mallow" proto "$p"
cp out whole.pb.gz
same_samples "$p" whole.pb.gz
try 0 "$mallow" proto "$p" -o whole.pb
[ "$(od -An -tx1 -N2 whole.pb)" != ' 1f 8b' ] || fail "whole.pb is compressed"
same_samples "$p" whole.pb
try 0 "$mallow" proto "$p" --alloc_space --focus='List' -o some.pb.gz
try 0 "$mallow" traces --alloc_space some.pb.gz
says out List
[ "$(wc -c <some.pb.gz)" -lt "$(wc -c <whole.pb.gz)" ] || fail "--focus leaves nothing out of proto"
try 0 "$mallow" proto --base "$p" "$p" -o nothing.pb.gz
try 0 "$mallow" raw nothing.pb.gz
! grep -q '^ *[1-9].*:' <<<"$(sed -n '/^Samples:/,/^Locations/p' out)" ||
    fail "a profile less itself has samples"

# A profile that `run` wrote has its labels.
try 0 "$mallow" lifetimes "$p"
says out '^lifetime: Total [1-9]'
try 0 "$mallow" sizes "$p"
says out '^bytes: Total [1-9]'

try 0 "$mallow" report "$p" --alloc_space -o out.speedscope.json
[ "$sum" = "$(python3 -c 'import json; d = json.load(open("out.speedscope.json"))["profiles"][0]
total = sum(d["weights"])
print(total if total == d["endValue"] and len(d["samples"]) == len(d["weights"]) else 0)')" ] ||
    fail "out.speedscope.json does not add up to $sum"
try 0 "$mallow" report "$p" -o out.callgrind
grep -q '^events: inuse_space(bytes)' out.callgrind || fail "out.callgrind has no events"
if [ -e stl.pb.gz ]; then
    try 0 "$mallow" list --inuse_space '^main$' stl.pb.gz
    says out 'B +[0-9]+:.*auto \*left = new std::map'
fi
# A profile may name anything as a source: what is no file of text is not waited for.
mkfifo pipe
sed "1i #line 1 \"$work/pipe\"" "$here/example.c" >named.c
if cc -g -O0 -o named named.c 2>err; then
    "$mallow" run --rate 1 -o named.pb.gz -- ./named >/dev/null 2>err
    try 0 timeout 20 "$mallow" list --alloc_space do_something named.pb.gz
    says out "do_something in $work/pipe$"
    says out 'no source; see --source-path'
fi
ok "source, speedscope, callgrind"

try 0 "$mallow" flame "$p" -o page.html
grep -q '"program":"python' page.html || fail "the page holds no profile"
try 0 "$mallow" flame --alloc_space "$p" -o page.html
in_chromium page.html flame.js
# Frames by which all stacks start take one row; of the program's own frames none is hidden.
printf '_start;main;run;a 5\n_start;main;run;b 3\n' >shared.folded
try 0 "$mallow" flame shared.folded -o page.html
cat >shared.js <<'EOF'
"use strict";
const log = [], say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
const now = () => window.flame.inspect();
const drawn = () => now().shown.map(one => now().name(now().main, one.node)).sort().join(" ");
say("start frames are hidden", drawn() === "a all b main run"
	&& now().caption(now().main, 0).includes("1 start frame hidden: _start;"));
document.querySelector(".fold").click();
say("start frames are shown", drawn() === "_start a all b main run");
document.body.setAttribute("data-log", log.join("; "));
EOF
in_chromium page.html "$work/shared.js"
# What shows nothing says why.
try 0 "$mallow" lifetimes --focus='no such function' "$p"
says out '^nothing: what is selected is 0$'
try 0 "$mallow" flame --focus='no such function' "$p" -o page.html
cat >empty.js <<'EOF'
"use strict";
const said = document.querySelector(".empty").textContent, log = [];
const say = (what, good) => log.push((good ? "ok " : "FAILED ") + what);
say("an empty profile says so",
	said.startsWith("No stack has any inuse_space with these options: focus="));
document.body.setAttribute("data-log", log.join("; "));
EOF
in_chromium page.html "$work/empty.js"
try 0 "$mallow" flame --focus='no such function' "$p" -o empty.svg
grep -q 'Nothing to show' empty.svg || fail "empty.svg is blank"
try 0 "$mallow" flame --diff-base "$p" "$p" -o page.html
grep -q '"target":"'"$p"'".*' page.html || fail "the page does not say which profile it shows"
grep -q '"base":"'"$p"'"' page.html || fail "the page does not say what was subtracted"
ok "the page in chromium: zoom, search, keys, views, colours; nothing to show"
try 0 "$mallow" flame --alloc_space "$p" -o flame.svg
python3 - flame.svg <<'EOF' || fail "flame.svg is not what it should be"
import sys
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
boxes = [(g.find(svg + "title").text, *(float(g.find(svg + "rect").get(k))
               for k in ("x", "y", "width")))
         for g in tree.parse(sys.argv[1]).getroot().findall(svg + "g")]
root, *rest = boxes
assert len(rest) > 20 and root[0].startswith("python") and root[0].endswith("(100.00%)"), root
for name, x, y, width in rest:
    above = [b for b in boxes if b[2] == y - 17 and b[1] <= x + 0.2
                 and x + width <= b[1] + b[3] + 1.2]
    assert above, (name, "hangs in the air")
EOF
# Names are UTF-8; what is none is replaced.
printf 'main;gr\303\266\303\237e_bestimmen 5\nmain;b\377d 5\n' >names.folded
try 0 "$mallow" flame names.folded -o names.svg
grep -q 'größe_bestimmen: ' names.svg || fail "names.svg has lost letters"
grep -q 'b?d' names.svg || fail "names.svg is no UTF-8"
# In a difference what grew and what shrank have a colour each, stronger for larger shares.
printf 'main;a 50\nmain;b 10\nmain;c 1\n' >before.folded
printf 'main;a 10\nmain;b 60\nmain;c 2\n' >after.folded
try 0 "$mallow" flame --diff-base before.folded after.folded -o grown.svg
try 0 "$mallow" traces --top 1 after.folded
says out '^ +60 +b$'
says out '^2 smaller stacks are left out$'
! grep -qE ' (a|c)$' out || fail "traces --top 1 shows more than the largest stack"
try 0 "$mallow" traces after.folded
[ "$(grep -cE ' (a|b|c)$' out)" = 3 ] || fail "traces leaves stacks out"
strength() { sed -nE "s/.*<title>$1: .*fill=\"hsl\($2,([0-9]+)%.*/\1/p" grown.svg; }
[ "$(strength b 8)" -gt "$(strength c 8)" ] || fail "what grew more is no redder"
[ "$(strength a 160)" -gt 20 ] || fail "what shrank is not green"
[ "$(grep -c 'class="legend ' grown.svg)" = 2 ] ||
    fail "grown.svg does not say what its colours mean"
# Text is readable on every box, light and dark: WCAG's contrast is 4.5 or more.
cat >contrast.py <<'EOF'
import colorsys, re, sys
text = open(sys.argv[1]).read()
def light(colour):
    hsl = re.fullmatch(r"hsl\(([0-9.]+),([0-9.]+)%,([0-9.]+)%\)", colour)
    if hsl:
        h, s, l = map(float, hsl.groups())
        parts = colorsys.hls_to_rgb(h / 360, l / 100, s / 100)
    else:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
def contrast(a, b):
    x, y = sorted((light(a), light(b)))
    return (y + 0.05) / (x + 0.05)
styles = r"<style>(.*?)@media\(prefers-color-scheme:dark\)\{(.*)\}</style>"
style, dark = re.search(styles, text, re.S).groups()
ink, dark_ink = (re.search(r"text\{fill:([^}]*)\}", part).group(1) for part in (style, dark))
fills = dict(re.findall(r"\.(\w+)\{fill:([^}]*)\}", dark))
boxes = re.findall(r'<rect [^>]*class="(\w+)" fill="([^"]*)"/><text', text)
assert len(boxes) > 1, len(boxes)
worst = min(min(contrast(ink, fill), contrast(dark_ink, fills[name])) for name, fill in boxes)
assert worst >= 4.5 and contrast(dark_ink, fills["back"]) >= 4.5, worst
EOF
for picture in flame.svg grown.svg; do
    python3 contrast.py $picture 2>err || fail "$picture is hard to read"
done
try 2 "$mallow" flame "$p" -o flame.bmp
one_line_error
says err 'flame.bmp: flame does not write this kind of file; allowed: .html, .svg, '
try 2 "$mallow" graph "$p" -o graph.bmp
one_line_error
ok "a flame graph as a picture"
try 2 "$mallow" list json "$p" -o list.nosuch
one_line_error
says err '^mallow: list.nosuch: list does not write this kind of file; allowed: .json, .html'
for view in top tree traces; do
    try 2 "$mallow" "$view" "$p" -o table.nosuch
    one_line_error
    says err "^mallow: table.nosuch: $view does not write this kind of file; allowed: .*\.txt"
    [ ! -e table.nosuch ] || fail "$view wrote it all the same"
    "$mallow" "$view" "$p" >told 2>err
    for name in table.txt table; do
            try 0 "$mallow" "$view" "$p" -o "$name"
        cmp -s told "$name" || fail "$name is not what $view prints"
    done
done
try 0 "$mallow" callgrind "$p" -o callgrind.out.7
printf 'top >table.nosuch\n' | try 0 "$mallow" shell "$p"
[ -s table.nosuch ] || fail "the shell does not write what it is told to"
ok "outputs whose names ask for nothing that is known"
try 0 "$mallow" report "$p" -o graph.dot
grep -q '^digraph ' graph.dot || fail "graph.dot is no graph"
if command -v dot >/dev/null; then
    try 0 "$mallow" report "$p" -o graph.svg
    [ "$(tail -1 graph.svg)" = '</svg>' ] || fail "graph.svg is no picture"
    python3 -c 'import xml.dom.minidom as dom; dom.parse("graph.svg")' || fail "graph.svg is no XML"
    in_chromium graph.svg pan.js
    # PostScript has Latin 1 alone: dots in long names are three.
    string='std::basic_string<char, std::char_traits<char>, std::allocator<char> >'
    printf '%s\n' "main;shop::map<$string, int>::find 5" >long.folded
    try 0 "$mallow" graph long.folded -o graph.ps
    [ ! -s err ] || fail "graphviz complains of graph.ps"
    grep -qa '(shop::map<...>::find)' graph.ps || fail "graph.ps has no dots"
else
    leave_out "graphviz is not installed: no graph was drawn"
fi
ok "pages and pictures"

try 2 "$mallow" top --focus='(' "$p"
one_line_error
says err 'focus: .\(. is not a regular expression'
try 2 "$mallow" top --unit=furlong "$p"
one_line_error
try 2 "$mallow" top --divide-by 0 "$p"
one_line_error
says err "divide-by does not take .0.; allowed: a number above 0"
try 2 "$mallow" peek 'no such function' "$p"
one_line_error
echo 'main;parse 5' >unlabelled.folded
try 2 "$mallow" sizes unlabelled.folded
one_line_error
says err 'this profile stores no bytes for '
try 2 "$mallow" top --trim=perhaps "$p"
one_line_error
ok "complaints"
