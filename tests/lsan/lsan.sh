#!/bin/bash
# SPDX-License-Identifier: MIT
# lsan.sh BUILD_DIR SOURCE_DIR -- programs that gcc links with -fsanitize=leak run on mallow, by
# mallow's liblsan.so.0: they report the leaks that they report with gcc's own library.
. "$(dirname "$0")/lib.sh"
compile annotated -fsanitize=leak
compile settings -fsanitize=leak -DSETTINGS
compile weak -DWEAK
cd "$work" || fail "cd"

# What both libraries must report: kinds, sizes, numbers, functions and lines of the program.
essence() {
    sed -nE 's/^ *#[0-9]+ 0x[0-9a-f]+ (in [a-z_]+ .*annotated\.c:[0-9]+)$/\1/p
        /leak of|^SUMMARY|top leak|Omitting|^Suppressions| lose_| annotated$/p' "$1"
}
# check STATUS [VARIABLE...] -- PROGRAM CASE...: what it prints is in ./out and ./err
check() {
    local expected=$1 status=0 their_status=0 variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    env "${variables[@]}" LD_LIBRARY_PATH="$compat" "./$1" "${@:2}" >out 2>err || status=$?
    [ "$status" = "$expected" ] ||
        fail "${variables[*]} $*: status $status, not $expected: $(cat out err)"
    grep -q 'mallow: ' err && fail "${variables[*]} $*: $(cat err)"
    env "${variables[@]}" "./$1" "${@:2}" >their-out 2>their-err || their_status=$?
    [ "$their_status" = "$status" ] || fail "${variables[*]} $*: theirs: $their_status"
    diff their-out out || fail "${variables[*]} $*: theirs (<), ours (>)"
    diff <(essence their-err) <(essence err) || fail "${variables[*]} $*: theirs (<), ours (>)"
}
says() { grep -Eq -- "$2" "$1" || fail "no line '$2' in: $(cat "$1")"; }

check 0 -- annotated
check 23 -- annotated lose list thread
says err '^==[0-9]+==ERROR: LeakSanitizer: detected memory leaks$'
says err '^Direct leak of 300 byte\(s\) in 3 object\(s\) allocated from:$'
says err '^Indirect leak of 120 byte\(s\) in 3 object\(s\) allocated from:$'
says err '^SUMMARY: LeakSanitizer: 724 byte\(s\) leaked in 13 allocation\(s\)\.$'
says err '^    #[0-9]+ 0x[0-9a-f]+ in main .*annotated\.c:[0-9]+$'
echo "ok the report"

check 0 -- annotated disabled ignored region
check 23 -- annotated disabled ignored region unregister
says err '^SUMMARY: LeakSanitizer: 90 byte\(s\) leaked in 1 allocation\(s\)\.$'
check 23 -- annotated lose recoverable list recoverable
says out '^recoverable: 1$'
check 0 -- annotated recoverable
says out '^recoverable: 0$'
check 23 -- annotated lose check list
[ ! -s out ] || fail "the program went on after a check that found leaks"
check 23 -- annotated lose fork
says out '^child: 23$'
echo "ok annotations"

check 0 LSAN_OPTIONS=exitcode=0 -- annotated lose
check 5 LSAN_OPTIONS=exitcode=5,max_leaks=1 -- annotated lose list
says err '^Omitting 2 more leak\(s\)\.$'
check 0 LSAN_OPTIONS=detect_leaks=0 -- annotated lose recoverable
check 0 LSAN_OPTIONS=leak_check_at_exit=false -- annotated lose
check 23 LSAN_OPTIONS=use_root_regions=0 -- annotated region
# Without the program's data: what the loader and each thread's own variables hold is no leak.
check 0 LSAN_OPTIONS=use_globals=0 -- annotated
check 0 LSAN_OPTIONS=use_globals=0 -- annotated load
check 23 LSAN_OPTIONS=use_globals=0 -- annotated thread load hold
says err '^SUMMARY: LeakSanitizer: 319 byte\(s\) leaked in 7 allocation\(s\)\.$'
check 0 -- annotated load hold
check 23 LSAN_OPTIONS="report_objects=1 max_leaks=1" -- annotated lose list
[ "$(grep -Ec '^0x[0-9a-f]+ \(100 bytes\)$' err)" = 3 ] || fail "objects: $(cat err)"
check 23 LSAN_OPTIONS=log_path="$work/log" -- annotated lose
[ ! -s err ] || fail "log_path, and stderr has $(cat err)"
[ "$(cat log.* | grep -c '^SUMMARY: LeakSanitizer: 300 byte')" = 2 ] || fail "log_path: $(ls)"
echo "ok options"

