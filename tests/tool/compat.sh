#!/bin/bash
# SPDX-License-Identifier: MIT
# compat.sh BUILD_DIR -- the command under the names of jeprof and pprof: their command lines run,
# and print what they print; and the shell.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
ours_jeprof=$build/lib/mallow/compat/bin/jeprof
ours_pprof=$build/lib/mallow/compat/bin/pprof

build_calls
"$mallow" run --rate 8K -o calls.heap -- ./calls 2>err || fail "calls does not run"
"$mallow" run --rate 64K -o other.heap -- ./calls 2>err || fail "calls does not run"
"$mallow" run --rate 8K -o calls.pb.gz -- ./calls 2>err || fail "calls does not run"

# Options in both spellings, with and without the program.
if has_jeprof; then
    for options in --text -text "--text --cum" "--text -cum" "--text --inuse_objects" \
        "--text --show_bytes" \
        "--text --inuse_space" "--text --alloc_space" "--text --alloc_objects" \
        "--text --focus=small" \
        "--text -focus=small" "--text --ignore=small --show_bytes" "--text --retain=main|large" \
        "--text --exclude=main" "--text --drop_negative" "--text --heapcheck" "--text --functions" \
        "--text --nodecount=80 --nodefraction=.005 --edgefraction=.001 --maxdegree=8" \
        "--text --add_lib=./calls --lib_prefix=/usr --scale=0 --show_bytes"; do
        # shellcheck disable=SC2086
        jeprof $options ./calls calls.heap >theirs 2>err
        # shellcheck disable=SC2086
        try 0 "$ours_jeprof" $options ./calls calls.heap
        [ "$(wc -l <theirs)" -gt 2 ] || fail "jeprof $options says nothing"
        diff theirs out >difference || fail "jeprof $options differs: $(head -5 difference)"
        compared=$((compared + 1))
    done
    jeprof --text --show_bytes ./calls calls.heap other.heap >theirs 2>err
    try 0 "$ours_jeprof" --text --show_bytes ./calls calls.heap other.heap
    # Other processes' addresses are only ours to match: totals.
    [ "$(head -1 theirs)" = "$(head -1 out)" ] ||
        fail "the sum is $(head -1 out), not $(head -1 theirs)"
    # Lines with discriminators are rows of their own to jeprof.
    for granularity in --lines --addresses; do
        jeprof --text --show_bytes $granularity ./calls calls.heap 2>err |
            awk '/calls\.c/ { sub(" .discriminator.*", ""); print $1, $4, $(NF - 1), $NF }' |
            sort >theirs
        try 0 "$ours_jeprof" --text --show_bytes $granularity ./calls calls.heap
        awk '/calls\.c/ { print $1, $4, $(NF - 1), $NF }' out | sort >ours
        [ -s theirs ] || fail "jeprof $granularity says nothing"
        if [ $granularity = --addresses ]; then
            diff theirs ours >difference || fail "$granularity differs: $(head -5 difference)"
        fi
        grep -q 'large .*calls.c:3' ours || fail "$granularity knows no lines"
    done
    # Names for addresses on standard input: of the file, and of a process by its maps.
    nm calls | awk '$2 ~ /[Tt]/ && $3 ~ /^(main|small|large)$/ { print "0x" $1 }' >addresses
    jeprof --symbols ./calls <addresses >theirs 2>err
    "$ours_jeprof" --symbols ./calls <addresses >out 2>err || fail "jeprof --symbols fails"
    diff theirs out >difference || fail "jeprof --symbols differs: $(cat difference)"
    [ "$(sort out | tr '\n' ' ')" = "large main small " ] || fail "jeprof --symbols says $(cat out)"
    sed -n '/MAPPED_LIBRARIES/,$p' calls.heap | tail -n +2 >mapped
    grep -Eo '0x[0-9a-f]+' calls.heap | sort -u | sed -n 1,5p >>mapped
    jeprof --symbols ./calls <mapped >theirs 2>err
    "$ours_jeprof" --symbols ./calls <mapped >out 2>err || fail "jeprof --symbols fails on maps"
    paste theirs out | awk '$1 != $2 && $1 != "??" { bad = 1 } END { exit bad }' ||
        fail "with maps: $(paste theirs out)"
    # Source: the same numbers before the same lines.
    jeprof --list=main --show_bytes ./calls calls.heap 2>err |
        awk '$3 ~ /^[0-9]+:/ && ($1 != "." || $2 != ".") { print $1, $2, $3 }' | sort >theirs
    try 0 "$ours_jeprof" --list=main --unit=B ./calls calls.heap
    awk '/^ROUTINE/ { ours = /calls.c/ } ours && $3 ~ /^[0-9]+:/ && ($1 != "." || $2 != ".") {
        gsub("B", ""); split($3, line, ":"); print $1, $2, line[1] ":" }' out | sort >ours
    diff theirs ours >difference || fail "--list differs: $(head -5 difference)"
    # With names inside, for a machine without the program: jeprof reads it as it reads the
    # original.
    try 0 "$ours_jeprof" --raw ./calls calls.heap
    cp out raw.heap
    says out '^--- symbol$'
    jeprof --text --show_bytes ./calls calls.heap >theirs 2>err
    jeprof --text --show_bytes raw.heap >ours 2>err
    [ "$(awk '/calls|small|large|main/ { print $1, $4, $NF }' ours)" = \
        "$(awk '/calls|small|large|main/ { print $1, $4, $NF }' theirs)" ] ||
        fail "--raw: $(diff theirs ours)"
    try 0 "$mallow" top --symbolize=none raw.heap
    says out ' small$'
    ok "$compared tables, sums, addresses and source equal jeprof's"
