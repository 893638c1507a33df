#!/bin/bash
# SPDX-License-Identifier: MIT
# profiler.sh BUILD_DIR SOURCE_DIR -- the heap profiler: its environment variables, files, lines on
# stderr and C functions.
. "$(dirname "$0")/lib.sh"
compile profiler -L"$compat" -ltcmalloc
export LD_LIBRARY_PATH=$compat
start="Starting tracking the heap"
dump="Dumping heap profile to p"

# run WHAT...: in a folder of its own; the lines on stderr are in ../log
run() {
    rm -rf "$work/run" && mkdir "$work/run"
    (cd "$work/run" && timeout 60 "$work/profiler" "$@" 2>../log) ||
        fail "profiler $*: $(cat "$work/log")"
}
# files NAME...: those that the run has left
files() {
    diff <(printf '%s\n' "$@" | sort) <(ls "$work/run") || fail "files (>) are not as wanted (<)"
}
# left PATTERN COUNT WHAT: so many files of that name
left() {
    [ "$(find "$work/run" -name "$1" | wc -l)" = "$2" ] || fail "$3: $(ls "$work/run")"
}
# said LINE...: on stderr
said() {
    diff <(printf '%s\n' "$@") "$work/log" || fail "stderr (>) is not as wanted (<)"
}

HEAPPROFILE=p run exit
files p.0001.heap
said "$start" "$dump.0001.heap (Exiting, 3 MB in use)"
grep -qE '^heap profile: +1: +3145728 \[ +[0-9]+: +[0-9]+\] @ heapprofile$' \
    <<<"$(head -n 1 "$work/run/p.0001.heap")" ||
    fail "first line: $(head -n 1 "$work/run/p.0001.heap")"

run api p
files p.0001.heap p.0002.heap
said "$start" "$dump.0001.heap (by hand)" "$start" \
    "$dump.0002.heap (the second time)"

# Files after so many bytes.
HEAPPROFILE=p HEAP_PROFILE_ALLOCATION_INTERVAL=4194304 run bytes
said "$start" "$dump.0001.heap (4 MB allocated cumulatively, 4 MB currently in use)" \
    "$dump.0002.heap (8 MB allocated cumulatively, 8 MB currently in use)" \
    "$dump.0003.heap (Exiting, 10 MB in use)"
HEAPPROFILE=p HEAP_PROFILE_DEALLOCATION_INTERVAL=4194304 run freed
sed -i 's/[0-9]* \(kB\|bytes\) in use)$/N in use)/' "$work/log"
said "$start" "$dump.0001.heap (4 MB freed cumulatively, 0 MB currently in use)" \
    "$dump.0002.heap (8 MB freed cumulatively, 0 MB currently in use)" \
    "$dump.0003.heap (Exiting, N in use)"
HEAPPROFILE=p HEAP_PROFILE_INUSE_INTERVAL=5000000 run bytes
said "$start" "$dump.0001.heap (5 MB currently in use)" \
    "$dump.0002.heap (10 MB currently in use)" \
    "$dump.0003.heap (Exiting, 10 MB in use)"
HEAPPROFILE=p HEAP_PROFILE_ALLOCATION_INTERVAL=0 HEAP_PROFILE_INUSE_INTERVAL=0 run bytes
files p.0001.heap

# Files at intervals, of a program that does not allocate meanwhile, and at signals.
HEAPPROFILE=p HEAP_PROFILE_TIME_INTERVAL=1 run waits p
grep -qE '^Dumping heap profile to p.0001.heap \([12] sec since the last dump\)$' "$work/log" ||
    fail "interval: $(cat "$work/log")"
HEAPPROFILE=p HEAPPROFILESIGNAL=10 run signal p
sed -i 's/Exiting, [0-9]* \(kB\|bytes\)/Exiting, N/' "$work/log"
said "$start" "Using signal 10 as heap profiling switch" \
    "$dump.0001.heap (signal)" \
    "$dump.0002.heap (signal)" "$dump.0003.heap (Exiting, N in use)"

# Names: of processes, ranks and tasks.
HEAPPROFILE=p HEAPPROFILE_USE_PID=1 run exit
left 'p_[0-9]*.0001.heap' 1 "HEAPPROFILE_USE_PID"
HEAPPROFILE=p OMPI_HOME=/x run exit
left 'p_[0-9]*.0001.heap' 1 "OMPI_HOME"
HEAPPROFILE=p PMIX_RANK=3 run exit
files p.rank-3.0001.heap
HEAPPROFILE=p PMI_RANK=4 run exit
files p.rank-4.0001.heap
HEAPPROFILE=p SLURM_JOB_ID=77 SLURM_PROCID=5 run exit
files p.slurmid-5.0001.heap
HEAPPROFILE=p run execs
left 'p_[0-9]*.0001.heap' 1 "a program after exec(3)"

# Children of fork(2) write files of their own.
HEAPPROFILE=p run forks
left 'p*.0001.heap' 3 "forks"
[ "$(grep -lE '^ +1: +3333 ' "$work"/run/p_*.heap | wc -l)" = 2 ] || fail "children's profiles"

