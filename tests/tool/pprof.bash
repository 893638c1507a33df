# SPDX-License-Identifier: MIT
# pprof.bash -- profiles of real programs, and the same view of them by `go tool pprof`: `source` it
# after lib.bash.
# shellcheck shell=bash disable=SC2154 # variables of lib.bash
export HOME=$work PPROF_BINARY_PATH=$work XDG_CACHE_HOME=$work
compared=0

# go_pprof ARGUMENT...: `go tool pprof`.  It is asked hundreds of questions, each about a small
# profile: the program that `go` would start is started directly, with one processor, and collects
# garbage seldom.  Without collecting it touches twice the memory, and fresh pages take time, too.
pprof_program=$(go tool -n pprof 2>/dev/null)
go_pprof() {
    GOGC=400 GOMAXPROCS=1 "$pprof_program" "$@"
}

has_pprof() {
    [ -n "$pprof_program" ] &&
        { go_pprof -h >/dev/null 2>err || grep -q usage err; } && return
    leave_out "go tool pprof is not installed: nothing was compared with it"
    return 1
}

has_jeprof() {
    command -v jeprof >/dev/null && return
    leave_out "jeprof is not installed: nothing was compared with it"
    return 1
}

# What pprof and mallow are compared on is the same each time, as far as a program permits: samples,
# python's hashes and addresses are not left to chance.
export PYTHONHASHSEED=0
# Each recorded profile has another seed: two of one program would be equal, and their difference
# nothing.
recorded=0
fixed_addresses=(setarch -R)
setarch -R true 2>/dev/null || fixed_addresses=()

# profile NAME COMMAND...: NAME.pb.gz, of a sample in 4 KiB, or in $rate.
profile() {
    local name=$1
    shift
    recorded=$((recorded + 1))
    MALLOW_CONF=prof_seed:$recorded ${fixed_addresses[@]+"${fixed_addresses[@]}"} "$mallow" run \
        --rate "${rate:-4K}" \
        -o "$name.pb.gz" -- "$@" >/dev/null 2>err || fail "$* does not run"
    [ -s "$name.pb.gz" ] || fail "no profile of $name"
    python3 "$here/no_start_lines.py" "$name.pb.gz" || fail "$name.pb.gz cannot be read"
}

# The header lines tell of different things; the table is what is compared.
table() {
    sed -n '/^ *flat  *flat%/,$p' | sed 's/[[:space:]]*$//'
}

# What is to be compared of a table; "sort" where the order of its rows is left to chance.
arrange='cat'

# same PROFILE VIEW OPTION...: as `go tool pprof -VIEW OPTION...`.
same() {
    local profile=$1 view=$2
    shift 2
    go_pprof "-$view" -unit=minimum -symbolize=none "$@" "$profile.pb.gz" >text 2>pprof.err ||
        fail "pprof -$view $* of $profile: status $?: $(tail -n 20 pprof.err)"
    table <text | $arrange >theirs
    # pprof knows no wrappers, and has other names for functions without symbols.
    try 0 "$build/lib/mallow/compat/bin/pprof" "-$view" -unit=minimum -symbolize=none "$@" \
        "$profile.pb.gz"
    table <out | $arrange >ours
    [ "$(wc -l <theirs)" -gt 2 ] ||
        fail "pprof -$view $* says nothing of $profile: $(cat pprof.err text)"
    diff theirs ours >difference || {
        head -20 difference >&2
        fail "$view $* of $profile differs from pprof's"
    }
    compared=$((compared + 1))
}

# alike PROFILE VIEW OPTION...: likewise of graphs and what is not a table, a fact a line.
alike() {
    local profile=$1 view=$2
    shift 2
    go_pprof "-$view" -symbolize=none "$@" "$profile.pb.gz" >text 2>pprof.err ||
        fail "pprof -$view $* of $profile: status $?: $(tail -n 20 pprof.err)"
    try 0 "$build/lib/mallow/compat/bin/pprof" "-$view" -symbolize=none "$@" "$profile.pb.gz"
    python3 "$here/alike.py" "$view" text theirs out ours ||
        fail "-$view of pprof or of mallow cannot be read"
    # Of python3 little is in use at its end.
    [ "$(wc -l <theirs)" -gt 2 ] || fail "pprof -$view $* says nothing of $profile"
    diff theirs ours >difference ||
        fail "$view $* of $profile differs from pprof's: $(head -5 difference)"
    compared=$((compared + 1))
}
