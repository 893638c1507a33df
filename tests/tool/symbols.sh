#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols.sh BUILD_DIR -- names, lines and inlined frames of a C++ program built by gcc and by
# clang, with its debug information inside, in a file beside it, and gone.
set -uo pipefail
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export XDG_CACHE_HOME=$work/cache
failures=0
left_out=
leave_out() {
    echo "skipped: $*"
    left_out=yes
}

# expect REPORT_ARGUMENTS PATTERN: the report has a line that matches.
expect() {
    # shellcheck disable=SC2086 # options are words
    "$build/bin/mallow" report $1 >report.txt 2>notes.txt ||
        echo "mallow report $1: exit status not 0"
    if ! grep -qE -- "$2" report.txt; then
        echo "$name: mallow report $1: no line matches '$2' in"
        cat report.txt notes.txt
        failures=$((failures + 1))
    fi
}

profile() {
    if ! "$build/bin/mallow" run --exact -o "$work/p.pb.gz" -- "$@" >log 2>&1; then
        echo "mallow run $*: exit status not 0"
        cat log
        failures=$((failures + 1))
    fi
}

cat >prog.cc <<'END'
#include <cstdlib>
#include <vector>
namespace shop {
template <typename T> struct Cache {
	std::vector<T *> items;
	__attribute__((noinline)) void grow(int count) {
		for (int i = 0; i < count; i++)
			items.push_back(static_cast<T *>(malloc(1000))); // line 8
	}
};
} // namespace shop
static inline __attribute__((always_inline)) void *inner(size_t n) {
	return malloc(n); // line 13
}
__attribute__((noinline)) static void outer(size_t n) {
	static void *volatile sink;
	sink = inner(n); // line 17
}
int main() {
	shop::Cache<long> cache;
	cache.grow(100);
	outer(500000);
	return 0;
}
END

for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || {
        leave_out "$compiler is not installed"
        continue
    }
    name="$compiler"
    "$compiler" -g -O1 -fno-builtin prog.cc -o prog || exit 1
    profile ./prog
    expect p.pb.gz 'shop::Cache<long>::grow .*prog\.cc:8'
    expect p.pb.gz ' inner .*prog\.cc:13'
    expect "--lines p.pb.gz" ' outer .*prog\.cc:17'
    expect "--symbolize=demangle=full p.pb.gz" ' shop::Cache<long>::grow\(int\)'
    expect "--symbolize=demangle=templates p.pb.gz" ' shop::Cache<long>::grow '
    expect "--symbolize=demangle=default p.pb.gz" ' shop::Cache::grow '
    expect "--symbolize=demangle=none p.pb.gz" ' _ZN4shop5CacheIlE4growEi'

    # The debug information in a file of its own: by .gnu_debuglink.
    name="$compiler, debug file"
    objcopy --only-keep-debug prog prog.debug
    outer=$(nm prog.debug | sed -n 's/^0*\([0-9a-f]*\) t .*outer.*/\1/p')
    strip --strip-all prog
    objcopy --add-gnu-debuglink=prog.debug prog
    profile ./prog
    expect p.pb.gz 'shop::Cache<long>::grow .*prog\.cc:8'
    expect "--lines p.pb.gz" ' outer .*prog\.cc:17'

    # The same in .debug beside it, and below another root.
    mkdir .debug && mv prog.debug .debug/prog.debug && rm -r cache
    profile ./prog
    expect "--lines p.pb.gz" ' outer .*prog\.cc:17'
    folder=root/usr/lib/debug$work
    mkdir -p "$folder" "root$work" && mv .debug/prog.debug "$folder/prog.debug" &&
        rm -r cache .debug
    profile ./prog
    cp prog "root$work/prog"
    expect "--lines --sysroot=$work/root p.pb.gz" ' outer .*prog\.cc:17'
    mv "$folder/prog.debug" prog.debug && rm -r root
    profile ./prog

    # The debug information is gone, but was read in an earlier run.
    name="$compiler, stripped, symbols kept"
    rm prog.debug
    profile ./prog
    expect "--lines p.pb.gz" ' outer .*prog\.cc:17'

    # Nothing left but the file and the starts of functions: one name for a function in all views,
    # also from the cache.  A written profile leaves such functions without a name.
    name="$compiler, stripped"
    rm -r cache
    profile ./prog
    for view in report top tree traces collapsed top; do
        "$build/bin/mallow" "$view" p.pb.gz >view.txt 2>notes.txt
        if ! grep -q "prog@0x$outer\b" view.txt || grep -q 'prog+0x\|\[prog\]' view.txt; then
            echo "$name: mallow $view: not one name prog@0x$outer: $(grep prog view.txt)"
            failures=$((failures + 1))
        fi
    done
    "$build/bin/mallow" proto -o written.pb.gz p.pb.gz
    "$build/bin/mallow" raw written.pb.gz >view.txt 2>notes.txt
    if grep -q 'prog@0x' view.txt; then
        echo "$name: a profile has names of ranges"
        failures=$((failures + 1))
    fi
    # Nobody was asked, and no HTTP client loaded for that, nor what decodes instructions.
    rm -rf cache
    LD_DEBUG=files LD_DEBUG_OUTPUT=$work/loaded "$build/bin/mallow" report p.pb.gz >report.txt \
        2>notes.txt
    if ! grep -q 'file=libdw' loaded.* ||
        grep -qE 'file=lib(debuginfod|curl|capstone|sqlite)' loaded.*; then
        echo "$name: loaded: $(grep -ho 'file=lib[a-z-]*' loaded.* | sort -u | tr '\n' ' ')"
        failures=$((failures + 1))
    fi
