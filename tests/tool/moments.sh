#!/bin/bash
# SPDX-License-Identifier: MIT
# moments.sh BUILD_DIR -- a live process compared with its past: marks, what was made in a time and
# is still live.
source "$(dirname "$0")/lib.bash"
needs python3

# Holds 4 MiB of early(); after a line 8 MiB of later() instead of half of them; after another line
# nothing of later().
build_steps <<'CODE'
void *early(void) { return malloc(2 << 20); }
void *later(void) { return malloc(8 << 20); }
int main(void) {
	void *kept[3] = {early(), early()};
	wait_for_line();
	free(kept[1]);
	kept[2] = later();
	wait_for_line();
	free(kept[2]);
	wait_for_line();
	return kept[0] == NULL;
}
CODE
conf=prof_sample:1,prof_state_min:0
start_ready ./steps
try 0 "$mallow" mark --label before "$pid"
compares="'mallow diff --since before $pid' compares"
says out \
    "^pid $pid: marked at [0-9:]+ as 'before', 4\\.[0-9]+ MiB in use; $compares\$"
# Times are told in seconds: one lies between the two steps.
sleep 1.1
between=$(date +%T)
sleep 0.1
echo >&"$to"
read -r _ <&"$from"

# rows: function and MiB, as the table in ./out has them.
rows() { awk '$NF == "early" || $NF == "later" { print $NF, $1 }' out | tr '\n' ' '; }
try 0 "$mallow" diff --since before "$pid"
[ "$(rows)" = "later +8.00 early -2.00 " ] || fail "since the mark: $(rows)"
says out '^Change: \+6\.00 MiB from 4\.[0-9]+ MiB in [0-9.]+ s, [0-9.]+ [KM]iB/s$'
try 0 "$mallow" top --since before --json "$pid"
python3 -c 'import json; d = {r["name"]: r["flat"] for r in json.load(open("out"))["rows"]}
assert d["later"] == 8 << 20 and d["early"] == -(2 << 20), d' || fail "top --since"
try 0 "$mallow" flame --since before "$pid" -o page.html
grep -q '"base":"its state at [0-9:]*"' page.html ||
    fail "the page does not say what was subtracted"
ok "what changed since a mark"

try 0 "$mallow" diff --since 1d "$pid"
says err 'note: no mark was set at .*: the view holds objects allocated since then that'
[ "$(rows)" = "later +8.00 early +2.00 " ] || fail "made in a day: $(rows)"
says out '^ +change +flat% +per h +cum  function$'
for way in "1d,$between early 2.00 " "$between,now later 8.00 "; do
    read -r window function size <<<"$way"
    try 0 "$mallow" top --made-between "$window" "$pid"
    [ "$(rows)" = "$function $size " ] || fail "made between $window: $(rows)"
    try 0 "$mallow" report --made-between "$window" "$pid"
    says out "^ +$size MiB .* $function"
done
try 0 "$mallow" sizes --made-between "$between,now" "$pid"
says out ' 8\.0[0-9]* MiB'
ok "what was made in a time and is still live"

# A mark knows what was live then, and when each object was made, whatever was freed since.
try 0 "$mallow" mark --label middle "$pid"
# Times are told in seconds, and the nearest mark is taken: this one is later than `before`.
echo >&"$to"
read -r _ <&"$from"
try 0 "$mallow" top "$pid"
[ "$(rows)" = "early 2.00 " ] || fail "in the end: $(rows)"
for way in "--alive-at before:early 4.00 " "--alive-at middle:later 8.00 early 2.00 " \
    "--alive-at middle --made-between 1d,$between:early 2.00 " \
    "--alive-at middle --made-between before,middle:later 8.00 " \
    "--alive-at before --made-between 1d,$between:early 4.00 " \
    "--alive-at now:early 2.00 " "--made-between before,now:" \
    "--alive-at middle --focus later:later 8.00 " "--alive-at middle --ignore later:early 2.00 " \
    "--alive-at middle --thread steps --made-between $between,now:later 8.00 " \
    "--alive-at middle --tagfocus thread=nobody:" \
    "--alive-at middle --tagfocus bytes=3mb\::later 8.00 " \
    "--since before --alive-at middle:later 8.00 early -2.00 "; do
    options=${way%:*}
    # shellcheck disable=SC2086 # words
    try 0 "$mallow" top ${options//\\/} "$pid"
    [ "$(rows)" = "${way##*:}" ] || fail "top $options: $(rows)"
done
try 0 "$mallow" diff --since before --alive-at middle "$pid"
[ "$(rows)" = "later +8.00 early -2.00 " ] || fail "from mark to mark: $(rows)"
# Without a mark near that time: what is still live.
XDG_CACHE_HOME=$work/none try 0 "$mallow" top --alive-at "$between" "$pid"
[ "$(rows)" = "early 2.00 " ] || fail "without a mark: $(rows)"
says err 'note: no mark was set at .*: the view holds objects allocated before then that'
ok "what was live at a mark"

# Every view, with a selection: 8 MiB of later(), nothing of early(), and no label of the times.
mapfile -t views < <(sed -n 's/^MW_VIEW[A-Z_]*(\([a-z]*\),.*/\1/p' \
    "$here/../../tools/mallow/cmd/profile/views.def")
[ ${#views[@]} -gt 10 ] || fail "views.def is not as it was"
for view in "${views[@]}" report; do
    words=("$view" --alive-at middle --made-between "before,middle" --ignore 'earl[y]')
    case $view in
    list | peek | disasm | weblist) words+=('later|early') ;;
    comments | diff | lifetimes) continue ;; # no values; above; of what was freed
    proto | topproto) words+=(-o "out.pb.gz") ;;
    esac
    try 0 "$mallow" "${words[@]}" "$pid"
    [ ! -e out.pb.gz ] || try 0 "$mallow" raw out.pb.gz
    rm -f out.pb.gz
    says out '8\.0[0-9]* ?MiB|8388608|8192\.00|8\.00MB|8390[0-9]{3}'
    says_not out 'made:|"made"'
    # A listing shows the lines around it, a profile all functions.
    case $view in list | weblist | raw | proto | topproto) ;; *) says_not out 'early' ;; esac
done
ok "every view of what was live at a mark"

try 0 "$mallow" timeline "$pid"
says out '^[0-9:.]+  before$'
# The latest 16 are kept.
for i in $(seq 17); do
    try 0 "$mallow" mark --label "m$i" "$pid"
done
[ "$(find "$XDG_CACHE_HOME/mallow/marks" -type f | wc -l)" = 16 ] || fail "not 16 marks are kept"
try 2 "$mallow" diff --since before "$pid"
one_line_error
says err "since does not take 'before'; allowed: .*\(this process has 16;"
ok "marks are shown in the timeline, and go"

try 0 "$mallow" dump -o now.pb.gz "$pid"
for words in "diff --since before now.pb.gz" "top --made-between 5m,now now.pb.gz" \
    "top --made-between now,5m $pid" \
    "top --alive-at now,5m $pid" "top --alive-at m0 $pid" "top --alive-at m1 now.pb.gz" \
    "top --alive-at m1 $pid $pid" "top --made-between 5m $pid" "top --made-between m9,m1 $pid" \
    "top --since m1 --base now.pb.gz $pid" "diff $pid" "mark --label 5m $pid" \
    "mark --label a/b $pid" "mark now.pb.gz" "top --since m9 --made-between 5m,now $pid"; do
    # shellcheck disable=SC2086 # words
    try 2 "$mallow" $words
    one_line_error
done
echo >&"$to"
wait "$pid" || fail "the program failed"
ok "complaints"
