#!/bin/bash
# SPDX-License-Identifier: MIT
# bootstrap_test.sh SOURCE_DIR -- scripts/bootstrap.sh on releases that number packages otherwise,
# lack some, or have no lists yet.  apt, dpkg and sudo are scripts of the test, which install
# nothing.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

mkdir -p "$work/scripts/lib" "$work/bin"
cp "$source/scripts/bootstrap.sh" "$work/scripts/"
cp "$source/scripts/lib/common.sh" "$work/scripts/lib/"
cat >"$work/scripts/packages.txt" <<'END'
build: make g++
test: @build libthing*-dev server
END
cd "$work"

# installed: names; available: names that the lists have after an update; listed: those now.
cat >bin/dpkg-query <<'END'
#!/bin/bash
sed 's/$/ install ok installed/' installed
END
cat >bin/apt-cache <<'END'
#!/bin/bash
command=$1
shift
case $command in
pkgnames) grep "^$1" listed ;;
madison) for name in "$@"; do grep -xF -e "$name" listed | sed 's/$/ | 1.0 | an archive/'; done ;;
esac
exit 0
END
cat >bin/sudo <<'END'
#!/bin/bash
echo "$*" >>calls
case $* in
*update*) cp available listed ;;
esac
END
printf '#!/bin/bash\nexit 1\n' >bin/apt-get
printf '#!/bin/bash\necho 1000\n' >bin/id
chmod +x bin/*

# expect NAME CALLS PATTERN: what is called as root, and a line of the output.
expect() {
    local said calls
    : >calls
    said=$(PATH=$PWD/bin:$PATH scripts/bootstrap.sh test 2>&1) || said="status $?: $said"
    calls=$(sed "s|$PWD/scripts/||; s|apt-get -qq||" calls | paste -sd ';')
    if [ "$calls" != "$2" ] || ! grep -qE -- "$3" <<<"$said"; then
        echo "$1: calls '$calls', not '$2'; says: $said"
        failed=1
    fi
}

printf '%s\n' make g++ libthing7-dev server >installed
printf '%s\n' coreutils make g++ libthing7-dev libthing10-dev libthing10 server >available
cp available listed
expect "all is there" "" '^$'
printf '%s\n' make g++ server >installed
expect "the newest of two" " update;bootstrap.sh --install libthing10-dev" \
    '^== installing Debian packages: libthing\*-dev $'
: >listed
expect "no lists" " update;bootstrap.sh --install libthing10-dev" '^== installing'
printf '%s\n' coreutils make g++ >available
cp available listed
printf '%s\n' make >installed
expect "some are not to be had" " update;bootstrap.sh --install g++" \
    '^== this release does not have libthing\*-dev server; what needs them is skipped$'
printf '%s\n' make g++ >installed
expect "nothing to install" "" '^== this release does not have libthing\*-dev server;'
: >listed
expect "no lists, nothing to install" " update" \
    '^== this release does not have libthing\*-dev server;'
exit "$failed"
