#!/bin/bash
# SPDX-License-Identifier: MIT
# arm64_root.sh FOLDER -- downloads the packages of scripts/packages.txt's job arm64, and unpacks
# them in FOLDER/root, a kernel in FOLDER/kernel, one with pages of 16 KiB in FOLDER/kernel-16k: for
# check/aarch64-system.  apt works with lists and a state of its own in FOLDER; nothing is
# installed, and no script of a package runs.  Needs no root.  Silent when the packages of the list
# are there.
. "$(dirname "$0")/lib/common.sh"

[ $# -eq 1 ] || die "usage: scripts/arm64_root.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
log=$folder/apt.log
read -ra packages <<<"$(sed -n 's/^arm64: *//p' scripts/packages.txt | tr '\n' ' ')"
kernels=$(sed -n 's/^arm64-kernel: *//p' scripts/packages.txt)
large=$(sed -n 's/^arm64-kernel-16k: *//p' scripts/packages.txt)
wanted="${packages[*]} $kernels $large"
[ "$(cat "$folder/packages" 2>/dev/null)" != "$wanted" ] || exit 0

# The machine's own sources, for another processor.
apt() {
    local command=$1
    shift
    "$command" -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
        -o Dir::State="$folder/state" -o Dir::State::status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

# What the linker follows: links that begin at the root lead out of the folder.
relative_links() {
    local link target
    find "$1/usr/lib/aarch64-linux-gnu" -maxdepth 1 -type l -lname '/*' | while read -r link; do
        target=$1$(readlink "$link")
        ln -sfnr "$target" "$link"
    done
}

unpack() {
    dpkg-deb --fsys-tarfile "$1" | tar -x -C "$folder/root" --exclude ./usr/share
}

download() {
    local name package
    mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial" || return
    : >"$folder/status"
    apt apt-get update || return
    apt apt-get --yes --no-install-recommends --download-only install "${packages[@]}" || return
    # The package that depends on the newest kernel is not enough, and its other dependencies,
    # which make an initramfs, are not needed.
    name=$(apt apt-cache depends "$kernels" |
        sed -n 's/.*Depends: \(linux-image[^: ]*\).*/\1/p' | sed -n 1p)
    rm -rf "$folder/kernel" "$folder/root"
    mkdir -p "$folder/kernel" "$folder/root"
    (cd "$folder/kernel" && apt apt-get download "${name:-$kernels}") || return
    dpkg-deb --extract "$folder"/kernel/*.deb "$folder/kernel" || return
    for package in "$folder"/cache/archives/*.deb; do
        unpack "$package" || return
    done
    rm -rf "$folder"/kernel/*.deb "$folder/kernel/lib" "$folder/kernel/usr" "$folder/cache"
    relative_links "$folder/root"
}

# The kernel with larger pages comes from a later release, whose lists lie beside the machine's.
download_large() {
    local lists=$folder/later name file
    rm -rf "$folder/kernel-16k"
    mkdir -p "$lists"/{parts,state/lists/partial,cache/archives/partial} "$folder/kernel-16k"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ ! -f "$file" ] || sed "s/$(. /etc/os-release && echo "$VERSION_CODENAME")/trixie/g" \
            "$file" >"$lists/parts/${file##*/}"
    done
    later() {
        apt "$1" -o Dir::State="$lists/state" -o Dir::Cache="$lists/cache" \
            -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$lists/parts" "${@:2}"
    }
    later apt-get update || return
    name=$(later apt-cache depends "$large" |
        sed -n 's/.*Depends: \(linux-image[^: ]*\).*/\1/p' | sed -n 1p)
    (cd "$folder/kernel-16k" && later apt-get download "${name:-$large}") || return
    dpkg-deb --extract "$folder"/kernel-16k/*.deb "$folder/kernel-16k" || return
    rm -rf "$folder"/kernel-16k/*.deb "$folder/kernel-16k/lib" "$folder/kernel-16k/usr" "$lists"
}

say "downloading Debian packages for arm64"
download >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    die "the packages cannot be downloaded; the whole output is in $log"
}
download_large >>"$log" 2>&1 || {
    rm -rf "$folder/kernel-16k"
    echo "all but the kernel with pages of 16 KiB" >"$folder/packages"
    tail -n 5 "$log" >&2
    die "the kernel with pages of 16 KiB cannot be downloaded; the whole output is in $log"
}
echo "$wanted" >"$folder/packages"
