#!/bin/bash
# SPDX-License-Identifier: MIT
# long_names.sh BUILD_DIR SOURCE_DIR -- prefixes of dumps as long as the kernel takes names, with
# Debian's library and with mallow's: the same are taken and the same files written; and the
# command's orders to such a process.
. "$(dirname "$0")/lib.sh"
program=$build/tests/jemalloc_long_names
deep=$(printf 'd%.0s' {1..200})
mkdir -p "$work/$deep/$deep/$deep/$deep"

# names LIBRARY OUT: what it says with options of several lengths, and the files' names, pids taken
# out.
names() {
    local length prefix folder=$work/$deep/$deep/$deep/$deep/$2
    mkdir "$folder"
    cd "$folder"
    for length in 3 201 255 4001 4095 4097 5001; do
        prefix=$(printf './%.0s' $(seq $((length / 2))))o
        LD_LIBRARY_PATH=$1 MALLOC_CONF=prof:true,prof_prefix:$prefix "$program" \
            2>>"$work/$2.errors" ||
            fail "$2 with a prefix of $length"
    done >"$work/$2"
    # shellcheck disable=SC2012 # no name here holds a line end
    ls | sed -E 's/\.[0-9]+(\.[0-9]+\.m[0-9]+\.heap)$/.PID\1/; s/L+/L/; s/qq/q/' | sort >>"$work/$2"
    cd - >/dev/null
}
names "$compat" ours
grep -q '^the longest: 0, dump 0$' "$work/ours" || fail "$(cat "$work/ours")"
grep -q '^one more: 0, dump 14$' "$work/ours" || fail "$(cat "$work/ours")"
if [ -n "$reference" ]; then
    names "$reference" theirs
    diff "$work/theirs" "$work/ours" || fail "jemalloc's on the left, mallow's on the right"
fi
[ "$(grep -c 'or the name is too long; set dump_name to another path$' "$work/ours.errors")" -ge \
    4 ] ||
    fail "$(cut -c1-300 "$work/ours.errors")"
ok "$(wc -l <"$work/ours") lines and names"

# A process with such a prefix takes orders, and its dumps keep their place.
cd "$work"
mkfifo go
prefix=$work/$deep/$deep/there
LD_LIBRARY_PATH=$compat \
    MALLOC_CONF=prof:true,lg_prof_sample:10,prof_final:true,prof_prefix:$prefix \
    MALLOW_CONF=prof_state_min:0 "$program" work <go >waiting &
pid=$!
exec 4>go
tries=0
until grep -q dump waiting || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
[ -f "$prefix.$pid.0.m0.heap" ] || fail "no first dump: $(cat waiting)"
"$build/bin/mallow" set $pid dump_live=1G >said 2>&1 || fail "$(cat said)"
"$build/bin/mallow" dump --in-process $pid >said 2>&1 || fail "$(cat said)"
ls "$prefix.$pid".1.*.heap >/dev/null || fail "no dump by order: $(cat said)"
"$build/bin/mallow" status $pid >shown || fail "no status"
grep -q 'name %P\.%p\.%s\.%j\.heap$' shown || fail "$(cat shown)"
"$build/bin/mallow" set $pid "dump_name=$work/short.%n" >said 2>&1 || fail "$(cat said)"
"$build/bin/mallow" dump --in-process $pid >said 2>&1 || fail "$(cat said)"
[ -f short.0003 ] || fail "no dump elsewhere: $(cat said)"
"$build/bin/mallow" set $pid 'dump_name=%P.%p.%s.%j.heap' >said 2>&1 || fail "$(cat said)"
echo >&4
wait $pid || fail "the program ended with $?"
[ -f "$prefix.$pid.3.f.heap" ] || fail "no dump at the end: $(ls "$work/$deep/$deep")"
ok "orders of the command"