done

# Thousands of addresses in dozens of units, each unit in two places of the file: several threads
# read them, and every name and line is the one that belongs to it: "f_1_2 unit1.c:2".
name="many units"
for unit in $(seq 40); do
    for function in $(seq 60); do
        where=text.late
        [ $((function % 2)) = 0 ] || where=text.early
        head="__attribute__((noinline, section(\".$where\"))) int f_${unit}_$function(int i)"
        echo "$head { return i * $function; }"
    done >"unit$unit.c"
done
echo 'int main(void) { return 0; }' >units.c
gcc -g -c units.c unit[0-9]*.c && gcc -no-pie -o units units.o unit[0-9]*.o || exit 1
nm units | sed -n 's/^\([0-9a-f]*\) [tT] \(f_[0-9_]*\)$/\1/p' >addresses
{
    echo "heap profile: 1: 1 [1: 1] @ heapprofile"
    while read -r address; do
        printf '1: 1 [1: 1] @ %#x\n' $((0x$address + 1))
    done <addresses
    printf '\nMAPPED_LIBRARIES:\n00401000-00500000 r-xp 00001000 00:00 0 %s/units\n' "$work"
} >units.heap
"$build/bin/mallow" raw units.heap >raw.txt 2>notes.txt
right=$(grep -cE ' f_([0-9]+)_([0-9]+) [^ ]*unit\1\.c:\2 ' raw.txt)
if [ "$(wc -l <addresses)" != 2400 ] || [ "$right" != 2400 ]; then
    echo "$name: $right of 2400 lines are right: $(grep ' f_' raw.txt | sed -n 1,3p)"
    failures=$((failures + 1))
fi

# On a terminal the note names the package that has the symbols.
mkdir packages
cat >packages/dpkg-query <<'END'
#!/bin/sh
echo >>asked
[ "$2" = "$PWD/bare" ] && echo "demo-server:amd64: $2"
END
chmod +x packages/dpkg-query
gcc -no-pie -s -o bare units.o unit[0-9]*.o || exit 1
sed 's,/units$,/bare,' units.heap >bare.heap
PATH=$work/packages:$PATH script -qec "$build/bin/mallow top bare.heap bare.heap" /dev/null >out
advice='install demo-server-dbgsym, or pass --symbolize=debuginfod'
if ! grep -q "no symbols for .* code addresses in bare.*: $advice" out ||
    [ "$(wc -l <asked)" != 1 ]; then
    echo "$name: the note is not as it should be, or asked for $(wc -l <asked) times: $(head -3 \
        out)"
    failures=$((failures + 1))
fi
if ! grep -q 'bare.*: install debug packages (on Debian their names end in -dbgsym), or' \
    <<<"$("$build/bin/mallow" top bare.heap 2>&1 >/dev/null)"; then
    echo "$name: without a terminal the note is another"
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] || exit 1
echo "symbols: all as expected"
[ -z "$left_out" ] || exit 77
