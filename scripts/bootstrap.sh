#!/bin/bash
# SPDX-License-Identifier: MIT
# bootstrap.sh JOB... -- installs the Debian packages the jobs need (scripts/packages.txt), as root
# or through sudo.  Says what it installs and what the release does not have; silent when nothing is
# missing.
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

# matching WORD: those names of standard input that the word matches.
matching() {
    local name
    while read -r name; do
        # shellcheck disable=SC2053 # a word is a pattern
        [[ $name != $1 ]] || echo "$name"
    done
}

# Prints those of the words that no installed package matches.
missing_of() {
    local word
    dpkg-query -W -f='${Package} ${Status}\n' "$@" 2>/dev/null |
        sed -n 's/ install ok installed$//p' | sort -u >"$LOG" || true
    for word in "$@"; do
        [ -n "$(matching "$word" <"$LOG")" ] || echo "$word"
    done
    rm -f "$LOG"
}

# Prints "WORD PACKAGE" for each of the words that apt's lists have a package for; if several match,
# the newest.  madison knows real packages only, none that another package "provides".
available_of() {
    local word names=()
    for word in "$@"; do
        case $word in
        *\**) mapfile -t -O "${#names[@]}" names < <(apt-cache pkgnames "${word%%\**}") ;;
        *) names+=("$word") ;;
        esac
    done
    apt-cache madison "${names[@]}" 2>/dev/null | awk '{ print $1 }' | sort -Vu >"$LOG" || true
    for word in "$@"; do
        matching "$word" <"$LOG" | tail -n 1 | sed "s/^/$word /"
    done
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
    apt-get -qq -y --no-install-recommends install "$@"
}

# as_root ARGUMENT...: apt-get's output goes to a log, which remains when it fails.
as_root() {
    local sudo=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            die "packages are missing, and neither root nor sudo is at hand; install them first"
        sudo=(sudo)
    fi
    "${sudo[@]}" "$@" >"$LOG" 2>&1 || {
        tail -n 20 "$LOG" >&2
        die "apt-get could not install them; its whole output is in $LOG"
    }
    rm -f "$LOG"
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

# shellcheck disable=SC2086
found=$(available_of $missing)
# Apt's lists may be old, or not there at all.
if [ -n "$found" ] || [ -z "$(apt-cache madison coreutils 2>/dev/null)" ]; then
    say "installing Debian packages: $(echo "$missing" | tr '\n' ' ')"
    as_root apt-get -qq update
    # shellcheck disable=SC2086
    found=$(available_of $missing)
    # shellcheck disable=SC2046
    [ -z "$found" ] ||
        as_root "$MALLOW_ROOT/scripts/bootstrap.sh" --install $(cut -d ' ' -f 2 <<<"$found")
fi
lacking=$(comm -23 <(echo "$missing" | sort) <(cut -d ' ' -f 1 <<<"$found" | sort))
[ -z "$lacking" ] ||
    say "this release does not have $(echo "$lacking" | paste -sd ' '); what needs them is skipped"