fi

outputs=(--collapsed --callgrind --dot --raw --list=main --disasm=main)
if command -v dot >/dev/null; then
    outputs+=(--svg --ps --pdf --gif)
else
    leave_out "graphviz is not installed: no graph was drawn"
fi
for output in "${outputs[@]}"; do
    [ "$output" = --disasm=main ] && ! "$mallow" help disasm >/dev/null 2>&1 && continue
    try 0 "$ours_jeprof" "$output" ./calls calls.heap
    [ -s out ] || fail "jeprof $output writes nothing"
    case $output in
    --svg) says out '</svg>' ;;
    --pdf) grep -q '%PDF-' <<<"$(head -c 5 out)" || fail "--pdf is no picture" ;;
    esac
done
# A profile whose program was moved.
mkdir moved && mv calls moved/calls
try 0 "$ours_jeprof" --text moved/calls calls.heap
says out ' small$'
try 0 "$ours_pprof" -top moved/calls calls.heap
says out ' small$'
for option in --version --test; do
    try 0 "$ours_jeprof" $option
    says out '^jeprof .part of mallow [0-9.]+.'
    try 2 "$ours_jeprof" $option ./calls calls.heap
    one_line_error
done
ok "jeprof's outputs"

if has_pprof; then
    for options in -top "-top -cum" "--top --lines" "-tree" "-text -nodecount=3" "-peek=small" \
        "-peek small" \
        "-top -inuse_objects" "-top -sample_index=alloc_space" "--top --unit=kB" \
        "-top -focus=small" \
        "-top -files" "-top -symbolize=none -trim=false" "-top -unit=megabytes" "-top -unit=auto" \
        "-top -nodecount=0" "-tree -focus=nothing"; do
        # shellcheck disable=SC2086
        go_pprof -symbolize=none $options calls.pb.gz 2>err | table >theirs
        # shellcheck disable=SC2086
        try 0 "$ours_pprof" $options calls.pb.gz
        table <out >ours
        [ "$(wc -l <theirs)" -gt 0 ] || fail "pprof $options says nothing"
        diff theirs ours >difference || fail "pprof $options differs: $(head -5 difference)"
    done
    "$ours_pprof" -proto calls.pb.gz >copy.pb.gz 2>err
    go_pprof -symbolize=none -top -unit=B copy.pb.gz 2>err | table >theirs
    go_pprof -symbolize=none -top -unit=B calls.pb.gz 2>err | table >ours
    diff theirs ours >difference || fail "-proto differs: $(head -5 difference)"
    # Packed whatever the file is called, and nothing to say of labels is no error, as in pprof.
    go_pprof -symbolize=none -proto -output=theirs.proto calls.pb.gz 2>err
    try 0 "$ours_pprof" -proto -output=ours.proto calls.pb.gz
    for file in theirs ours; do
        gzip -t <$file.proto || fail "-proto -output=$file.proto is not packed"
    done
    "$mallow" collapsed calls.pb.gz >plain.folded 2>err
    "$ours_pprof" -proto plain.folded >plain.pb.gz 2>err
    go_pprof -symbolize=none -tags plain.pb.gz >theirs 2>err || fail "pprof -tags fails"
    try 0 "$ours_pprof" -tags plain.pb.gz
    diff theirs out >difference || fail "-tags of no labels differs: $(head -5 difference)"
    "$ours_pprof" -topproto calls.pb.gz >top.pb.gz 2>err
    go_pprof -symbolize=none -topproto -unit=B -output=their.pb.gz calls.pb.gz 2>err
    for file in top their; do
        go_pprof -symbolize=none -top -sample_index=flat "$file.pb.gz" 2>/dev/null | table |
            awk 'NR > 1 { print $2, $NF }' >$file
    done
    diff their top >difference || fail "-topproto differs: $(head -5 difference)"
    ok "pprof's command lines"
