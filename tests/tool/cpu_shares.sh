#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu_shares.sh BUILD_DIR -- CPU time by function against the threads' own clocks, and the total
# against the process's.
source "$(dirname "$0")/lib.bash"
needs python3
cc -g -O1 -pthread -o shares "$here/shares.c" || fail "cc"

# Against the threads' own clocks.  Each share is within six standard deviations of a binomial
# distribution over the samples, and a third more: a sample weighs what its thread used since the
# sample before, which differs where other programs run.  Of ten shares four are within the interval
# for 95 %: by chance fewer are once in ten million runs.  Of the total each thread's time after its
# last sample is missing: a period of the timer, and until the kernel looks at timers, which it does
# at its ticks, two of 10 ms: with many threads much, and so they run for longer.
truth() {
    "$mallow" collapsed --sample-type samples cpu.pb.gz >counts &&
        "$mallow" collapsed --sample-type cpu cpu.pb.gz >cpu_times &&
        python3 - truth counts cpu_times "$1" <<'END'
import math, sys
def leaves(name):
    sums = {}
    for line in open(name):
        stack, value = line.rsplit(" ", 1)
        leaf = stack.split(";")[-1]
        sums[leaf] = sums.get(leaf, 0) + int(value)
    return sums
truth = dict(line.split() for line in open(sys.argv[1]))
counts, times = leaves(sys.argv[2]), leaves(sys.argv[3])
total, process = sum(times.values()), int(truth.pop("process"))
print(f"total {total / 1e9:.3f} s, getrusage {process / 1e9:.3f} s")
missing = int(sys.argv[4]) * (1e9 / 250 + 2e7)
assert -missing - 0.01 * process <= total - process <= 0.01 * process, "the total"
samples = sum(counts.values())
work = {name: int(ns) for name, ns in truth.items()}
inside = 0
for name, ns in work.items():
    share = ns / sum(work.values())
    seen = times.get(name, 0) / sum(times.get(name, 0) for name in work)
    deviation = math.sqrt(share * (1 - share) / samples)
    print(f"{name}: {100 * seen:.2f} % of {100 * share:.2f} %, {abs(seen - share) / deviation:.1f}")
    assert abs(seen - share) <= 8 * deviation, name
    inside += abs(seen - share) <= 1.96 * deviation
assert inside >= 4, f"{inside} of 10 shares within their interval"
END
}
for run in 1:3 2:3 16:8; do
    IFS=: read -r threads seconds <<<"$run"
    "$mallow" run --cpu-rate 250 -o cpu.pb.gz -- ./shares "$threads" "$seconds" >truth 2>err ||
        fail "run --cpu with $threads threads"
    says err 'CPU time [0-9.]+ s, [0-9]+ samples'
    says err '^mallow: profile written: cpu.pb.gz'
    truth "$threads" >out 2>&1 || fail "the shares of $threads threads"
    cat out
done
ok "shares and totals"

