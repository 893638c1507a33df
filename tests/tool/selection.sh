#!/bin/bash
# SPDX-License-Identifier: MIT
# selection.sh BUILD_DIR -- sums and differences of several profiles, labels, means and names of
# files: equal to `go tool pprof`'s where it has the like; jeprof's options of its own to jeprof's.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
needs python3

cat >threads.py <<'EOF'
import json, os, sys, threading
keep = []
def work(count):
    rows = [{"a": str(i), "b": list(range(i % 20))} for i in range(count)]
    keep.append(json.loads(json.dumps(rows)))
for count in (1000, 3000, int(sys.argv[1])):
    thread = threading.Thread(target=work, args=(count,))
    thread.start()
    thread.join()
if len(sys.argv) > 2: # with all of it in use
    os._exit(0)
EOF
profile first python3 threads.py 2000
profile second python3 threads.py 7000

# With threads and sizes: what a state file knows.
LD_PRELOAD=$build/lib/libmallow.so \
    MALLOW_CONF=prof_sample:4096,prof_cost_limit:0,prof_keep:true,prof_seed:9 \
    ${fixed_addresses[@]+"${fixed_addresses[@]}"} python3 threads.py 4000 keep &
started+=($!)
wait $!
try 0 "$mallow" dump --labels -o labels.pb.gz "${started[0]}"
python3 "$here/no_start_lines.py" labels.pb.gz || fail "labels.pb.gz cannot be read"