# Old files go, others stay.
old() {
    rm -rf "$work/run" && mkdir "$work/run"
    touch "$work/run"/{p.0007.heap,p.x.heap,q.0001.heap,p.0001.txt,px.0001.heap}
    (cd "$work/run" && "$work/profiler" exit 2>../log) || fail "old files"
}
HEAPPROFILE=p old
files p.0001.heap q.0001.heap p.0001.txt px.0001.heap
HEAPPROFILE=p HEAP_PROFILE_CLEANUP=false old
files p.0001.heap p.0007.heap p.x.heap q.0001.heap p.0001.txt px.0001.heap
HEAPPROFILE=p PERFTOOLS_VERBOSE=1 old
grep -q '^Removing old heap profile p.0007.heap$' "$work/log" || fail "verbose: $(cat "$work/log")"
HEAPPROFILE=p PERFTOOLS_VERBOSE=-1 run exit
[ ! -s "$work/log" ] || fail "PERFTOOLS_VERBOSE=-1 prints $(cat "$work/log")"

# The last file at _exit and SIGTERM, once, where HEAP_PROFILE_FINAL asks for it.
# ends STATUS WHAT: as run, with this status of the program
ends() {
    local wanted=$1 status=0
    shift
    rm -rf "$work/run" && mkdir "$work/run"
    (cd "$work/run" && HEAPPROFILE=p exec "$work/profiler" "$@" 2>../log) || status=$?
    [ "$status" = "$wanted" ] || fail "profiler $*: status $status, not $wanted: $(cat "$work/log")"
}
HEAP_PROFILE_FINAL='' ends 7 leaves
left 'p*' 0 "_exit without HEAP_PROFILE_FINAL"
HEAP_PROFILE_FINAL=SIGTERM ends 7 leaves
left 'p*' 0 "_exit with HEAP_PROFILE_FINAL=SIGTERM"
HEAP_PROFILE_FINAL=_exit ends 7 leaves
files p.0001.heap
said "$start" "$dump.0001.heap (Exiting, 0 bytes in use)"
HEAP_PROFILE_FINAL=_exit ends 0 leaves-children
left 'p*.heap' 2 "_exit of a child"
[ "$(grep -lE '^ +1: +4444 ' "$work"/run/p_*.heap | wc -l)" = 1 ] || fail "the child's profile"
HEAP_PROFILE_FINAL=_exit ends 0 leaves-vfork
files p.0001.heap
for _ in 1 2 3 4 5 6 7 8; do
    HEAP_PROFILE_FINAL=_exit ends 5 leaves-in-handler
done
HEAP_PROFILE_FINAL=_exit ends 143 terminates
left 'p*' 0 "SIGTERM with HEAP_PROFILE_FINAL=_exit"
HEAP_PROFILE_FINAL=_exit,SIGTERM ends 143 terminates
files p.0001.heap
said "$start" "$dump.0001.heap (Exiting, 0 bytes in use)"
HEAP_PROFILE_FINAL=SIGTERM ends 6 handles-term
files p.0001.heap
HEAP_PROFILE_FINAL=SIGTERM ends 0 terminates-child
left 'p*.heap' 2 "SIGTERM of children: one with a thread of the profiler, and the parent"
HEAP_PROFILE_FINAL=SIGKILL,_exit,no ends 7 leaves
files p.0001.heap
[ "$(grep -c "^mallow: HEAP_PROFILE_FINAL: '\(SIGKILL\|no\)' is not _exit or SIGTERM" \
    "$work/log")" = 2 ] || fail "bad words: $(cat "$work/log")"

# A file that cannot be written; bad values.
HEAPPROFILE=/nonexistent/p run exit
said "$start" "Dumping heap profile to /nonexistent/p.0001.heap (Exiting, 3 MB in use)" \
    "Failed dumping heap profile to /nonexistent/p.0001.heap. Numeric errno is 2"
for variable in HEAP_PROFILE_ALLOCATION_INTERVAL HEAP_PROFILE_DEALLOCATION_INTERVAL \
    HEAP_PROFILE_INUSE_INTERVAL HEAP_PROFILE_TIME_INTERVAL HEAPPROFILESIGNAL PERFTOOLS_VERBOSE; do
    for value in -1000 1e9 99999999999999999999 many; do
        export "$variable=$value"
        HEAPPROFILE=p run exit
        unset "$variable"
        [ "$(grep -c "^mallow: $variable: '$value' is not a whole number" "$work/log")" = 1 ] ||
            fail "$variable=$value: $(cat "$work/log")"
    done
done
HEAPPROFILE=$(printf 'x%.0s' $(seq 5000)) run exit
said "HEAPPROFILE has more than 4095 characters; ignored"
(
    cd "$work/run"
    HEAPPROFILE=p HEAPPROFILESIGNAL=9 "$work/profiler" exit 2>../log && fail "signal 9 is taken"
    grep -q 'Failed to set signal. Perhaps signal number 9 is invalid' ../log ||
        fail "signal 9: $(cat ../log)"
) || exit 1
echo "ok"
