#!/bin/bash
# SPDX-License-Identifier: MIT
# soak.sh [SECONDS [SEED]] -- programs drawn at random, one after the other, with options drawn at
# random, until the time is over (600 s): the torture and stress programs of tests/, the harness's
# workloads, and real programs, each with its own check that its results are right.  The seed is
# printed; the same seed draws the same programs and options.  Each line of the log,
# build/soak.log, can be run by itself.  Exit status 1 at the first failure, whose output is shown.
. "$(dirname "$0")/lib/common.sh"

seconds=${1:-600}
seed=${2:-$(date +%s)}
build=$MALLOW_BUILD
library=$build/lib/libmallow.so
log=$build/soak.log
if [ ! -x "$build/tests/torture_threads" ] || [ ! -x "$build/bench/workloads/server" ]; then
    die "soak.sh: the tests are not built; run 'scripts/build.sh' and" \
        "'scripts/build.sh release bench_workloads'"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
RANDOM=$((seed % 32768))

# pick WORD...: sets `picked` (a subshell would draw the same numbers again).
pick() {
    local -a words=("$@")
    picked=${words[RANDOM % ${#words[@]}]}
}

draw_options() {
    pick 524288 524288 65536 4096 1
    options="prof_sample:$picked"
    pick true true true false
    options+=",prof:$picked"
    # Purge never, at once, soon, as it is.
    pick -1 0 10 1000 1000
    options+=",dirty_decay_ms:$picked"
    pick true false false
    options+=",background_thread:$picked"
}

# What real programs are asked, with what they must answer.
python_program='import json, hashlib
data = {str(i): list(range(i % 50)) for i in range(40000)}
text = json.dumps(data)
assert json.loads(text) == data
print(hashlib.sha1(text.encode()).hexdigest())'
# shellcheck disable=SC2016 # Perl's own variables
perl_program='my %h; $h{$_ % 5000} .= "x" x ($_ % 90) for 1 .. 300000;
    my $n = 0; $n += length for values %h; print "$n\n"'
node_program='let a = []; for (let i = 0; i < 300000; i++) a.push({i, s: "k" + i});
    let m = new Map(a.map(o => [o.s, o.i])); console.log(m.get("k777") + m.size)'

draw_command() {
    local tests=$build/tests workloads=$build/bench/workloads
    pick torture torture churn storm forks spawn signals exceptions corner keys server exchange \
        threads \
        large survivors json containers python perl node sqlite
    kind=$picked
    case $kind in
    torture) command=("$tests/torture_threads" $((RANDOM % 8 + 2)) "$RANDOM" $((RANDOM % 12 + 1))) \
        ;;
    churn) command=("$tests/programs/thread_churn") ;;
    storm) command=("$tests/programs/fork_storm") ;;
    forks) command=(env MALLOW_TEST_FORKS=$((RANDOM % 150 + 20)) "$tests/programs/fork_threads") ;;
    spawn) command=("$tests/programs/spawn") ;;
    signals) command=("$tests/programs/signals") ;;
    exceptions) command=("$tests/programs/exceptions") ;;
    corner) command=("$tests/programs/corner_cases") ;;
    keys) command=("$tests/programs/key_destructors") ;;
    server) command=("$workloads/server" $((RANDOM % 60 + 1)) $((RANDOM % 5000 + 100)) $((RANDOM % \
        9 + 1))) ;;
    exchange) command=("$workloads/exchange" table) ;;
    threads) pick short leaving && command=("$workloads/threads" "$picked") ;;
    large) pick blocks medium grow buffers && command=("$workloads/large" "$picked") ;;
    survivors) command=("$workloads/survivors" mixed) ;;
    json) command=("$workloads/json") ;;
    containers) pick maps lists words && command=("$workloads/containers" "$picked") ;;
    python) command=(env PYTHONMALLOC=malloc python3 -c "$python_program") ;;
    perl) command=(perl -e "$perl_program") ;;
    node) command=(node -e "$node_program") ;;
    sqlite)
        command=(sqlite3 :memory: "create table t(a, b); with recursive n(i) as (select 1 union all
            select i + 1 from n where i < 200000) insert into t select i, hex(i * 7919) from n;
            create index x on t(b); select count(*), sum(length(b)), max(b) from t;")
        ;;
    esac
}

# The answers of programs that always say the same, from a run with libc's malloc.
declare -A answers
answer_is_right() {
    case $kind in
    server | exchange | threads | large | survivors | json | containers | python | perl | node \
        | sqlite) ;;
    *) return 0 ;;
    esac
    local key="${command[*]}"
    [ -n "${answers[$key]:-}" ] ||
        answers[$key]=$("${command[@]}" 2>/dev/null | grep -v '^note ' | cksum)
    [ "$(grep -v '^note ' "$work/out" | cksum)" = "${answers[$key]}" ]
}

say "soak: $seconds s, seed $seed, log in ${log#"$MALLOW_ROOT"/}"
: >"$log"
declare -A counts
runs=0
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
    draw_options
    draw_command
    if [ ! -x "${command[0]}" ] && ! command -v "${command[0]}" >/dev/null; then
        continue
    fi
    printf 'LD_PRELOAD=%s MALLOW_CONF=%s %s\n' "$library" "$options" "${command[*]@Q}" >>"$log"
    status=0
    LD_PRELOAD=$library MALLOW_CONF=$options timeout -k 5 240 "${command[@]}" >"$work/out" \
        2>"$work/err" || status=$?
    if [ $status -ne 0 ] || ! answer_is_right; then
        echo "failed with status $status (run $((runs + 1)), seed $seed):"
        tail -n 1 "$log"
        tail -n 20 "$work/out" "$work/err"
        exit 1
    fi
    counts[$kind]=$((${counts[$kind]:-0} + 1))
    runs=$((runs + 1))
done
for kind in "${!counts[@]}"; do
    printf '%s %s, ' "${counts[$kind]}" "$kind"
done
echo "$runs runs, none failed (seed $seed)"
