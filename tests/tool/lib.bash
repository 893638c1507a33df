# SPDX-License-Identifier: MIT
# lib.bash -- what the scripts of this folder share: `source` it first.
# Each script is given the build folder, works in a folder of its own, and ends with status 1 at the
# first check that fails.
set -uo pipefail
build=${1:?usage: $0 BUILD_DIR}
# A /dev/shm of their own, where the kernel lets us: other programs of the same user leave state files there, and
# the library cleans up by their number and size.
if [ -z "${MALLOW_TEST_OWN_SHM:-}" ] && unshare --mount mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    export MALLOW_TEST_OWN_SHM=1
    # shellcheck disable=SC2016 # expanded by the shell within
    exec unshare --mount bash -c 'mount -t tmpfs tmpfs /dev/shm && exec bash "$@"' bash "$0" "$@"
fi
# shellcheck disable=SC2034 # for the scripts
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$build" && pwd)
# shellcheck disable=SC2034
mallow=$build/bin/mallow
work=$(mktemp -d "${TMPDIR:-/tmp}/mallow-tool.XXXXXX")
started=()
cleanup() {
    local pid
    for pid in ${started[@]+"${started[@]}"}; do
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        rm -f "/dev/shm/mallow-$(id -u)/$pid".*
    done
    if [ -n "$terminals" ]; then terminal kill-server 2>/dev/null; fi
    rm -rf "$work"
}
# A terminal of this test's own, one for each $shell where a test has several; it ends with the test, however that ends.
terminals=
terminal() {
    terminals=some
    tmux -L "mallow-$$${shell:+-$shell}" -f /dev/null "$@"
}
trap cleanup EXIT
# Symbols kept from other runs would hide what is tested here.
export XDG_CACHE_HOME=$work
cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    for file in out err; do
        [ -s "$work/$file" ] && head -40 "$work/$file" | sed "s/^/  $file: /" >&2
    done
    exit 1
}

# try STATUS COMMAND...: runs it with output in ./out and ./err and checks its exit status.
try() {
    local want=$1 got
    shift
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" = "$want" ] || fail "$*: status $got, not $want"
}

# says FILE PATTERN: an extended regular expression is in ./out or ./err.
says() {
    grep -Eq -- "$2" "$work/$1" || fail "std$1 does not say '$2'"
}

says_not() {
    ! grep -Eq -- "$2" "$work/$1" || fail "std$1 says '$2'"
}

# One line on stderr, and nothing else.
one_line_error() {
    [ "$(wc -l <"$work/err")" = 1 ] || fail "not one line of error"
    grep -q '^mallow: [^A-Z]' "$work/err" || fail "the error does not begin with 'mallow: ' in lower case"
}

ok() {
    echo "ok $*"
}

# in_chromium PAGE SCRIPT: the page with the script at its end, in a browser; the script leaves what it saw in the
# attribute data-log of the body, of which the last must be good, as must the others.
in_chromium() {
    local last
    command -v chromium >/dev/null || return 0
    { cat "$1" && echo "<script>" && cat "$here/$2" && echo "</script>"; } >driven.html
    timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium" \
        --window-size=1200,700 --virtual-time-budget=3000 --dump-dom "file://$work/driven.html" >dom 2>/dev/null
    grep -o 'data-log="[^"]*"' dom >out
    last=$(sed -n 's/^\(check\|say\)("\([^"]*\)".*/\2/p' "$here/$2" | tail -1)
    says out "ok $last"
    says_not out FAILED
}

# build_calls: ./calls, two functions that allocate, without inlined calls (jeprof knows those from
# line tables only).
build_calls() {
    cat >calls.c <<'EOF'
#include <stdlib.h>
void *small(void) { return malloc(1000); }
void *large(void) { return malloc(100000); }
int main(void) {
	int left = 0;
	for (int i = 0; i < 5000; i++)
		left += small() != NULL && (i % 10 != 0 || large() != NULL);
	return left == 0;
}
EOF
    cc -g -O0 -o calls calls.c || fail "calls.c does not compile"
}
