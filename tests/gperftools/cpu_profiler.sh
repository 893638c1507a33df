#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu_profiler.sh BUILD_DIR SOURCE_DIR -- libprofiler.so.0: CPUPROFILE with its variables, the C
# interface, the bytes of the file, forks, deadly signals; alone and together with mallow.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
unset CPUPROFILE CPUPROFILE_USE_PID CPUPROFILE_FREQUENCY CPUPROFILE_REALTIME CPUPROFILESIGNAL
unset CPUPROFILE_PER_THREAD_TIMERS CPUPROFILE_TIMER_SIGNAL
need od
compile cpu_work -L"$compat" -lprofiler -pthread
mallow=$build/bin/mallow
export LD_LIBRARY_PATH=$compat

# Some 250 samples a second, by the kernel's clock tick, each with a weight.
fast=CPUPROFILE_FREQUENCY=1000

# run WANTED_STATUS [VARIABLE=VALUE...] -- ARGUMENT...: output in `out`, messages in `log`
run() {
    local wanted=$1 status=0 variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    env "${variables[@]}" ./cpu_work "$@" >out 2>log || status=$?
    [ "$status" = "$wanted" ] || fail "${variables[*]} $*: status $status: $(cat out log)"
}

# milliseconds FILE: what all samples stand for, by the file's words
milliseconds() {
    od -A n -v -t u8 -w8 "$1" | awk '
        NR == 4 { period = $1 }
        NR <= 5 { next }
        place == 0 { samples = $1; place = 1; next }
        place == 1 { if (samples == 0) exit; sum += samples; left = $1; place = 2; next }
        --left == 0 { place = 0 }
        END { print sum * period / 1000 }'
}
words() {
    od -A n -v -t u8 -w8 "$1" | awk -v from="$2" -v to="$3" \
        'NR >= from && NR <= to { printf "%s ", $1 }'
}
# is_share FILE: work_much has three quarters of the time, within six standard deviations of a
# binomial distribution.  A sample stands for 10 ms, a tick of the kernel, or for some ticks where
# other programs use the processor: as if all stood for 20 ms.
is_share() {
    "$mallow" top --json "$1" >rows 2>err || fail "$1: $(cat err)"
    python3 - "$1" <<'END' || fail "shares of $1: $(cat rows)"
import json, math, sys
rows = {row["name"]: row["cum"] for row in json.load(open("rows"))["rows"]}
much, little = rows["work_much"], rows["work_little"]
deviation = math.sqrt(0.75 * 0.25 / ((much + little) / 20e6))
sys.exit(abs(much / (much + little) - 0.75) > 6 * deviation)
END
}

# The file, byte by byte where it is known.  Of two seconds the share is within 0.26.
run 0 CPUPROFILE=p -- work 2
[ "$(words p 1 5)" = "0 3 0 10000 0 " ] || fail "header: $(words p 1 5)"
grep -qa "cpu_work" p || fail "no mappings"
is_share p
used=$(cat out) counted=$(milliseconds p)
awk -v a="$used" -v b="$counted" 'BEGIN { exit !(b > 900 * a - 30 && b < 1100 * a + 30) }' ||
    fail "$counted ms are counted, $used s were used"
