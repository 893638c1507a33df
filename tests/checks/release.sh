#!/bin/bash
# SPDX-License-Identifier: MIT
# release.sh SOURCE_DIR BUILD_DIR SUITE -- another release of Debian: a root folder of its minimal
# system, in which scripts/bootstrap.sh installs what the build needs, the library and the command
# are built by its compiler, and tests/system/guest.sh and some entries of ctest run.  The folder
# stays below the build (roots/SUITE), so that the next run only builds what has changed.  The
# kernel is the machine's own.  A failure names the test.  Exit status 77 (skipped) without root,
# mmdebstrap or network.
set -euo pipefail
source=$(realpath "$1")
build=$(realpath "$2")
suite=$3
root=$build/roots/$suite
log=$build/roots/$suite.log
cd "$source"

skip() {
    echo "skipped: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "it takes root to enter the root folder of another release"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
    skip "the kernel permits no namespaces"

# enter COMMAND...: in the root folder, with the sources at /mallow, which nothing may write to.
# All processes and mounts end with the command.
enter() {
    # shellcheck disable=SC2016 # expanded by the shell within
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        root=$1 source=$2
        shift 2
        mount --make-rprivate /
        # A mount point: the tests make namespaces of their own.
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/tmp"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        mount --bind "$source" "$root/mallow"
        mount -o remount,bind,ro "$root/mallow"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LC_ALL=C.UTF-8 MALLOW_BUILD=/build "$@"' enter "$root" "$source" "$@"
}

# The archive of packages that the machine's apt uses.
archive() {
    sed -nE 's/^(URIs: *|deb (\[.*\] )?)(https?:[^ ]*\/debian)\/?( .*|$)/\3/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed -n 1p
}

# make_root: the minimal system.  Another folder takes the name only when it is complete.
make_root() {
    local archive new=$root.new
    archive=$(archive || true) # without sources.list sed says so
    rm -rf "$new"
    mkdir -p "$build/roots"
    mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io \
        --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
        --dpkgopt=path-exclude='/usr/share/man/*' \
        "$suite" "$new" "${archive:-http://deb.debian.org/debian}" >"$log" 2>&1 || {
        rm -rf "$new"
        skip "mmdebstrap cannot make a root folder of $suite: $(tail -n 1 "$log")"
    }
    mkdir -p "$new/mallow" "$new/build"
    cp /etc/resolv.conf "$new/etc/" 2>/dev/null || true
    mv "$new" "$root"
}

[ -d "$root" ] || make_root

# The packages, anew when the list has changed.
if ! cmp -s scripts/packages.txt "$root/packages.txt"; then
    enter apt-get -qq update >"$log" 2>&1 ||
        skip "apt cannot reach the packages of $suite: $(tail -n 1 "$log")"
    enter /mallow/scripts/bootstrap.sh build release >"$log" 2>&1 || {
        tail -n 20 "$log"
        echo "scripts/bootstrap.sh fails in $suite"
        exit 1
    }
    cp scripts/packages.txt "$root/packages.txt"
fi

# ---- the build and the tests ----

# Programs that are demanding, the command end to end, and real programs.  An entry that needs what
# only `make check` installs is not here.
programs="corner_cases|deepbind|info|nothrow|own_api|exceptions|fork_kinds|atfork_handlers|spawn"
entries="^(program/($programs)|misuse/guarded"
entries+="|tool/(check|command_lines|leaks|named|redis|status)|real/(perl|redis))$"
least=18

# shellcheck disable=SC2016 # expanded by the shell within
enter bash -c '
    set -euo pipefail
    cd /mallow
    least=$1
    shift
    cmake --preset release -B /build
    tests/checks/test_targets.py /build "$least" "$@" >/build/test_targets
    # Scripts are given the folder of the build: they find the command and the libraries.
    xargs cmake --build /build --parallel 2 --target mallow mallow_command </build/test_targets' \
    build "$least" -R "$entries" >"$log" 2>&1 || {
    grep -E 'error|warning|FAILED|selected' "$log" | sed -n 1,40p || tail -n 40 "$log"
    echo "mallow does not build in $suite"
    exit 1
}
# shellcheck disable=SC2016
enter bash -c '. /mallow/scripts/lib/tests.sh; run_inner_tests /build "$@"' tests -R "$entries" || {
    echo "tests fail in $suite"
    exit 1
}
. scripts/lib/tests.sh
skipped=$(list_skipped "$root/build/tests.xml")
[ -z "$skipped" ] || skip "$suite: $skipped"
sed -n 's/^PRETTY_NAME=//p' "$root/etc/os-release"