# A block below a suppressed one is suppressed, too.
printf '# list\nleak:lose_list\n  leak:^nothing$\n' >list.supp
check 0 LSAN_OPTIONS=suppressions=list.supp -- annotated list
says err '^ +4 +160 lose_list$'
check 23 LSAN_OPTIONS=suppressions=list.supp -- annotated list lose
check 0 LSAN_OPTIONS=suppressions=list.supp:print_suppressions=0 -- annotated list
[ ! -s err ] || fail "print_suppressions=0: $(cat err)"
echo 'leak:annotated.c' >file.supp
check 0 LSAN_OPTIONS=suppressions=file.supp -- annotated list lose
echo "ok suppressions"

check 0 -- settings suppressed
check 9 -- settings suppressed lose
check 0 TURNED_OFF=1 -- settings lose
check 4 LSAN_OPTIONS=exitcode=4 -- settings lose
echo "ok settings in the program"

# Without -fsanitize=leak: weak references find the interface in a library that is preloaded.
[ "$(./weak absent)" = $'interface: absent\nend' ] || fail "the interface is in libc"
LD_PRELOAD=$compat/liblsan.so.0 ./weak absent disabled ignored >out 2>err ||
    fail "weak references: $(cat err)"
says out '^interface: there$'
status=0
LD_PRELOAD=$compat/liblsan.so.0 ./weak lose >out 2>err || status=$?
[ "$status" = 23 ] || fail "weak references: status $status"
status=0
"$build/bin/mallow" run --as lsan ./annotated lose >out 2>err || status=$?
[ "$status" = 23 ] || fail "mallow run --as lsan: status $status; $(cat err)"
says err '^SUMMARY: LeakSanitizer: 300 byte'
echo "ok weak references, and mallow run --as lsan"

for wrong in exitcode=many suppressions=absent.supp; do
    status=0
    LSAN_OPTIONS=$wrong LD_LIBRARY_PATH=$compat ./annotated >out 2>err || status=$?
    [ "$status" != 0 ] || fail "$wrong is accepted"
    [ "$(wc -l <err)" = 1 ] || fail "$wrong: $(cat err)"
done
echo "ok malformed options"

# Every function that gcc's library has: a program that calls another one does not start.
their=$(gcc -print-file-name=liblsan.so)
exported() {
    nm -D --defined-only "$1" | sed -nE 's/^[0-9a-f]+ [TWi] (__(lsan|sanitizer)_.*)/\1/p' | sort -u
}
missing=$(comm -23 <(exported "$their") <(exported "$compat/liblsan_mallow.so") |
    grep -vxE '__lsan_default_options|__sanitizer_on_print' || true) # the program's own, if any
[ -z "$missing" ] || fail "functions are missing: $missing"
echo "ok every function"

gcc -O1 -g -fno-builtin -fno-optimize-sibling-calls -fno-omit-frame-pointer -Wall -Wextra -Werror \
    -rdynamic -fsanitize=leak "$source/tests/lsan/interface.c" -o interface || fail "interface.c"
for arguments in "" lose; do
    for whose in theirs ours; do
        path=''
        [ "$whose" = theirs ] || path=$compat
        mkdir -p "$whose"
        rm -f "$whose"/*
        status=0
        # shellcheck disable=SC2086 # one word or none
        (cd "$whose" && LD_LIBRARY_PATH=$path ../interface $arguments) >$whose.out 2>$whose.err ||
            status=$?
        echo "status $status" >>$whose.out
        sed -nE 's/^ *#[0-9]+ 0x[0-9a-f]+ (in [a-z_]+ .*interface\.c:[0-9]+).*/\1/p
            /SUMMARY|^a summary/p' $whose.err "$whose"/report.* >$whose.essence 2>/dev/null
    done
    diff theirs.out ours.out || fail "interface $arguments: theirs (<), ours (>): $(cat ours.err)"
    diff theirs.essence ours.essence || fail "reports of interface $arguments: theirs (<), ours (>)"
done
MORE=1 LD_LIBRARY_PATH=$compat ./interface >out 2>err || fail "more: $(cat err)"
says out '^others 0 0 0 0 0$'
says out '^freed 0$'
says out '^allocated 1 1$'
grep -q 'in names ' ours.essence || fail "no stack: $(cat ours.err)"
echo "ok the functions of all sanitizers"