grep -q '^PROFILE: interrupts/evictions/bytes = [0-9]*/0/[0-9]*$' log || fail "$(cat log)"
for debian in /usr/lib/*/libprofiler.so.0; do
    [ -e "$debian" ] || continue
    nm --dynamic --defined-only "$debian" | awk '$3 ~ /^Profil/ { print $3 }' | sort >theirs
    nm --dynamic --defined-only "$compat/libprofiler.so.0" | awk '{ print $3 }' | sort >ours
    diff theirs ours || fail "names differ from $debian (<)"
done
if command -v google-pprof >/dev/null; then
    google-pprof --text ./cpu_work p >theirs 2>/dev/null
    grep -q ' spin$' theirs || fail "google-pprof: $(cat theirs)"
fi

# Variables.
run 0 CPUPROFILE=f "$fast" -- threads 0.2
[ "$(words f 4 4)" = "1000 " ] || fail "the period: $(words f 4 4)"
awk -v a="$(cat out)" -v b="$(milliseconds f)" \
    'BEGIN { exit !(b > 900 * a - 30 && b < 1100 * a + 30) }' ||
    fail "1000 Hz: $(milliseconds f) ms, used $(cat out) s"
is_share f
run 0 CPUPROFILE=t CPUPROFILE_PER_THREAD_TIMERS=1 "$fast" -- threads 0.2
is_share t
run 0 CPUPROFILE=s CPUPROFILE_TIMER_SIGNAL=36 "$fast" -- threads 0.2
is_share s
run 0 CPUPROFILE=r CPUPROFILE_REALTIME=1 "$fast" -- work 0.4
is_share r
run 0 CPUPROFILE=u CPUPROFILE_USE_PID=1 -- work 0.1
[ "$(find . -name 'u_[0-9]*' | wc -l)" = 1 ] || fail "CPUPROFILE_USE_PID: $(echo ./*)"
run 0 CPUPROFILE=x CPUPROFILE_FREQUENCY=many -- work 0.1
grep -q "^mallow: CPUPROFILE_FREQUENCY: 'many' is not a whole number from 1 to 4000" log ||
    fail "$(cat log)"
run 0 CPUPROFILE=/no/such/folder/p -- work 0.1
grep -q "cpu profiling for '/no/such/folder/p': No such file" log || fail "$(cat log)"
run 0 -- work 0.1
[ ! -s log ] || fail "without variables: $(cat log)"
run 0 CPUPROFILE=g CPUPROFILESIGNAL=12 "$fast" -- toggle 0.4
is_share g.0
is_share g.1
[ "$(echo g*)" = "g.0 g.1" ] || fail "toggled: $(echo g*)"

# Processes: each its file, a child without samples none.
run 0 CPUPROFILE=k "$fast" -- fork 0.4
is_share k
[ "$(find . -name 'k_*' | wc -l)" = 1 ] || fail "children: $(echo k*)"
is_share "$(echo k_*)"
run 0 CPUPROFILE=e -- exec
# Deadly signals, and one that the program handles.
run 139 CPUPROFILE=c "$fast" -- crash 0.4
is_share c
run 143 CPUPROFILE=d "$fast" -- terminate 0.4
is_share d
run 0 CPUPROFILE=h "$fast" -- handled 0.2
is_share h
run 0 "$fast" -- interface i
is_share i

# Together with mallow, by each way.
LD_PRELOAD=$build/lib/libmallow.so run 0 CPUPROFILE=m "$fast" -- threads 0.2
is_share m
LD_PRELOAD=$compat/libtcmalloc_and_profiler.so.4 \
    run 0 CPUPROFILE=n HEAPPROFILE=n "$fast" -- threads 0.2
is_share n
[ -s n.0001.heap ] || fail "no heap profile: $(echo n*)"

# The commands of gperftools' page on the CPU profiler, `pprof --text`, `--focus`, `--list` ...:
# with gperftools' own pprof where it is installed, and with mallow under the name pprof.
ln -sf "$mallow" pprof
export XDG_CACHE_HOME=$work
readers=("$work/pprof")
command -v google-pprof >/dev/null && readers+=(google-pprof)
for reader in "${readers[@]}"; do
    shows() {
        local pattern=$1
        shift
        "$reader" "$@" ./cpu_work p >shown 2>err || fail "$reader $*: $(cat err)"
        grep -qE -- "$pattern" shown || fail "$reader $*: no '$pattern': $(head -20 shown)"
    }
    shows ' spin$' --text
    shows 'cpu_work\.c:[0-9]+' --text --lines
    shows ' work_much$' --text --focus=work_much
    ! grep -q ' work_little$' shown || fail "$reader --focus"
    shows ' work_much$' --text --ignore=work_little
    shows 'sum \+= i' --list=spin
    shows 'digraph' --dot
    shows 'fn=.*spin' --callgrind
    shows 'work_much' --text --cum
    ! command -v dot >/dev/null || shows '<svg' --svg
done
echo "ok ${#readers[@]} readers"
