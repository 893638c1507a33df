#!/bin/bash
# SPDX-License-Identifier: MIT
# split_debug.sh BUILD_DIR -- each address of a program has the same functions, files and lines,
# whether its debug information lies in the program, in .dwo files, or in a package (.dwp) of them,
# whose sections may be compressed, and which may also be cut or damaged.
source "$(dirname "$0")/lib.bash"
needs python3

# Inlined functions of a header, in functions that have several ranges, an own section, a cold part.
mkdir sub
cat >sub/pool.h <<'END'
#include <stdlib.h>
namespace pool {
template <typename T> struct Keeper {
	T *kept[64];
	__attribute__((always_inline)) T *add(unsigned i, size_t bytes) {
		return kept[i % 64] = static_cast<T *>(malloc(bytes));
	}
	__attribute__((noinline)) void fill(unsigned count) {
		for (unsigned i = 0; i < count; i++)
			add(i, 100 * i);
	}
};
} // namespace pool
static inline __attribute__((always_inline)) void *in_header(size_t bytes) {
	return calloc(1, bytes);
}
END
cat >one.cc <<'END'
#include "sub/pool.h"
extern void *other(unsigned i);
pool::Keeper<char> keeper;
__attribute__((noinline, cold)) static void *rare(unsigned i) {
	return keeper.add(i, i + 1);
}
int main(int argc, char **) {
	keeper.fill(100);
	for (int i = 0; i < 10; i++)
		if (other(unsigned(i)) == nullptr && __builtin_expect(argc > 5, 0)) {
			if (rare(3) == nullptr)
				return keeper.add(7, 8) == nullptr;
			abort();
		}
	return 0;
}
END
cat >two.cc <<'END'
#include "sub/pool.h"
pool::Keeper<long> longs;
static inline __attribute__((always_inline)) void *middle(unsigned i) {
	return i % 2 == 0 ? in_header(i) : longs.add(i, 3);
}
void *other(unsigned i);
void *other(unsigned i) {
	void *p = middle(i);
	longs.fill(i);
	return p;
}
__attribute__((section(".text.apart"))) void *apart(unsigned i);
void *apart(unsigned i) { return middle(i + 1); }
END

# all_names PROGRAM: `out` has the functions, files and lines of each second address of the code.
all_names() {
    local start size
    read -r start size < <(objdump -h "$1" | awk '$2 == ".text" { print $4, $3 }')
    {
        echo "heap profile: 1: 1 [1: 1] @ heapprofile"
        for ((at = 0; at < 0x$size; at += 2)); do
            printf '1: 1 [1: 1] @ %#x\n' $((0x$start + at + 1))
        done
        printf '\nMAPPED_LIBRARIES:\n00401000-00500000 r-xp 00001000 00:00 0 %s/%s\n' "$work" "$1"
    } >all.heap
    rm -rf cache
    XDG_CACHE_HOME=$work/cache try 0 "$mallow" raw all.heap
    sed -i -n '/^Locations/,/^Mappings/p' out
}

# same NAME: `out` is as `wanted`.
same() {
    cmp -s wanted out || {
        diff wanted out >difference
        sed -n 1,20p difference
        fail "$1: other names or lines"
    }
    [ ! -s err ] || fail "$1: a message"
}

# pack PACKER NAME: the package NAME of the .dwo files.  False: this packer cannot do it.  With
# DWARF 5 binutils 2.40 leaves out units and sections, and LLVM 14 does not end on gcc's files.
pack() {
    rm -f "$2"
    case $1-$compiler-$version in
    dwp-*-4 | llvm-dwp-*-4 | llvm-dwp-clang++-5)
        command -v "$1" >/dev/null && timeout 20 "$1" ./*.dwo -o "$2" >/dev/null 2>&1
        ;;
    own-*-5) "$here/pack_dwp.py" "$2" ./*.dwo ;;
    *) false ;;
    esac
}

# compile [OPTION...]: ./prog
compile() {
    "$compiler" -O2 "-gdwarf-$version" "$@" -fno-pie -ffunction-sections -c one.cc two.cc &&
        "$compiler" -no-pie -o prog one.o two.o && return
    fail "$name: one.cc does not compile"
}

# same_packed: the sections of the package, and of the program, may be compressed in each way.
same_packed() {
    cp prog plain
    mkdir away && mv ./*.dwo away
    for way in zlib-gabi zlib-gnu; do
        objcopy --compress-debug-sections=$way package.dwp prog.dwp
        [ "$(stat -c %s prog.dwp)" -lt "$(stat -c %s package.dwp)" ] ||
            fail "objcopy compresses nothing by $way"
        all_names prog
        same "$name, package compressed by $way"
        objcopy --compress-debug-sections=$way plain prog
        all_names prog
        same "$name, package and program compressed by $way"
        mv plain prog && cp prog plain
    done
    rm prog.dwp plain
    mv away/* . && rmdir away
}

packages=0
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    for version in 4 5; do
        name="$compiler, DWARF $version"
        compile
        all_names prog
        grep -q 'in_header.*sub/pool\.h:15' out || fail "$name: no names at all"
        mv out wanted
        compile -gsplit-dwarf
        all_names prog
        same "$name, .dwo files"
        for packer in dwp llvm-dwp own; do
            pack $packer prog.dwp || continue
            mkdir away && mv ./*.dwo away
            all_names prog
            mv away/* . && rmdir away
            same "$name, $packer"
            mv prog.dwp package.dwp
            packages=$((packages + 1))
        done
        same_packed
        mkdir away && mv ./*.dwo away
        all_names prog
        cmp -s wanted out && fail "$name: the names are known without .dwo files"
        says err 'prog: its debug information is in (one|two)\.dwo .* \(\.dwp\)'
        # Names without the inlined functions were kept; the package counts nevertheless.
        cp package.dwp prog.dwp
        XDG_CACHE_HOME=$work/cache try 0 "$mallow" raw all.heap
        sed -i -n '/^Locations/,/^Mappings/p' out
        same "$name, names kept from a run without the package"
        # The program is known by a link.
        mkdir links && ln -s ../prog links/prog
        sed -i 's|/prog$|/links/prog|' all.heap
        XDG_CACHE_HOME=$work/other try 0 "$mallow" raw all.heap
        sed -i -n '/^Locations/,/^Mappings/p' out
        same "$name, by a link"
        sed -i 's|/links/prog$|/prog|' all.heap
        rm -r links other
        objcopy --compress-debug-sections=zlib-gabi package.dwp compressed.dwp
        for seed in $(seq 12); do
            from=package.dwp
            [ $((seed % 3)) -gt 0 ] || from=compressed.dwp
            python3 - "$seed" $from prog.dwp <<'END'
import random, sys
random.seed(int(sys.argv[1]))
data = bytearray(open(sys.argv[2], "rb").read())
# The index and the table of sections stand at the end.
for _ in range(random.choice((1, 3, 30))):
    data[random.choice((random.randrange(len(data)), -random.randrange(1, 900)))] = random.choice(
        (0, 1, 255, random.randrange(256)))
if random.random() < 0.3:
    del data[random.randrange(len(data)):]
open(sys.argv[3], "wb").write(data)
END
            rm -rf cache
            XDG_CACHE_HOME=$work/cache try 0 "$mallow" raw all.heap
            says_not err 'signal|crash|ended|damaged'
        done
        mv away/* . && rmdir away
        rm prog.dwp package.dwp compressed.dwp
    done
    ok "$compiler"
done
[ "$packages" -gt 0 ] || fail "no package was made"
ok "$packages packages"
