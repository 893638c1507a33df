#!/bin/bash
# SPDX-License-Identifier: MIT
# packages_root.sh VERSION -- in a root folder of a minimal Debian (packages.sh): installs the
# packages that lie beside this script, uses them, and purges them.
set -euo pipefail
version=$1
here=$(dirname "$(realpath "$0")")
cd /tmp
export DEBIAN_FRONTEND=noninteractive

fail() {
    echo "FAILED: $*"
    exit 1
}
# The files of the system, without what apt and dpkg keep.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /debs \
        -o -path '/var/lib/dpkg' -o -path '/var/lib/apt' -o -path '/var/cache' \
        -o -path '/var/log' -o -path /etc/ld.so.cache \) -prune -o -print | LC_ALL=C sort
}

apt-get -qq update >apt 2>&1 || {
    echo "skipped: apt reaches no archive: $(tail -n 1 apt)"
    exit 0
}
# The libraries of the command first: what is left afterwards is mallow's alone.
names=(libmallow1 libmallow-dev mallow mallow-compat)
apt-get -qq -y --no-install-recommends install "$here"/*.deb >apt 2>&1 ||
    { cat apt; fail "apt does not install the packages"; }
dpkg --purge "${names[@]}" >apt 2>&1 || fail "purge: $(cat apt)"
files >before
apt-get -qq -y --no-install-recommends install "$here"/*.deb >apt 2>&1 || fail "$(cat apt)"
echo "ok installed"

[[ "$(mallow --version)" == *" $version"* ]] || fail "version: $(mallow --version)"
# A program that keeps memory and then waits.
cat >keeps.pl <<'END'
my @kept = map { "x" x 2000 . $_ } 1 .. 20000;
open(my $ready, ">", "ready"); close($ready);
sleep 100;
END
MALLOW_CONF=prof_sample:4096 LD_PRELOAD=libmallow.so.1 perl keeps.pl &
pid=$!
for ((i = 0; i < 600; i++)); do
    if [ -e ready ]; then break; fi
    sleep 0.1
done
grep -q "\<$pid\>" <<<"$(mallow ls)" || fail "ls: $(mallow ls)"
mallow report "$pid" >out || fail "report of a running process"
grep -q '^Total: .*MiB' out || fail "report: $(cat out)"
mallow leaks "$pid" >out 2>&1 || [ $? -eq 1 ] || fail "leaks: $(cat out)"
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
mallow report "$pid" >out || fail "report of a killed process"
grep -q '^Ended: .*killed' out || fail "report: $(cat out)"
mallow clean >/dev/null 2>&1 || true
echo "ok preloaded: ls, report, leaks"

# shellcheck disable=SC2016 # for perl
mallow run --exact -o run.pb.gz -- perl -e 'my @kept = map { "x" x 2000 . $_ } 1 .. 2000' 2>err ||
    fail "run: $(cat err)"
grep -q '^Total:' <<<"$(mallow report run.pb.gz)" || fail "report of a file"
jeprof=$(dpkg -L mallow | grep '/jeprof$')
grep -q perl <<<"$("$jeprof" --text run.pb.gz 2>/dev/null)" || fail "jeprof"
echo "ok run, a file, jeprof"

for kind in shared static; do
    [ "$("$here/linked-$kind")" = "$version 1" ] || fail "linked, $kind"
done
grep -q 'libmallow.so.1 => /' <<<"$(ldd "$here/linked-shared")" ||
    fail "$(ldd "$here/linked-shared")"
for allocator in jemalloc gperftools mimalloc lsan; do
    mallow run --as "$allocator" -- true 2>err || fail "run --as $allocator: $(cat err)"
done
compat=$(dirname "$(dpkg -L mallow-compat | grep '/libjemalloc.so.2$' | grep -v prefixed)")
for library in "$compat"/*.so.[0-9]; do
    LD_PRELOAD=$library cat /proc/self/maps >maps 2>err || fail "$library: $(cat err)"
    [ ! -s err ] || fail "$library: $(cat err)"
    [ "${library##*/}" = libprofiler.so.0 ] || grep -q '/libmallow[_a-z]*\.so\.1$' maps ||
        fail "$library: no libmallow"
done
echo "ok linked, and other allocators' names"

for page in mallow.1 mallow-report.1 mallow.7 mallow.3; do
    file=$(dpkg -L mallow libmallow-dev | grep "/$page.gz$") || fail "no $page"
    # Documents are left out of a minimal system that says so.
    [ ! -e "$file" ] || grep -q '^\.Sh NAME' <<<"$(zcat "$file")" || fail "$page"
done
bash -c '. /usr/share/bash-completion/completions/mallow && complete -p mallow' >/dev/null ||
    fail "bash completes nothing"
for file in zsh/vendor-completions/_mallow fish/vendor_completions.d/mallow.fish; do
    [ -s "/usr/share/$file" ] || fail "no $file"
done
echo "ok manual pages, completions"

dpkg --purge "${names[@]}" >apt 2>&1 || fail "purge: $(cat apt)"
files >after
diff before after >out || fail "purged, but left or lost: $(cat out)"
echo "ok purged"
