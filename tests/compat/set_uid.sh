#!/bin/bash
# SPDX-License-Identifier: MIT
# set_uid.sh BUILD_DIR SOURCE_DIR -- a set-uid program with each library of mallow's: no variable of
# its caller's has an effect, no program of the caller's runs, and no file is written over. Files
# that other users planted in a shared folder are refused by programs of any kind.
. "$(dirname "$0")/../real/lib.sh"
source=$2
need cc setpriv
[ "$(id -u)" = 0 ] || {
    echo "only root makes set-uid programs for another user"
    exit 77
}
cd "$work" || fail "cd"
caller=65534
chmod 755 .
# The caller reaches the libraries.  They are those with the code: the ones with others' names find
# these by $ORIGIN, which the loader does not follow in set-uid programs.
mkdir lib
cp -a "$build"/lib/. lib/
chmod -R a+rX lib
mkdir -m 1777 shared
mount_options=$(findmnt -nT . -o OPTIONS 2>/dev/null || true)
case ,$mount_options, in *,nosuid,*)
    echo "set-uid programs have no effect in $work"
    exit 77
    ;;
esac
# needs LIBRARY...: ./program uses these, set-uid
needs() {
    local option=() library
    for library; do
        option+=("$work/lib/$library")
    done
    cc -O1 -g -fno-builtin -Wl,--no-as-needed -o program "$source/tests/compat/set_uid.c" \
        "${option[@]}" -Wl,-rpath,"$work/lib:$work/lib/mallow/compat" ||
        fail "the program was not linked: $*"
    chmod 4755 program
}
# as_caller VARIABLE...: what ./program prints is in ./out and ./err, its status in $status
as_caller() {
    status=0
    setpriv --reuid=$caller --regid=$caller --clear-groups env "$@" ./program >out 2>err ||
        status=$?
    grep -q "^user $caller, effective 0$" out || fail "$*: not set-uid: $(cat out err)"
}
unharmed() {
    [ "$(cat victim)" = kept ] || fail "$1: wrote over a file of root's: $(head -c 300 victim)"
    [ -z "$(find shared -type f -uid 0)" ] || fail "$1: wrote $(find shared -type f)"
    [ ! -e ran ] || fail "$1: a program of the caller's ran with root's rights"
}
echo kept >victim
chmod 600 victim
printf '#!/bin/sh\nid -u >%s/ran\n' "$work" >pprof
chmod 755 pprof

needs libmallow.so mallow/compat/liblsan_mallow.so
# A message would quote a file that the caller cannot read.
as_caller LSAN_OPTIONS="suppressions=$work/victim" PPROF_PATH="$work/pprof" PATH="$work:$PATH"
[ "$status$(cat err)" = 0 ] || fail "LSAN_OPTIONS: status $status, $(cat err)"
as_caller LSAN_OPTIONS="print_suppressions=1:verbosity=2:nonsense=1:log_path=$work/shared/log"
[ "$status$(cat err)" = 0 ] || fail "LSAN_OPTIONS: status $status, $(cat err)"
unharmed "liblsan"
echo "ok LeakSanitizer's variables"

needs libmallow.so mallow/compat/libgperftools_mallow.so
ln -sf "$work/victim" shared/p.0001.heap
as_caller HEAPPROFILE="$work/shared/p" HEAPCHECK=normal HEAP_CHECK_DUMP_DIRECTORY="$work/shared" \
    PPROF_PATH="$work/pprof" PATH="$work:$PATH" MALLOCSTATS=2
[ "$status" = 0 ] || fail "HEAPCHECK: status $status"
grep -q 'ignoring HEAPPROFILE because' err || fail "HEAPPROFILE: no word: $(cat err)"
grep -q 'ignoring HEAPCHECK because' err || fail "HEAPCHECK: no word: $(cat err)"
unharmed "libtcmalloc"
needs libmallow_secure.so mallow/compat/libgperftools_debug_mallow.so
as_caller TCMALLOC_TRACE=1 TCMALLOC_TRACE_FILE="$work/shared/trace" HEAPPROFILE="$work/shared/p"
unharmed "libtcmalloc_debug"
needs libmallow.so mallow/compat/libprofiler.so.0
as_caller CPUPROFILE="$work/shared/cpu" CPUPROFILE_FREQUENCY=4000
unharmed "libprofiler"
needs libmallow.so
as_caller MIMALLOC_SHOW_STATS=1 MIMALLOC_VERBOSE=1
[ ! -s err ] || fail "mimalloc's variables: $(cat err)"
as_caller MALLOC_CONF="stats_print:true,prof_final:true,prof_prefix:$work/shared/m" \
    MALLOW_CONF=prof_sample:1 XDG_RUNTIME_DIR="$work/shared"
[ ! -s err ] || fail "mallow's variables: $(cat err)"
unharmed "libmallow"
echo "ok variables of the other libraries"

# No rights are needed for these: the program is root's, and the folder everybody's.
rm -f shared/*
run=(env LD_LIBRARY_PATH="$work/lib/mallow/compat:$work/lib" PATH="$work/none:$PATH" bash -c)
chmod 755 program
# planted LIBRARY PATH VARIABLE...: PATH (%p: the process) is a link of another user's to a file of
# root's; the program says so and leaves it.
planted() {
    local library=$1 path=$2
    shift 2
    # The path is expanded by the shell whose process the program becomes.
    "${run[@]}" "ln -s $work/victim $path && chown -h $caller $path && exec env $* \
        LD_PRELOAD=$work/lib/mallow/compat/$library $work/program 300" >out 2>err || true
    grep -q '^user 0, effective 0$' out || fail "$library: $(cat out err)"
    unharmed "$library"
    rm -f shared/*
}
cc -O1 -g -fno-builtin -o program "$source/tests/compat/set_uid.c" || fail "cc"
# shellcheck disable=SC2016 # the process's number
{
    planted liblsan.so.0 "$work/shared/log.\$\$" LSAN_OPTIONS=log_path="$work/shared/log"
    grep -q "Can't open file" err || fail "liblsan does not say why: $(cat err)"
    planted libtcmalloc.so.4 "$work/shared/program.\$\$._main_-end.heap" HEAPCHECK=normal \
        HEAP_CHECK_DUMP_DIRECTORY="$work/shared"
    grep -q 'Could not write pprof profile to' err || fail "HEAPCHECK: no reason: $(cat err)"
    planted libtcmalloc.so.4 "$work/shared/p.0001.heap" HEAPPROFILE="$work/shared/p" \
        HEAP_PROFILE_CLEANUP=false
    grep -q 'Failed dumping heap profile' err || fail "HEAPPROFILE: no reason: $(cat err)"
    planted libprofiler.so.0 "$work/shared/cpu" CPUPROFILE="$work/shared/cpu"
    planted libtcmalloc_debug.so.4 "$work/shared/trace" TCMALLOC_TRACE=1 \
        TCMALLOC_TRACE_FILE="$work/shared/trace"
    grep -q 'cannot open' err || fail "TCMALLOC_TRACE_FILE: no reason: $(cat err)"
}
echo "ok links in shared folders"
