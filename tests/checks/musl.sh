#!/bin/bash
# SPDX-License-Identifier: MIT
# musl.sh BUILD_DIR SOURCE_DIR -- builds the library for musl (preset musl) and runs its units; then
# programs of tests/programs with it, preloaded; then one, preloaded and static, that the command
# reports on.  A failure names the test.  Exit status 77 (skipped) where musl-gcc is not installed.
set -uo pipefail
source=$(realpath "$2")
command -v musl-gcc >/dev/null || {
    echo "skipped: musl-gcc is not installed"
    exit 77
}
# shellcheck source=tests/tool/lib.bash
. "$source/tests/tool/lib.bash"
# shellcheck source=scripts/lib/tests.sh
. "$source/scripts/lib/tests.sh"
musl=$build/preset-musl

# ---- units ----

# Not those of processor time, of files on slow disks, and of the hardened heap: nothing in them is
# libc's.
units=(-R '^unit/(base|os|state|heap|prof|config)/' -E '(test_(cpu|slow_disk|hostile_.*)|_secure)$')
(
    cd "$source" && cmake --preset musl -B "$musl" &&
        tests/checks/test_targets.py "$musl" 70 "${units[@]}" >"$musl/test_targets" &&
        mapfile -t targets <"$musl/test_targets" &&
        cmake --build "$musl" --parallel 2 --target mallow mallow_static "${targets[@]}"
) >"$musl.log" 2>&1 || {
    grep -E 'error|warning|FAILED|selected' "$musl.log" | sed -n 1,40p || tail -n 40 "$musl.log"
    echo "the preset musl does not build"
    exit 1
}
run_inner_tests "$musl" "${units[@]}" || fail "units"

# ---- programs ----

library=$musl/lib/libmallow.so
compile() { # RESULT OPTION...
    local result=$1
    shift
    musl-gcc -idirafter "$musl/kernel-headers" -D_GNU_SOURCE -O1 -g -fno-builtin \
        -fasynchronous-unwind-tables -Wl,--eh-frame-hdr -I"$source/include" \
        -I"$source/compat/jemalloc/include" -o "$result" "$@" -pthread || fail "$result: cc"
}
# What has no reason below builds and runs.
#   address_reuse, leak_steps, fork_storm, fork_threads, own_api: minutes, or none of libc's
#   atfork_handlers, dlopen_close, leak_holders, log_frames, nothrow, one_block: take libraries and
#     arguments that tests/programs/CMakeLists.txt gives them
#   cpu_torture, deepbind, idle_memory, info, leak_check: use what only glibc has
#   fork_signals, signals: a signal that interrupted malloc is not seen through musl's libc
#   fork_stdio: musl's fork takes the lock of the list of streams after the handlers
#   hardened, setuid_probe, spawn: need the hardened library, rights, a shell that is musl's
for name in address_limit confined corner_cases fork_kinds huge_replace \
    key_destructors nallocx_steps thread_churn thread_cost; do
    [ -e "$source/tests/programs/$name.c" ] || fail "there is no tests/programs/$name.c"
    compile "$name" "$source/tests/programs/$name.c" "$library" -Wl,-rpath,"$musl/lib"
    env -S "LD_PRELOAD=$library" "./$name" >"$name.out" 2>&1 ||
        fail "program/$name: status $?: $(tail -n 3 "$name.out")"
    echo "ok $name"
done

# ---- the command ----

compile keeper "$source/tests/checks/musl_program.c"
compile keeper_static -static "$source/tests/checks/musl_program.c" "$musl/lib/libmallow.a"

look() { # PROGRAM [NAME=VALUE]
    mkfifo input
    env MALLOW_CONF=prof_sample:16384,prof_seed:7 ${2+"$2"} "./$1" compute <input >said \
        2>complaints &
    pid=$!
    started=("$pid")
    exec 3>input
    await 60 grep -q ready said || fail "$1 does not start: $(cat complaints)"
    try 0 "$mallow" report "$pid"
    says out keep_large
    says out keep_small
    try 1 "$mallow" leaks "$pid"
    says out '60 blocks leaked'
    says out lose
    try 0 "$mallow" cpu --for 1s --cpu-rate 200 "$pid"
    says out compute_on
    try 0 "$mallow" stop --wait 30 "$pid"
    try 0 "$mallow" start --wait 30 "$pid"
    exec 3>&-
    wait "$pid" || fail "$1 ends with status $?: $(cat complaints)"
    started=()
    [ ! -s complaints ] || fail "$1: $(cat complaints)"
    rm -f input
    echo "ok $1"
}
look keeper "LD_PRELOAD=$library"
look keeper_static
