#!/bin/bash
# SPDX-License-Identifier: MIT
# command_lines.sh BUILD_DIR -- command lines of jeprof and pprof: abbreviations, types that a
# profile does not have, names of outputs, what is printed without an output, and messages that name
# the command that was called.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
jeprof=$build/lib/mallow/compat/bin/jeprof
pprof=$build/lib/mallow/compat/bin/pprof

printf 'int leaf(void) { return 1; }\nint main(void) { return leaf(); }\n' >prog.c
gcc -g -O0 -fno-pie -no-pie prog.c -o prog || fail "gcc failed"
# A return address in leaf().
leaf=$(printf %x $((0x$(nm prog | awk '$3 == "leaf" { print $1 }') + 8)))
# heap NAME TOTAL: a profile of one stack with these counts
heap() {
    printf '%s\n' heap_v2/1 "  t*: $2" "@ 0x$leaf" "  t*: $2" '' MAPPED_LIBRARIES: \
        "00400000-00500000 r-xp 00000000 08:01 77 $PWD/prog" >"$1"
}
heap both.heap '3: 300000 [5: 500000]'
heap same.heap '3: 300000 [3: 300000]'
heap inuse.heap '3: 300000 [0: 0]'

# same_as FULL SHORT...: the option FULL of jeprof, in short
same_as() {
    local full=$1 short
    shift
    try 0 "$jeprof" --text "$full" prog both.heap
    mv out full
    for short; do
        try 0 "$jeprof" --text "$short" prog both.heap
        diff full out >&2 || fail "$short is not $full"
        if command -v jeprof >/dev/null; then
            jeprof --text "$short" prog both.heap >theirs 2>err || fail "jeprof has no $short"
        fi
        try 0 "$pprof" --text "$short" prog both.heap
    done
}
same_as --addresses --address -addr
same_as --lines --line -lin
same_as --inuse_objects --inuse_obj --inuse_o
same_as --alloc_space --alloc_s
same_as --show_bytes --show_b -show_by
same_as --cum --cu
same_as --cum=false --nocum
try 0 "$jeprof" --text --debug prog both.heap
same_as --focus=leaf --foc=leaf
try 2 "$jeprof" --text --node=3 prog both.heap # nodecount or nodefraction
try 2 "$jeprof" --text --nofocus prog both.heap
try 2 "$jeprof" --text --x prog both.heap
# The views of mallow itself take whole names only.
try 2 "$mallow" top --address both.heap
ok "abbreviated options"

# Profiles without what was allocated. If nothing was freed, it is what is in use.
for program in "$jeprof" "$pprof"; do
    try 0 "$program" --text --alloc_space prog both.heap
    says out '0\.5|488' # MB, kB
    try 0 "$program" --text --alloc_space prog same.heap
    says out '0\.3|293|292'
    try 0 "$program" --text --alloc_objects prog same.heap
    says out ' 3 '
    try 2 "$program" --text --alloc_space prog inuse.heap
    says err "no sample type 'alloc_space'; it has inuse_objects, inuse_space"
    [ ! -s out ] || fail "$program prints something as allocated"
done
try 0 "$mallow" top --alloc-space same.heap
try 2 "$mallow" top --alloc-space inuse.heap
ok "types that a profile does not have"

# An output that is named may be called anything.
for name in plain x.txt x.svg x.anything; do
    try 0 "$pprof" -dot -output="$name" prog both.heap
    grep -q '^digraph' "$name" || fail "-dot -output=$name: $(head -c 99 "$name")"
    try 0 "$pprof" -proto -output="$name" prog both.heap
    [ "$(head -c2 "$name" | od -An -tx1)" = ' 1f 8b' ] || fail "-proto -output=$name"
    try 0 "$pprof" -text -output="$name" prog both.heap
    grep -q '%  leaf$' "$name" || fail "-text -output=$name: $(head -c 99 "$name")"
    rm "$name"
done
if command -v dot >/dev/null; then
    try 0 "$pprof" -svg -output=x.pdf prog both.heap
    grep -q '<svg' x.pdf || fail "-svg -output=x.pdf"
fi
ok "names of outputs"

# Neither an output nor a terminal: text, unless a script has commands.
for program in "$jeprof" "$pprof"; do
    "$program" prog both.heap </dev/null >out 2>err || fail "$program: status $?: $(cat err)"
    says out leaf
    echo top5 | "$program" prog both.heap >out 2>err || fail "$program: $(cat err)"
    says out leaf
    echo comments | "$program" prog both.heap >out 2>err || fail "$program: $(cat err)"
    says_not out leaf
    "$program" --interactive prog both.heap </dev/null >out 2>err || fail "$program: $(cat err)"
    says_not out leaf
done
ok "without an output"

for name in jeprof pprof; do
    program=$build/lib/mallow/compat/bin/$name
    for arguments in "" --nonsense --txet; do
        # shellcheck disable=SC2086 # none or one
        try 2 "$program" $arguments
        says_not err "mallow $name"
        says err "[' ]$name( --help|.*PROFILE)"
    done
    try 0 "$program" --help
    says out "^Usage: $name "
done
try 2 "$mallow" top --nonsense
says err "'mallow top --help'"
ok "messages"
