#!/bin/bash
# SPDX-License-Identifier: MIT
# bootstrap.sh JOB... -- installs the Debian packages the jobs need (scripts/packages.txt), as root
# or through sudo.  Says what it installs; silent when nothing is missing.
. "$(dirname "$0")/lib/common.sh"

LIST=$MALLOW_ROOT/scripts/packages.txt
LOG=${TMPDIR:-/tmp}/mallow-apt.$$.log

# Prints the packages of one job, "@job" taken in.
packages_of() {
    local word words known=
    while read -r words; do
        known=yes
        for word in $words; do
            case $word in
            @*) packages_of "${word#@}" ;;
            *) echo "$word" ;;
            esac
        done
    done < <(sed -n "s/^$1: *//p" "$LIST")
    [ -n "$known" ] || die "$1: no such job; the jobs are in $LIST"
}

# Prints those of the packages that are not installed.
missing_of() {
    dpkg-query -W -f='${Package} ${Status}\n' "$@" 2>/dev/null |
        sed -n 's/ install ok installed$//p' | sort -u >"$LOG" || true
    printf '%s\n' "$@" | sort -u | comm -23 - "$LOG"
    rm -f "$LOG"
}

# Some packages bring services (redis, postgresql).  Debian's own switch, policy-rc.d, keeps the
# installation from starting them; it is taken away again, and one of the machine's own is left
# alone.
install_packages() {
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        # shellcheck disable=SC2064 # the path is wanted as it is now
        trap "rm -f '$policy'" EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update && apt-get -qq -y --no-install-recommends install "$@"
}

if [ "${1:-}" = --install ]; then
    shift
    install_packages "$@"
    exit 0
fi

[ $# -gt 0 ] || die "usage: scripts/bootstrap.sh JOB..., the jobs being those of $LIST"
# Packages for another processor are downloaded, not installed.  Without them one check is skipped,
# and says so.
for job in "$@"; do
    if [ "$job" = check ] && command -v apt-get >/dev/null; then
        scripts/arm64_root.sh "$MALLOW_BUILD/arm64" || true
    fi
done
wanted=$(for job in "$@"; do packages_of "$job"; done | sort -u)
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # The programs may be there all the same: say what is expected and let the caller go on.
    say "no apt here; needed are the equivalents of Debian's $(echo "$wanted" | tr '\n' ' ')"
    exit 0
fi
# Word splitting is meant here and below: one word a package.
# shellcheck disable=SC2086
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0

say "installing Debian packages: $(echo "$missing" | tr '\n' ' ')"
as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        die "these packages are missing, and neither root nor sudo is at hand; install them first"
    as_root=(sudo)
fi
# shellcheck disable=SC2086
"${as_root[@]}" "$MALLOW_ROOT/scripts/bootstrap.sh" --install $missing >"$LOG" 2>&1 || {
    tail -n 20 "$LOG" >&2
    die "apt-get could not install them; its whole output is in $LOG"
}
rm -f "$LOG"