fi
try 0 "$ours_pprof" -comments calls.pb.gz
says out '^mallow '
# A comment is kept where a profile is written.
try 0 "$ours_pprof" -add_comment='before the release' -comments calls.pb.gz
says out '^before the release$'
"$ours_pprof" -add_comment='before the release' -proto calls.pb.gz >commented.pb.gz 2>err
try 0 "$mallow" comments commented.pb.gz
says out '^before the release$'
try 2 "$ours_pprof" -top -tree calls.pb.gz
one_line_error
try 2 "$ours_jeprof" --list= calls.heap
one_line_error
try 0 "$ours_jeprof" --text --buildid=5 moved/calls calls.heap
says err 'note: --buildid has no effect'

# Without a terminal nobody is asked: text, as jeprof prints.
try 0 "$ours_jeprof" moved/calls calls.heap </dev/null
says out '^Total: .* MB$'
cat >script <<'EOF'
top1
focus=small
sort=cum
top2
o
:
granularity=lines
inuse_objects
top1 >out.txt
svg >graph.svg
list ^main$
top 3 main -large
unknown=1
focsu=small
tere
show_from = main
show_from =
help focus
help top
options
help nothing
help
quit
top1
EOF
try 2 "$mallow" shell --unit=B calls.pb.gz <script
says out 'focus = small'
says out 'cum = true'
says out '^ROUTINE =+ main in '
says err "'unknown' is neither a command nor an option; 'help' lists them"
says err "'focsu' is neither a command nor an option; did you mean 'focus'"
says err "'tere' is neither a command nor an option; did you mean 'tree'"
[ "$(grep -c '^Showing top' out)" -ge 1 ] || fail "top1 shows more than one"
says out '^  focus=RE$'
says out '^      print the memory that functions hold'
says_not out 'show-from'
says_not err 'show_from'
says err "'nothing' is neither a command nor an option"
[ "$(grep -c '^  tree ' out)" = 1 ] || fail "help lists commands twice"
says_not out '^  diff '
grep -q 'Type: inuse_objects' out.txt || fail "the sample type was forgotten"
grep -Eq ':[0-9]+$' out.txt || fail "the lines were forgotten"
says_not out '\(mallow\)'
try 0 "$mallow" report calls.pb.gz </dev/null
says_not out '\(mallow\)'
ok "the shell"

# An empty text is what pprof has without the option; scripts pass on variables that are not set.
try 0 "$build/lib/mallow/compat/bin/pprof" -top -http= -tls_cert= -focus= -list= calls.pb.gz
mv out empty.txt
try 0 "$build/lib/mallow/compat/bin/pprof" -top calls.pb.gz
cmp out empty.txt || fail "options with an empty text change the table"
try 2 "$mallow" top --focus= calls.pb.gz
one_line_error
ok "options with an empty text"

# pprof's page, without its server.
mkdir browser
cat >browser/sensible-browser <<'EOF'
#!/bin/sh
cp "$1" opened.html
EOF
chmod +x browser/sensible-browser
PATH=$work/browser:$PATH TMPDIR=$work try 0 "$build/lib/mallow/compat/bin/pprof" -http=:0 \
    calls.pb.gz
await 60 grep -qs '</html>' opened.html
says err 'note: -http starts no server; a browser opens the flame graph from a file'
grep -q '"program":"calls"' opened.html || fail "-http shows no page"
ok "-http"
if command -v script >/dev/null; then
    printf 'to\t\nquit\n' | script -qec "$mallow shell calls.pb.gz" /dev/null >out 2>err
    says out '\(mallow\)'
    printf 'top1\nquit\n' | script -qec "$mallow shell calls.pb.gz" /dev/null >out 2>err
    says out 'Showing top 1 nodes'
    printf 'foc\tmain\noptions\nquit\n' | script -qec "$mallow shell calls.pb.gz" /dev/null >out \
        2>err
    says out '^ +focus = main'
    ok "the shell on a terminal"
else
    leave_out "script is not installed: the shell was not tried on a terminal"
fi
