#!/bin/bash
# SPDX-License-Identifier: MIT
# tarball.sh [ARCHITECTURE] -- writes build/dist/mallow-VERSION-linux-PROCESSOR.tar.xz: libraries,
# command, man pages and completions, which run where they are unpacked, with glibc 2.29 and later
# (the libraries with 2.17 and later).  The command is linked with the archives of Debian 11's
# libraries: nothing has to be installed.  This machine's compiler makes it, with Debian 11's
# packages unpacked in build/oldest-ARCHITECTURE/root; nothing is installed and no script of a
# package runs.  ARCHITECTURE is amd64 or arm64; this machine's unless it is named.
. "$(dirname "$0")/lib/common.sh"

architecture=${1:-$(dpkg --print-architecture)}
case $architecture in
amd64) processor=x86_64 ;;
arm64) processor=aarch64 ;;
*) die "usage: scripts/tarball.sh [amd64|arm64]" ;;
esac
suite=bullseye
[ "$architecture" = "$(dpkg --print-architecture)" ] || scripts/bootstrap.sh portable
scripts/bootstrap.sh build
folder=$MALLOW_BUILD/oldest-$architecture
mkdir -p "$folder"
folder=$(realpath "$folder")
log=$folder/log
read -ra packages <<<"$(sed -n 's/^oldest: *//p' scripts/packages.txt | tr '\n' ' ')"

# apt COMMAND ARGUMENT...: with lists and a state of its own.
apt() {
    local command=$1
    shift
    "$command" -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State="$folder/state" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

download() {
    local archive package link
    archive=$(sed -nE 's/^(URIs: *|deb (\[.*\] )?)(https?:[^ ]*\/debian)\/?( .*|$)/\3/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed -n 1p || true)
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" || return
    : >"$folder/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "${archive:-http://deb.debian.org/debian} $suite main" >"$folder/sources.list"
    apt apt-get update || return
    apt apt-get --yes --no-install-recommends --download-only install "${packages[@]}" || return
    rm -rf "$folder/root"
    mkdir -p "$folder/root"
    for package in "$folder"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder/root" --exclude ./usr/share ||
            return
    done
    rm -rf "$folder/cache"
    # Links that begin at the root lead out of the folder.
    find "$folder/root" -type l -lname '/*' | while read -r link; do
        ln -sfnr "$folder/root$(readlink "$link")" "$link"
    done
}

if [ "$(cat "$folder/packages" 2>/dev/null)" != "${packages[*]}" ]; then
    say "downloading packages of Debian 11 for $architecture"
    download >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        die "the packages cannot be downloaded; the whole output is in $log"
    }
    echo "${packages[*]}" >"$folder/packages"
fi

say "building for $processor (the output is in $log)"
export MALLOW_OLDEST_ROOT=$folder/root
{
    cmake -G Ninja -S . -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_TOOLCHAIN_FILE="$MALLOW_ROOT/cmake/oldest_$processor.cmake" \
        -DMALLOW_TESTS=OFF -DMALLOW_STATIC_LIBRARIES=ON &&
        cmake --build "$folder/build" --parallel "$(job_count)"
} >"$log" 2>&1 || {
    grep -E -A 5 'error|FAILED' "$log" | sed -n 1,40p >&2
    die "the build failed; its whole output is in $log"
}
name=mallow-$(mallow_version)-linux-$processor
mkdir -p "$MALLOW_BUILD/dist"
rm -rf "$folder/tree"
DESTDIR=$folder/tree cmake --install "$folder/build" --strip --prefix "/$name" >>"$log"
tar -C "$folder/tree" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w \
    --mtime="@$(source_epoch)" -cf - "$name" | xz -3 >"$MALLOW_BUILD/dist/$name.tar.xz"
say "build/dist/$name.tar.xz: $(stat -c %s "$MALLOW_BUILD/dist/$name.tar.xz") bytes"
