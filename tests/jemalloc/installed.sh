#!/bin/bash
# SPDX-License-Identifier: MIT
# installed.sh BUILD_DIR SOURCE_DIR -- what a packager installs into a DESTDIR is enough for
# programs in C, C++ and Rust that were written for jemalloc: they find it, compile, link and run,
# as their own build systems would have them.
. "$(dirname "$0")/lib.sh"
need cc c++ cmake
root=$work/root$work/prefix
DESTDIR=$work/root cmake --install "$build" --prefix "$work/prefix" >"$work/install" 2>&1 ||
    fail "$(tail -n 3 "$work/install")"
# As a package manager does: DESTDIR is gone when the files are used.
mv "$root" "$work/prefix"
compat=$work/prefix/lib/mallow/compat
grep -rlF "$work/root" "$work/prefix" >"$work/leftover" &&
    fail "DESTDIR is in $(head -n 1 "$work/leftover")"

cat >"$work/client.c" <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

const char *malloc_conf = "prof:true,lg_prof_sample:0,prof_final:false";

#define CHECK(condition) \
	do { if (!(condition)) { printf("failed: %s\n", #condition); return 1; } } while (0)

int main(void) {
	unsigned arena;
	size_t length = sizeof arena, mib[4], parts = 4, size;
	uint64_t epoch = 1, allocated;
	CHECK(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
	char *block = mallocx(1000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE |
		MALLOCX_ZERO | MALLOCX_LG_ALIGN(8));
	CHECK(block && (uintptr_t)block % 256 == 0 && block[999] == 0);
	CHECK(nallocx(1000, MALLOCX_LG_ALIGN(8)) == sallocx(block, 0) &&
		malloc_usable_size(block) >= 1000);
	block = rallocx(strcpy(block, "text"), 100000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
	CHECK(block && strcmp(block, "text") == 0);
	sdallocx(block, 100000, MALLOCX_TCACHE_NONE);
	CHECK(mallctlnametomib("arenas.bin.0.size", mib, &parts) == 0 && parts == 4);
	length = sizeof size;
	mib[2] = 3;
	CHECK(mallctlbymib(mib, parts, &size, &length, NULL, 0) == 0 && size >= 32);
	void *volatile kept = malloc(100);
	CHECK(kept && mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
	length = sizeof allocated;
	CHECK(mallctl("stats.allocated", &allocated, &length, NULL, 0) == 0 && allocated >= 100);
	const char *dump = "client.heap";
	CHECK(mallctl("prof.dump", NULL, NULL, (void *)&dump, sizeof dump) == 0);
	puts("fine");
	return 0;
}
END
cat >"$work/client.cc" <<'END'
#include <jemalloc/jemalloc.h>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(128) Line { char bytes[128]; };

template <typename T> struct Allocator { /* as in folly's or Velox's code */
	using value_type = T;
	Allocator() = default;
	template <typename U> Allocator(const Allocator<U> &) {}
	T *allocate(std::size_t n)
	{
		return static_cast<T *>(mallocx(n * sizeof(T), MALLOCX_ALIGN(64)));
	}
	void deallocate(T *p, std::size_t n) { sdallocx(p, n * sizeof(T), MALLOCX_ALIGN(64)); }
	bool operator==(const Allocator &) const { return true; }
	bool operator!=(const Allocator &) const { return false; }
};

int main() {
	std::uint64_t *allocated = nullptr, *freed = nullptr;
	std::size_t length = sizeof allocated;
	if (mallctl("thread.allocatedp", &allocated, &length, nullptr, 0) ||
		mallctl("thread.deallocatedp", &freed, &length, nullptr, 0))
		return std::puts("no pointers"), 1;
	std::uint64_t before = *static_cast<volatile std::uint64_t *>(allocated),
		gone = *static_cast<volatile std::uint64_t *>(freed);
	auto lines = std::make_unique<Line[]>(10);
	if (reinterpret_cast<std::uintptr_t>(lines.get()) % 128)
		return std::puts("not aligned"), 1;
	std::map<std::string, std::vector<int, Allocator<int>>> map;
	std::thread([&] {
		for (int i = 0; i < 1000; i++)
			map["key " + std::to_string(i)].assign(static_cast<std::size_t>(i), i);
	}).join();
	if (map["key 999"].at(998) != 999 || new (std::nothrow) char[std::size_t(1) << 60])
		return std::puts("wrong"), 1;
	map.clear();
	lines.reset();
	if (*static_cast<volatile std::uint64_t *>(allocated) == before ||
		*static_cast<volatile std::uint64_t *>(freed) - gone < 1280)
		return std::puts("the counters stand still"), 1;
	std::puts("fine");
}
END
runs() {
    local name=$1
    shift
    (cd "$work" && "$@") >"$work/out" 2>&1 || fail "$name: $(cat "$work/out")"
    [ "$(cat "$work/out")" = fine ] || fail "$name: $(cat "$work/out")"
}
export PKG_CONFIG_PATH=$compat/pkgconfig LD_LIBRARY_PATH=$compat
read -ra flags < <(pkg-config --cflags --libs jemalloc)
cc -Wall -Werror "$work/client.c" "${flags[@]}" -o "$work/client" && runs "C by pkg-config" ./client
grep -q ^heap_v2/ <<<"$(head -n 1 "$work/client.heap")" || fail "no dump"
config=$compat/bin/jemalloc-config
read -ra flags < <(echo "-I$("$config" --includedir) -L$("$config" \
    --libdir) -Wl,-rpath,$("$config" --libdir) -ljemalloc $("$config" --libs)")
c++ -std=c++17 -Wall -Werror "$work/client.cc" "${flags[@]}" -o "$work/client++"
LD_LIBRARY_PATH='' runs "C++ by jemalloc-config" ./client++
cc "$work/client.c" -I"$work/prefix/include" -L"$work/prefix/lib" -Wl,-rpath,"$work/prefix/lib" \
    -lmallow -o "$work/client"
LD_LIBRARY_PATH='' runs "C with -lmallow" ./client
ok "C and C++, by pkg-config, jemalloc-config and -lmallow, from an installed tree"

# As the crates tikv-jemallocator and -ctl do, with their prefix.
PATH=$PATH:${HOME:-}/.cargo/bin:/usr/local/bin:/usr/local/cargo/bin
command -v cargo >/dev/null || {
    echo "no cargo: Rust is left out"
    exit 0
}
mkdir -p "$work/crate/src"
cat >"$work/crate/Cargo.toml" <<'END'
[package]
name = "client"
version = "0.1.0"
edition = "2018"
build = "build.rs"
END
cat >"$work/crate/build.rs" <<END
fn main() {
    println!("cargo:rustc-link-search=native=$work/prefix/lib/mallow/prefixed/_rjem_");
    println!("cargo:rustc-link-lib=static=jemalloc");
}
END
cat >"$work/crate/src/main.rs" <<'END'
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::null_mut;

extern "C" {
    fn _rjem_mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_sdallocx(block: *mut c_void, size: usize, flags: c_int);
    fn _rjem_mallctl(name: *const c_char, old: *mut c_void, length: *mut usize, new: *mut c_void,
                     new_length: usize) -> c_int;
}

struct Jemalloc;
fn flags(layout: &Layout) -> c_int {
    layout.align().trailing_zeros() as c_int
}
unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _rjem_mallocx(layout.size(), flags(&layout)) as *mut u8
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        _rjem_mallocx(layout.size(), flags(&layout) | 0x40) as *mut u8
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        _rjem_sdallocx(block as *mut c_void, layout.size(), flags(&layout))
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        _rjem_rallocx(block as *mut c_void, size, flags(&layout)) as *mut u8
    }
}
#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

pub struct Conf(*const u8);
unsafe impl Sync for Conf {}
#[no_mangle]
pub static _rjem_malloc_conf: Conf = Conf(b"prof:true,lg_prof_sample:12\0" as *const u8);

fn read(name: &[u8]) -> u64 {
    let (mut value, mut length) = (0u64, 8usize);
    let result = unsafe {
        _rjem_mallctl(name.as_ptr() as *const c_char, &mut value as *mut u64 as *mut c_void,
            &mut length, null_mut(), 0)
    };
    assert_eq!(result, 0, "{}", String::from_utf8_lossy(name));
    value
}

fn refresh() {
    let mut epoch = 1u64;
    let new = &mut epoch as *mut u64 as *mut c_void;
    let epoch = b"epoch\0".as_ptr() as *const c_char;
    assert_eq!(unsafe { _rjem_mallctl(epoch, null_mut(), null_mut(), new, 8) }, 0);
}

fn main() {
    assert_eq!(read(b"opt.lg_prof_sample\0"), 12);
    refresh();
    let before = read(b"stats.allocated\0");
    let made: Vec<_> = (0..4u64)
        .map(|t| std::thread::spawn(move || (0..50_000u64)
            .map(|i| (i * 4 + t, vec![t as u8; 100]))
            .collect::<BTreeMap<_, _>>()))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(made.iter().all(|map| map.len() == 50_000 && map.values().all(|v| v.len() == 100)));
    refresh();
    let grown = read(b"stats.allocated\0") - before;
    assert!(grown > 4 * 50_000 * 112, "{}", grown);
    drop(made);
    refresh();
    assert!(read(b"stats.allocated\0") < before + grown / 4);
    let path = b"client.heap\0".as_ptr();
    let new = &path as *const *const u8 as *mut c_void;
    let dump = b"prof.dump\0".as_ptr() as *const c_char;
    assert_eq!(unsafe { _rjem_mallctl(dump, null_mut(), null_mut(), new, 8) }, 0);
    println!("fine");
}
END
rm -f "$work/client.heap"
(cd "$work/crate" && CARGO_HOME=$work/cargo cargo build --offline --quiet) >"$work/cargo.out" \
    2>&1 || fail "cargo: $(tail -n 20 "$work/cargo.out")"
LD_LIBRARY_PATH='' runs "Rust" ./crate/target/debug/client
grep -q ^heap_v2/ "$work/client.heap" || fail "no dump by the Rust program"
ok "Rust with _rjem_, as its global allocator, from an installed tree"
