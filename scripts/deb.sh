#!/bin/bash
# SPDX-License-Identifier: MIT
# deb.sh [ARCHITECTURE] -- builds Debian's packages libmallow1, libmallow-dev, mallow and
# mallow-compat from the sources that `make dist` packs; debian/ describes them.  They are for this
# machine's release of Debian, and for its architecture unless another one is named, which takes
# Debian's cross compiler and the libraries for that architecture.  The packages are in
# build/packages/.
. "$(dirname "$0")/lib/common.sh"

[ $# -le 1 ] || die "usage: scripts/deb.sh [ARCHITECTURE]"
scripts/bootstrap.sh packages
command -v dpkg-buildpackage >/dev/null ||
    die "dpkg-buildpackage is not installed; install Debian's package dpkg-dev"
version=$(mallow_version)
folder=$MALLOW_BUILD/packages
tree=$folder/mallow-$version
log=$folder/build.log
mkdir -p "$folder"
rm -rf "$tree"
scripts/dist.sh "$folder/source" >/dev/null
tar -xf "$folder/source/mallow-$version.tar.xz" -C "$folder"
cat >"$tree/debian/changelog" <<END
mallow ($version) unstable; urgency=medium

  * Version $version.  CHANGELOG.md says what a user notices.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -Rud "@$(source_epoch)")
END

arguments=(--build=binary --no-sign --jobs="$(job_count)")
[ $# -eq 0 ] || arguments+=(--host-arch "$1")
rm -f "$folder"/*.deb "$folder"/*.changes "$folder"/*.buildinfo
say "building Debian packages (the output is in ${log#"$MALLOW_ROOT"/})"
(cd "$tree" && dpkg-buildpackage "${arguments[@]}") >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "dpkg-buildpackage failed; its whole output is in $log"
}
rm -rf "$tree"
ls "$folder"/*.deb
