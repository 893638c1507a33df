#!/bin/bash
# SPDX-License-Identifier: MIT
# packages.sh SOURCE_DIR BUILD_DIR -- `make dist` packs sources that build without git, node and
# network: `make deb` runs in the unpacked tar ball, without optimisation, which is quicker.  The
# packages pass lintian without errors and warnings.  Then they are installed in a root folder of a
# minimal Debian of this release, used there (packages_root.sh), and purged: nothing is left.
# Exit status 77 (skipped) names what is not there.
set -euo pipefail
source=$(realpath "$1")
build=$(realpath "$2")
work=$build/packages-check
log=$work/log
unset DEB_HOST_ARCH DEB_BUILD_OPTIONS SOURCE_DATE_EPOCH

skip() {
    echo "skipped: $*"
    exit 77
}
fail() {
    echo "FAILED: $*"
    exit 1
}

for program in dpkg-buildpackage dh lintian; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
missing=$(cd "$source" && dpkg-checkbuilddeps debian/control 2>&1) || skip "${missing##*error: }"
clean() {
    # The root folder has files of other users.
    rm -rf "$work"
}
clean
trap clean EXIT
mkdir -p "$work/bin" "$work/tree"

# ---- a tar ball, and packages of it ----

"$source/scripts/dist.sh" "$work/dist" >"$log" || fail "make dist: $(tail -n 3 "$log")"
tar -xf "$work"/dist/mallow-*.tar.xz -C "$work/tree" --strip-components=1
[ ! -e "$work/tree/.git" ] || fail "the tar ball holds .git"
# Whoever calls one of these is named.
for program in git node npm npx curl wget; do
    printf '#!/bin/sh\necho "%s $*" >>%s/called\nexit 1\n' "$program" "$work" >"$work/bin/$program"
done
chmod +x "$work"/bin/*
alone=()
unshare --net true 2>/dev/null && alone=(unshare --net)
status=0
(cd "$work/tree" && PATH=$work/bin:$PATH MALLOW_BUILD=$work/tree/build DEB_CFLAGS_STRIP=-g \
    DEB_BUILD_OPTIONS="noopt noautodbgsym" "${alone[@]}" scripts/deb.sh) >"$log" 2>&1 || status=$?
[ ! -e "$work/called" ] || fail "the build called $(head -n 3 "$work/called")"
[ "$status" = 0 ] || {
    grep -E 'error:|FAILED|dpkg-gensymbols|dh_' "$work/tree/build/packages/build.log" |
        sed -n 1,20p || true
    fail "make deb: $(tail -n 20 "$log")"
}
packages=$work/tree/build/packages
names=(libmallow1 libmallow-dev mallow mallow-compat)
version=$(sed -n 's/^project(mallow VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
architecture=$(dpkg --print-architecture)
mkdir "$work/debs"
for name in "${names[@]}"; do
    cp "$packages/${name}_${version}_$architecture.deb" "$work/debs/" || fail "no package $name"
done

lintian --allow-root --fail-on error,warning "$packages"/*.changes >"$log" 2>&1 || {
    cat "$log"
    fail "lintian finds faults"
}
echo "ok packages ${names[*]}, version $version, which lintian accepts"

# ---- in a minimal Debian ----

[ "$(id -u)" = 0 ] || skip "it takes root to enter a root folder: the packages were not installed"
command -v mmdebstrap >/dev/null ||
    skip "mmdebstrap is not installed: the packages were not installed"
unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
    skip "the kernel permits no namespaces: the packages were not installed"
# The archive that the machine's apt uses, and its release.
archive=$(sed -nE 's/^(URIs: *|deb (\[.*\] )?)(https?:[^ ]*\/debian)\/?( .*|$)/\3/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed -n 1p || true)
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
root=$work/root
mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io "$suite" "$root" \
    "${archive:-http://deb.debian.org/debian}" >"$log" 2>&1 ||
    skip "mmdebstrap cannot make a root folder of $suite: $(tail -n 1 "$log")"
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mkdir -p "$root/debs"
cp "$work"/debs/*.deb "$source/tests/checks/packages_root.sh" "$root/debs/"

# What the machine's compiler links with the installed files, run in there.
cat >"$work/linked.c" <<'END'
#include <mallow/mallow.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
	void *block = malloc(1 << 20);
	printf("%s %d\n", mallow_version(), block != NULL);
	free(block);
	return 0;
}
END
dpkg-deb -x "$work/debs/libmallow1_${version}_$architecture.deb" "$work/unpacked"
dpkg-deb -x "$work/debs/libmallow-dev_${version}_$architecture.deb" "$work/unpacked"
multiarch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
export PKG_CONFIG_PATH=$work/unpacked/usr/lib/$multiarch/pkgconfig
for kind in shared static; do
    option=
    [ "$kind" = shared ] || option=--static
    read -ra flags <<<"$(pkg-config $option --cflags --libs mallow)"
    cc $option "$work/linked.c" -o "$root/debs/linked-$kind" "${flags[@]}" ||
        fail "a program is not linked, $kind: ${flags[*]}"
done

# shellcheck disable=SC2016 # expanded by the shell within
unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
        LC_ALL=C.UTF-8 /debs/packages_root.sh "$2"' enter "$root" "$version" >"$log" 2>&1 ||
    { cat "$log"; fail "the installed packages"; }
grep -q '^skipped: ' "$log" && skip "$(sed -n 's/^skipped: //p' "$log")"
grep '^ok' "$log"
