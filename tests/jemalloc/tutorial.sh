#!/bin/bash
# SPDX-License-Identifier: MIT
# tutorial.sh BUILD_DIR SOURCE_DIR -- what introductions to jemalloc's profiler have one type, line
# by line, with Debian's library and with mallow's: the same files, functions and totals in jeprof.
. "$(dirname "$0")/lib.sh"
need jeprof
need_reference
cc -g -O1 -fno-builtin -I"$include" "$source/tests/jemalloc/tutorial.c" \
    "$compat/libjemalloc.so.2" \
    -o "$work/program"

# both CONF ARGUMENT: runs the program with either library in a directory of its own, whose names
# are what it wrote, pids taken out.  Without a limit of the cost of samples, which would make T
# depend on how fast the machine is.
both() {
    local side library
    for side in theirs ours; do
        library=$compat
        [ $side = ours ] || library=$reference
        rm -rf "${work:?}/$side"
        mkdir "$work/$side"
        status=0
        (cd "$work/$side" && LD_LIBRARY_PATH=$library MALLOC_CONF=$1 MALLOW_CONF=prof_cost_limit:0 \
            "$work/program" "${2-}" 2>stderr) ||
            status=$?
        echo "$status" >"$work/$side/status"
        (cd "$work/$side" && find . -name '*.heap' |
            sed 's/\.[0-9]*\.\([0-9]*\.[fimu]\)/.PID.\1/' | sort) \
            >"$work/$side.names"
    done
}
same_names() {
    diff "$work/theirs.names" "$work/ours.names" || fail "$1: the files differ"
    [ -s "$work/ours.names" ] || fail "$1: no files"
}
count() {
    wc -l <"$work/$1.names"
}
near_count() {
    local difference=$(($(count ours) - $(count theirs)))
    [ ${difference#-} -le "$2" ] || fail "$1: $(count ours) files, $(count theirs) with jemalloc"
}
# totals SIDE ARGUMENT...: "bytes function" in the order of jeprof's table, what libraries allocate
# left out.
totals() {
    local side=$1
    shift
    (cd "$work/$side" && jeprof --text --show_bytes "$@" 2>/dev/null) |
        awk '$1 ~ /^-?[0-9]+$/ && $1 != 0 && ($6 ~ /^do_something/ || $6 ~ /^mixed_sizes/) {
            print $1, $6 }'
}
# alike NAME SHARE FILE [BASE]: of the file, less the base, the same functions, and bytes that
# differ by no more than the share: size classes differ.  Files are patterns.
alike() {
    local name=$1 share=$2 side base
    for side in theirs ours; do
        base=()
        [ $# -lt 4 ] || base=(--base "$(compgen -G "$work/$side/$4")")
        totals $side "${base[@]}" "$work/program" "$(compgen -G "$work/$side/$3")" \
            >"$work/$side.totals"
    done
    paste "$work/theirs.totals" "$work/ours.totals" >"$work/pairs"
    [ -s "$work/ours.totals" ] || fail "$name: jeprof shows nothing"
    awk -v share="$share" \
        '$2 != $4 || $3 < (1 - share) * $1 || $3 > (1 + share) * $1 { bad = 1 } END { exit bad }' \
        "$work/pairs" || {
        cat "$work/pairs"
        fail "$name: jemalloc's on the left, mallow's on the right"
    }
}

both prof_leak:true,lg_prof_sample:0,prof_final:true
same_names "at exit"
alike "at exit" 0.1 "jeprof.*.f.heap"
[ "$(wc -l <"$work/ours.totals")" -eq 2 ] || fail "at exit: $(cat "$work/ours.totals")"
for side in theirs ours; do
    sed -E 's/~[0-9]+ (bytes|objects)/~N \1/g; s/>= [0-9]+/>= N/' "$work/$side/stderr" \
        >"$work/$side.leaks"
done
diff "$work/theirs.leaks" "$work/ours.leaks" || fail "the words of the leak report"
grep -q '~120 objects, >= 2 contexts' "$work/ours/stderr" ||
    fail "leaks: $(cat "$work/ours/stderr")"
ok "the leak report at exit: $(head -n 1 "$work/ours/stderr")"

# The first lines of the page: a program that was not linked with the library, and jeprof's shell.
echo '#pragma weak mallctl' >"$work/plain.h"
cc -g -O1 -fno-builtin -include "$work/plain.h" -I"$include" \
    "$source/tests/jemalloc/tutorial.c" -o "$work/plain"
for side in theirs ours; do
    library=$compat
    [ $side = ours ] || library=$reference
    (cd "$work/$side" && rm ./*.heap &&
        LD_PRELOAD=$library/libjemalloc.so.2 \
            MALLOC_CONF=prof_leak:true,lg_prof_sample:0,prof_final:true "$work/plain" 2>said)
    sed -E 's/~[0-9]+ (bytes|objects)/~N \1/g; s/>= [0-9]+/>= N/; s/\.[0-9]+(\.0\.f)/.PID\1/' \
        "$work/$side/said" \
        >"$work/$side.leaks"
    heap=$(compgen -G "$work/$side/jeprof.*.0.f.heap")
    printf 'top\nquit\n' | jeprof --show_bytes "$work/plain" "$heap" 2>/dev/null |
        sed 's/^(jeprof) //' | awk '$6 ~ /^do_something/ { print $6, $1 }' >"$work/$side.shares"
    cut -d ' ' -f 1 "$work/$side.shares" >"$work/$side.top"
    jeprof --collapsed "$work/plain" "$heap" 2>/dev/null |
        sed -nE 's/<[0-9a-f]*>|\[inline\]//g; s/.*(main;.*) .*/\1/p' | sort \
        >"$work/$side.collapsed"
    jeprof --dot "$work/plain" "$heap" 2>/dev/null |
        sed -nE 's/^N[0-9]+ \[label="(do_something[a-z_]*|main)\\n.*/\1/p' | sort >"$work/$side.dot"
done
diff "$work/theirs.leaks" "$work/ours.leaks" || fail "the words of the leak report, preloaded"
# Of what both functions hold, 50.6 % with jemalloc, as on the page; size classes differ.
share() {
    awk '{ sum += $2; if (NR == 1) first = $2 } END { printf "%d\n", first * 1000 / sum + 0.5 }' \
        "$work/$1.shares"
}
[ "$(share theirs)" -eq 506 ] || fail "top with jemalloc: $(cat "$work/theirs.shares")"
if [ "$(share ours)" -lt 486 ] ||
    [ "$(share ours)" -gt 526 ]; then fail "top: $(cat "$work/ours.shares")"; fi
for kind in top collapsed dot; do
    [ "$(wc -l <"$work/ours.$kind")" -ge 2 ] || fail "jeprof's $kind: $(cat "$work/ours.$kind")"
    diff "$work/theirs.$kind" "$work/ours.$kind" || fail "jeprof's $kind"
done
ok "preloaded; jeprof's shell, --collapsed, --dot: do_something has $(share \
    ours) of 1000, with jemalloc $(share theirs)"

both prof_leak_error:true,lg_prof_sample:0,prof_final:true
diff "$work/theirs/status" "$work/ours/status" || fail "status with prof_leak_error"
same_names prof_leak_error
# jemalloc's own dump may be cut here; ours is whole.
grep -q ' 00:00 0 ' <<<"$(tail -n 1 "$work"/ours/jeprof.*.f.heap)" || fail "the dump is cut"
[ "$(totals ours "$work/program" "$work"/ours/*.heap | wc -l)" -eq 2 ] || fail "the dump is cut"
ok "prof_leak_error: status $(cat "$work/ours/status"), and the dump is complete"

both prof:true,lg_prof_interval:20,lg_prof_sample:0
same_names "each MiB"
# The counters of the two do not begin at the same byte.
alike "one interval" 0.3 "jeprof.*.i3.heap"
alike "--base" 0.3 "jeprof.*.i4.heap" "jeprof.*.i0.heap"
[[ "$(count ours)" = [56] ]] || fail "each MiB: $(count ours) files"
ok "each MiB: $(count ours) files"
# Both look at each sample, and count all bytes: 290 MB here, in sizes of which the classes differ.
both prof:true,lg_prof_interval:22 mixed
[ "$(count theirs)" -ge 60 ] || fail "each 4 MiB, sampled: $(count theirs) files with jemalloc"
near_count "each 4 MiB, sampled" 2
ok "each 4 MiB, sampled: $(count ours) files, $(count theirs) with jemalloc"

both prof:true,prof_gdump:true,lg_prof_sample:0
near_count gdump 8
grep -q '^./jeprof.PID.7.u7.heap$' "$work/ours.names" ||
    fail "gdump: $(head -n 9 "$work/ours.names")"
ok "prof_gdump: $(count ours) files, $(count theirs) with jemalloc"
# jemalloc looks at each extent, of 4 KiB and more, this at slices of 64 KiB: 160 KiB blocks are one
# step for both.
both prof:true,prof_gdump:true
if [ "$(count ours)" -lt 50 ] || [ "$(count ours)" -gt "$(count theirs)" ]; then
    fail "gdump, sampled: $(count ours) files, $(count theirs) with jemalloc"
fi
ok "prof_gdump, sampled: $(count ours) files, $(count theirs) with jemalloc"

both prof:true,lg_prof_sample:0,prof_prefix:./here manual
same_names "by hand"
alike "by hand" 0.1 "here.*.m1.heap"
alike "by hand, the first" 0.1 "here.*.m0.heap"
both prof:true,lg_prof_sample:0,prof_prefix:jeprof.out window
alike "by hand, named" 0.1 after.heap
both prof:true,lg_prof_sample:0,prof_prefix:jeprof.out manual
same_names "by hand, jeprof.out"
ok "dumps by hand with a prefix, and with a name"

both prof:true,prof_active:false,lg_prof_sample:0,prof_final:true activate
same_names "activated later"
alike "activated later" 0.1 "jeprof.*.f.heap"
[ "$(awk '{ print $2 }' "$work/ours.totals")" = do_something_else ] ||
    fail "$(cat "$work/ours.totals")"
ok "prof_active:false, then prof.active: only what came after"

both prof:true,lg_prof_sample:0,prof_final:true window
same_names "between two dumps"
alike "between two dumps" 0.1 after.heap before.heap
[ "$(awk '{ print $2 }' "$work/ours.totals")" = do_something_else ] ||
    fail "$(cat "$work/ours.totals")"
alike "after it was switched off" 0.1 "jeprof.*.f.heap"
ok "two dumps and their difference; nothing after prof.active was false"

both prof:true,prof_active:false,lg_prof_sample:0 timed
alike "on for a while" 0.1 after.heap before.heap
[ "$(awk '{ print $2 }' "$work/ours.totals")" = do_something_else ] ||
    fail "$(cat "$work/ours.totals")"
for side in theirs ours; do
    (cd "$work/$side" && jeprof --text --show_bytes "$work/program" before.heap 2>&1 |
        grep -c do_something) \
        >"$work/$side.before" || :
done
diff "$work/theirs.before" "$work/ours.before" || fail "before it was on"
ok "inactive, on for a while, off: what is left of it"

both prof:true,lg_prof_sample:17,prof_final:true mixed
alike "mixed sizes" 0.15 "jeprof.*.f.heap"
# 3000 of 64 KiB, the rest of 16 to 616 bytes.
total=$(awk '{ print $1 }' "$work/ours.totals")
if [ "$total" -lt 260000000 ] || [ "$total" -gt 320000000 ]; then
    fail "mixed sizes: $total bytes"
fi
ok "mixed sizes of one stack: $total bytes"

for side in theirs ours; do
    (cd "$work/$side" && jeprof --text --show_bytes --thread=0 "$work/program" jeprof.*.f.heap \
        2>/dev/null) |
        awk '$6 == "mixed_sizes" { print $1 }' >"$work/$side.thread"
done
[ "$(cat "$work/ours.thread")" = "$total" ] ||
    fail "--thread=0: $(cat "$work/ours.thread") of $total"
ok "jeprof --thread"

both prof:true,prof_final:true,prof_timestamp:true,prof_prefix:t
compgen -G "$work/ours/t.*.20[0-9][0-9][01][0-9][0-3][0-9]-*.0.f.heap" >/dev/null ||
    fail "prof_timestamp: $(ls "$work/ours")"
both prof:true,prof_final:true,prof_pid_namespace:true
space=$(readlink /proc/self/ns/pid | tr -cd 0-9)
for side in theirs ours; do
    compgen -G "$work/$side/jeprof.$space.*.0.f.heap" >/dev/null ||
        grep -q 'Invalid conf pair: prof_pid_namespace' "$work/$side/stderr" ||
        fail "prof_pid_namespace: $(ls "$work/$side")"
done
ok "names with the time, and with the pid namespace"