if has_pprof; then
    # Several profiles are summed, and one is subtracted: of two processes, whose addresses differ.
    for view in top tree; do
        # In a tree pprof leaves the order of 6 and -6 to chance.
        [ $view = top ] || arrange='sort'
        same second "$view" first.pb.gz
        same second "$view" -alloc_space first.pb.gz
        same second "$view" -alloc_space -base=first.pb.gz
        same second "$view" -alloc_space -diff_base=first.pb.gz
        same second "$view" -alloc_space -diff_base=first.pb.gz -normalize
        same second "$view" -alloc_space -base=first.pb.gz -normalize -cum
        same second "$view" -alloc_space -base=first.pb.gz -drop_negative first.pb.gz
        same labels "$view" -alloc_space -base=first.pb.gz
    done
    arrange='cat'
    # What percentages are of is the base, or what was selected of it.
    same second top -alloc_space -diff_base=first.pb.gz -focus=List -relative_percentages
    same second top -alloc_space -diff_base=first.pb.gz -ignore=unicode -relative_percentages -cum \
        -lines
    same second top -base=first.pb.gz
    same second top -alloc_objects -diff_base=first.pb.gz -normalize
    same second 'peek=list_resize|PyList_Append' -alloc_space -diff_base=first.pb.gz
    for rows in functions lines files; do
        same second top -mean -alloc_space "-$rows"
        same second top -mean -alloc_space -cum "-$rows" -focus=Unicode
    done
    same second top -alloc_space -lines -source_path=/any/Python:/other/Objects
    same second top -alloc_space -files -trim_path=Objects:Python/
    for view in top tree; do
        same labels "$view" -tagroot=thread
        same labels "$view" -alloc_space -tagleaf=thread -filefunctions
        same labels "$view" -tagroot=thread,bytes -tagleaf=bytes
        same labels "$view" -tagfocus=bytes=1kb:
        same labels "$view" -tagignore=1kb:64kb
        same labels "$view" -tagfocus=python -tagroot=thread
        same second "$view" -alloc_space -nodecount=0
    done
    # Two and three together, in each view.
    for options in "-focus=List|list|Import|Call -ignore=[Tt]ype -cum" \
        "-hide=^_?Py -show_from=main -lines" \
        "-show=^_?Py -prune_from=PyObject_Call -nodecount=12" \
        "-tagfocus=bytes=64B: -tagleaf=bytes -noinlines" \
        "-tagignore=16b:100b -relative_percentages" "-tagroot=thread -hide=alloc -files" \
        "-divide_by=7 -unit=kilobytes" "-focus=Dict|dict -relative_percentages -nodefraction=0.05" \
        "-tagfocus=thread_id=1: -trim=false -filefunctions" "-ignore=[Ll]ist -mean" \
        "-unit=auto -inuse_objects"; do
        # shellcheck disable=SC2086
        for view in top tree 'peek=[Oo]b|alloc|python'; do
            # Edges are not divided in pprof's trees.
            [ "$view-${options##* }" = top--mean ] || [ "${options##* }" != -mean ] || continue
            same labels "$view" $options
        done
        # shellcheck disable=SC2086
        alike labels traces $options
    done
    # Sizes of objects are in units that fit, whatever the values are in.
    alike labels traces -unit=MB
    ok "$compared tables equal pprof's"

    # Pictures, of profiles with text labels and sizes: nodes, edges, boxes of labels, the legend.
    for seed in 1 2 3; do
        python3 "$here/labelled.py" $seed $((400 * seed)) | gzip >"labelled$seed.pb.gz"
    done
    # 4 is a difference; of what shrank pprof's choice of nodes is left to chance.
    python3 "$here/labelled.py" 4 300 shrinks | gzip >labelled4.pb.gz
    compared=0
    for profile in labelled1 labelled3 labels; do
        type=$([ $profile = labels ] && echo inuse_space || echo space)
        for options in "" -nodecount=10 -nodecount=30 -call_tree "-call_tree -nodecount=12" \
            "-focus=f7|List" \
            -tagfocus=tenant:get\|thread -tagfocus=bytes=64B:1kB "-tagignore=bytes=64B:1kB -lines" \
            "-tagshow=tenant|age" \
            "-taghide=tenant|request|thread" -trim=false "-mean -nodecount=100000" \
            "-tagroot=tenant,thread -tagleaf=bytes" -noinlines \
            "-divide_by=7 -addresses" "-nodefraction=0.05 -edgefraction=0.02" "-hide=f1[0-9]|Py" \
            -unit=B -unit=kB; do
            # shellcheck disable=SC2086
            [ "$profile${options%%=*}" != labels-tagfocus ] || continue
            # In a call tree nodes of one name that weigh the same are drawn or left out by chance
            # in pprof.  A recorded profile has such nodes, the made ones have none.
            [ "$profile${options%% *}" != labels-call_tree ] || continue
            # shellcheck disable=SC2086
            alike $profile dot -sample_index=$type ${options:--unit=minimum}
        done
    done
    for options in -nodecount=100000 "-base=labelled2.pb.gz -nodecount=100000" \
        "-diff_base=labelled2.pb.gz -nodecount=100000" \
        "-base=labelled2.pb.gz -tagfocus=tenant -nodecount=100000" \
        "-base=labelled2.pb.gz -normalize -trim=false -unit=B"; do
        for profile in labelled1 labelled4; do
            # shellcheck disable=SC2086
            alike $profile dot -sample_index=space $options
        done
    done
    # Deeper trees, whose functions call themselves.
    for seed in 5 6 7; do
        python3 "$here/labelled.py" $seed 500 recursive | gzip >labelled$seed.pb.gz
        for options in -call_tree "-call_tree -nodecount=15" "-nodecount=40 -lines"; do
            # shellcheck disable=SC2086
            alike labelled$seed dot -sample_index=space $options
        done
    done
    [ "$compared" -gt 60 ] || fail "only $compared pictures were compared"
    grep -q ' has ' theirs || fail "pprof draws no boxes"
    ok "$compared pictures equal pprof's"

    # pprof's lines are "  1.2MB (45.41%): 32B" below "bytes: Total 3.0MB".  It shows labels of
    # nothing, too.
    shares() {
        sed -nE 's/^ *([a-z_]+): *Total .*/\1/p
            s/^ *[-0-9.]+[A-Za-z]* \( *([^)]*)\): *(.*)$/\1 \2/p'
    }
    for options in "" -tagshow=thread -taghide=bytes "-focus=List -sample_index=inuse_objects"; do
        # shellcheck disable=SC2086
        go_pprof -tags -unit=minimum -symbolize=none $options labels.pb.gz 2>/dev/null |
            shares | grep -Ev '^(lifetime|0% )' >theirs
        # shellcheck disable=SC2086
        try 0 "$mallow" tags -unit=minimum $options labels.pb.gz
        shares <out | sed -E 's/ [^ ]+ \(([0-9]+)\)$/ \1/' >ours
        [ "$(wc -l <theirs)" -gt 1 ] || fail "pprof -tags $options says nothing"
        sort theirs >a && sort ours >b
        diff a b >difference || fail "tags $options differ from pprof's: $(head -5 difference)"
    done
    ok "labels equal pprof's"
fi

