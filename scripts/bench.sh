#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh [workloads [OPTION...] | threads [OPTION...] | programs [TURNS [PROGRAM...]] | clients
# | scaling | coherence [OPTION...] | symbols | heap-profiler [OPTION...]
# | cpu-profiler [OPTION...] | leak-check [GiB...]]
# -- everything runs in turns, as whole processes, within one run; results go to build/bench.
# Without arguments: workloads, threads, programs, symbols.
#   workloads  workloads and some real programs with mallow, glibc's malloc and the installed peers:
#              times, memory, instruction counts; tables, JSON, chart.  Options: --quick, --runs N,
#              --only REGEX, --peer NAME=PATH (or PEER=NAME=PATH in the environment), --allocators
#              NAMES, --no-instructions, --list, --thp always|madvise|never (the machine's setting
#              of huge pages for the run, as root).  An option as the first word means workloads.
#   threads    workloads in which threads free each other's blocks, on 1, 2, 4 and 8 threads, with
#              seeded ranges: build/bench/threads.md.  Options: --quick, --runs N, --seed S,
#              --baseline LIBRARY (another libmallow.so), --only REGEX, --threads LIST, --peer,
#              --allocators, --list.
#   programs   longer real programs, servers among them, with glibc's malloc and with mallow.
#   clients    redis-server and clickhouse-server, linked with libjemalloc.so.2, on either library:
#              doc/reference/jemalloc.md
#   scaling    what many threads share and cost: doc/measurements/scaling.md
#   coherence  cache lines that move between 2 to 64 simulated processors, with mallow and the
#              installed peers: build/bench/coherence.md.  Options: --threads LIST, --operations N,
#              --blocks N, --peer, --allocators.
#   heap-profiler  what HEAPPROFILE costs with mallow's and with gperftools' libtcmalloc.so.4, with
#              1 and 8 threads.  Options: --turns N, --pairs N.
#   cpu-profiler  what samples of CPU time cost at 100 and 1000 Hz, beside gperftools' libprofiler
#              and perf, and one sample.  Options: --turns N, --seconds N.
#   leak-check pause and search of mallow_leak_check() with so much resident memory: 1 and 2 GiB
#   symbols    how fast a large program's profile is read and named, beside pprof and jeprof
. "$(dirname "$0")/lib/common.sh"

library=$MALLOW_BUILD/lib/libmallow.so

run_workloads() {
    scripts/build.sh release mallow bench_workloads
    python3 bench/harness/bench.py --build "$MALLOW_BUILD" "$@"
}

run_threads() {
    scripts/build.sh release mallow bench_workloads
    python3 bench/harness/threads.py --build "$MALLOW_BUILD" "$@"
}

run_programs() {
    scripts/build.sh release mallow mallow_command
    mkdir -p "$MALLOW_BUILD/bench"
    python3 bench/programs.py --library "$library" --json "$MALLOW_BUILD/bench/programs.json" \
        --turns "${1:-9}" "${@:2}"
}

run_clients() {
    scripts/build.sh release mallow mallow_compat_jemalloc
    python3 bench/clients.py --build "$MALLOW_BUILD" "$@"
}

run_scaling() {
    scripts/build.sh release mallow bench_workloads bench_counting
    python3 bench/scaling.py --build "$MALLOW_BUILD" "$@"
}

run_coherence() {
    scripts/build.sh release mallow bench_moved_lines bench_exchange_loads
    python3 bench/coherence.py --build "$MALLOW_BUILD" "$@"
}

run_heap_profiler() {
    scripts/build.sh release mallow mallow_compat_libtcmalloc.so.4 bench_heap_profiler
    python3 bench/heap_profiler.py --build "$MALLOW_BUILD" "$@"
}

run_cpu_profiler() {
    scripts/build.sh release mallow mallow_gperftools_cpu bench_cpu_handler bench_cpu_work
    python3 bench/cpu_profiler.py --build "$MALLOW_BUILD" "$@"
}

run_leak_check() {
    scripts/build.sh release mallow bench_leak_check
    [ $# -gt 0 ] || set -- 1 2
    local gib bytes
    for gib in "$@"; do for bytes in 32 256 65536; do
        LD_PRELOAD=$library "$MALLOW_BUILD/bench/leak_check" "$gib" "$bytes"
    done; done
}

run_symbols() {
    scripts/build.sh release mallow mallow_command
    python3 bench/symbols.py --build "$MALLOW_BUILD" "$@"
}

scripts/bootstrap.sh bench
case ${1:-} in
workloads) run_workloads "${@:2}" ;;
-*) run_workloads "$@" ;;
threads) run_threads "${@:2}" ;;
programs) run_programs "${@:2}" ;;
clients) run_clients "${@:2}" ;;
scaling) run_scaling "${@:2}" ;;
coherence) run_coherence "${@:2}" ;;
symbols) run_symbols "${@:2}" ;;
cpu-profiler) run_cpu_profiler "${@:2}" ;;
heap-profiler) run_heap_profiler "${@:2}" ;;
leak-check) run_leak_check "${@:2}" ;;
"")
    run_workloads
    run_threads
    run_programs
    run_symbols
    ;;
*) die "bench.sh: '$1': not one of workloads, threads, programs, clients, scaling, coherence," \
    symbols, heap-profiler, cpu-profiler, leak-check ;;
esac
