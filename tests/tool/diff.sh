#!/bin/bash
# SPDX-License-Identifier: MIT
# diff.sh BUILD_DIR -- two profiles compared: growth over time and the p-value of each change;
# more than two: the slope of each function.
source "$(dirname "$0")/lib.bash"
needs python3

# Five profiles, a minute apart: leak() grows by 100 in each, cache() goes up and down, config()
# stays.
made=$(date +%s)
for i in 0 1 2 3 4; do
    printf 'main;leak %d\nmain;cache %d\nmain;config 1000\n' $((100 + 100 * i)) $((500 + 40 * (i % \
        2))) >"$i.folded"
    touch -d "@$((made + 60 * i))" "$i.folded"
done
# rows: NAME CHANGE of the table in ./out, and its growth per time.
rows() { sed '1,/ function$/d' out | awk '{ print $NF, $1, $3, $4 }'; }
# The order of the operands does not matter: their times do.
try 0 "$mallow" diff 3.folded 0.folded 4.folded 1.folded 2.folded
says out '^Slope: \+100/min over 5 profiles in 4\.00 min$'
says out '^ +it grew in 4 of 4 steps$'
[ "$(rows)" = $'leak +400 +100 4/4\nmain 0 0 0/4' ] || fail "the leak is not first: $(rows)"
says_not out ' (cache|config)$'
try 0 "$mallow" diff --trim=false ./*.folded
says out '^ +0 .* 2/4 .* cache$'
says out '^ +0 .* 0/4 .* config$'
try 0 "$mallow" diff --top 1 --focus 'leak|cache' ./*.folded
[ "$(rows | wc -l)" = 1 ] || fail "--top 1 shows $(rows)"
try 0 "$mallow" diff --json ./*.folded
python3 - <<'END' || fail "the JSON of a slope"
import json
d = json.load(open("out"))
assert d["steps"] == 4 and d["span_ns"] == 240 * 10**9 and d["total"] == 1600, d
leak = d["rows"][0]
assert leak["name"] == "leak" and leak["flat"] == leak["cum"] == 400 and leak["grew"] == 4, leak
assert abs(leak["per_second"] - 100 / 60) < 1e-6 and "chance" not in leak, leak
assert abs(d["change"]["per_second"] - 100 / 60) < 0.01 and d["change"]["flat"] == 400, d["change"]
END
ok "a slope over five profiles"

try 0 "$mallow" diff 0.folded 4.folded
says out '^ +change +flat% +cum  function$' # such files hold no time
[ "$(rows | sed -n 1p)" = 'leak +400 +400 leak' ] || fail "two profiles: $(rows)"
ok "two profiles"

# Sampled at T = 64 KiB: 40 MiB more are significant, one object more of 16 KiB is not.
cat >grow.c <<'END'
#include <stdlib.h>
static void *kept[8000];
__attribute__((noinline)) static void *grow(void) { return malloc(16000); }
__attribute__((noinline)) static void *stay(void) { return malloc(16000); }
int main(int argc, char **argv) {
	int more = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < 4000; i++)
		kept[i] = i % 2 == 0 ? stay() : grow();
	for (int i = 0; i < more; i++)
		kept[4000 + i] = grow();
	return kept[0] == NULL;
}
END
cc -g -O0 -o grow grow.c || fail "grow.c does not compile"
for more in 0 1 2600; do
    MALLOW_CONF=prof_seed:$((more + 7)) "$mallow" run --rate 64K -o "$more.pb.gz" -- ./grow \
        "$more" 2>err ||
        fail "run of $more"
done
p_value_of() { sed -nE "s/.* ([<0-9.]+%) +[-+0-9.]+ [KMG]?i?B  $1\$/\1/p" out; }
try 0 "$mallow" diff 0.pb.gz 2600.pb.gz
says out '^ +change +flat% +per s +p-value +cum  function$'
[ "$(p_value_of grow)" = '<0.1%' ] || fail "40 MiB more may be chance: $(p_value_of grow)"
try 0 "$mallow" diff --trim=false 0.pb.gz 1.pb.gz
for function in grow stay; do
    [[ $(p_value_of $function) =~ ^([0-9.]+)%$ ]] ||
        fail "no p-value of $function: $(p_value_of $function)"
    awk "BEGIN { exit !(${BASH_REMATCH[1]} > 1) }" ||
        fail "nothing changed but chance: ${BASH_REMATCH[1]} %"
done
try 0 "$mallow" diff --json 0.pb.gz 2600.pb.gz
python3 - <<'END' || fail "the JSON of a difference"
import json
d = json.load(open("out"))
grow = next(r for r in d["rows"] if r["name"] == "grow")
assert grow["chance"] < 1e-3 and 0.8 * 2600 * 16384 < grow["flat"] < 1.2 * 2600 * 16384, grow
assert abs(grow["per_second"] * d["span_ns"] / 1e9 / grow["flat"] - 1) < 1e-6, (grow, d)
assert d["steps"] == 1, d
END
ok "p-values"

for words in "--base 0.folded 1.folded 2.folded 3.folded" \
    "-o page.html 0.folded 1.folded 2.folded" \
    "--since 5m 0.folded 1.folded 2.folded" "0.folded 0.folded 0.folded" "0.folded none 1.folded" \
    "0.folded"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" diff $words
    one_line_error
done
ok "complaints"