# total PROFILE... OPTION...: of what is in use, or of --sample-type.
total() {
    "$mallow" top --json "$@" 2>err | python3 -c \
        'import json, sys; print(json.load(sys.stdin)["total"])' ||
        fail "no total of $*"
}
one=$(total --alloc_space first.pb.gz)
two=$(total --alloc_space second.pb.gz)
[ "$(total --alloc_space first.pb.gz second.pb.gz)" = $((one + two)) ] || fail "a sum is no sum"
[ "$(total --alloc_space --base first.pb.gz --base second.pb.gz first.pb.gz second.pb.gz)" = 0 ] ||
    fail "two bases are not subtracted"
# By thread, what is subtracted is that thread's.
for view in top threads tree flame; do
    try 2 "$mallow" $view --thread=nosuch --json labels.pb.gz
    one_line_error
done
says err "^mallow: no sample belongs to a thread 'nosuch'; the threads are: .*python3"
try 2 "$mallow" report --thread=nosuch labels.pb.gz
says err "^mallow: no sample belongs to a thread 'nosuch'; the threads are: .*python3"
printf 'main;a 50\n' >no-threads.folded
try 2 "$mallow" top --thread=nosuch no-threads.folded
says err "^mallow: no sample belongs to a thread 'nosuch': this profile does not store threads"
try 0 "$mallow" top --thread='*' labels.pb.gz
says_not err 'no sample belongs to a thread'
try 0 "$mallow" top --thread=python3 --json labels.pb.gz
says_not err 'no sample belongs to a thread'
grep -q '"flat": [1-9]' out || fail "nothing of thread python3"
try 0 "$mallow" top --thread=python3 --base=labels.pb.gz --json labels.pb.gz
! grep -q '"flat": -*[1-9]' out || fail "a thread less itself is not 0"
ok "sums, differences, threads"

cat >calls.c <<'EOF'
#include <stdlib.h>
void *leaf(void) { return malloc(1000); }
void *middle(int i) { return i % 3 ? leaf() : malloc(3000); }
void *another(void) { return leaf(); }
int main(void) {
	int left = 0;
	for (int i = 0; i < 3000; i++)
		left += middle(i) != NULL && another() != NULL;
	return left == 0;
}
EOF
cc -g -O0 -o calls calls.c || fail "calls.c does not compile"
"$mallow" run --exact -o calls.pb.gz -- ./calls 2>err || fail "calls does not run"
"$mallow" run --exact -o calls.heap -- ./calls 2>err || fail "calls does not run"
jeprof=
! has_jeprof || jeprof=yes
for options in '--retain=main|leaf' --exclude=leaf '--retain=middle|main --exclude=middle'; do
    # shellcheck disable=SC2086
    try 0 "$mallow" top --unit=B --trim=false $options calls.heap
    table <out | awk 'NR > 1 { sub("B$", "", $1); sub("B$", "", $4); print $1, $4, $6 }' |
        sort >ours
    [ -s ours ] || fail "nothing is left by $options"
    if [ -n "$jeprof" ]; then
        # shellcheck disable=SC2086
        jeprof --text --show_bytes $options ./calls calls.heap 2>/dev/null |
            awk 'NF == 6 && $2 ~ /%$/ { print $1, $4, $6 }' | sort >theirs
        diff theirs ours >difference || fail "jeprof $options differs: $(cat difference)"
    fi
done
# edges OPTION...: how many calls a graph shows.
edges() {
    try 0 "$mallow" graph --nodefraction=0 --edgefraction=0 "$@" calls.pb.gz
    grep -c '^N[0-9]* -> N[0-9]* \[' out # not those to boxes of labels
}
[ "$(edges)" -gt "$(edges --maxdegree=1)" ] || fail "--maxdegree leaves out nothing"
ok "retain, exclude, maxdegree"

try 2 "$mallow" top --base first.pb.gz --diff-base second.pb.gz labels.pb.gz
one_line_error
try 2 "$mallow" report --stacks --files first.pb.gz
one_line_error
try 0 "$mallow" report first.pb.gz --unit=MB --top 3
[ "$(table <out | wc -l)" = 4 ] || fail "report --unit forgets --top"
try 0 "$mallow" report first.pb.gz second.pb.gz --alloc_space --json
[ "$(python3 -c 'import json; print(json.load(open("out"))["total"])')" = $((one + two)) ] ||
    fail "report does not sum up"
ok "complaints, report's own options"
