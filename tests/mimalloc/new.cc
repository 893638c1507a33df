/* SPDX-License-Identifier: MIT
 * new.cc -- mimalloc's functions for C++: what happens without memory, containers, and the
 * program's own operators by <mimalloc-new-delete.h>.  Debian's library, named by TEST_REFERENCE,
 * is compiled as C and aborts where it should throw. */
#include <cstdint>
#include <map>
#include <memory>
#include <mimalloc-new-delete.h>
#include <mimalloc.h>
#include <string>
#include <vector>

#include "test.h"

static volatile std::size_t too_large = static_cast<std::size_t>(PTRDIFF_MAX) - 4096;
static volatile std::size_t half = SIZE_MAX / 2 + 1;
static int handler_calls;

/* Gives up at the third call. */
static void handler() {
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

template <class Function> static bool throws(Function function) {
	try {
		function();
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static void functions() {
	void *block = mi_new(10);
	block = mi_new_realloc(block, 100000);
	block = mi_new_reallocn(block, 10, 10);
	mi_free(block);
	mi_free(mi_new_n(10, 10));
	mi_free(mi_new_nothrow(10));
	void *aligned = mi_new_aligned(10, 512);
	CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 512 == 0);
	mi_free_aligned(aligned, 512);
	aligned = mi_new_aligned_nothrow(10, 512);
	CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 512 == 0);
	mi_free_size_aligned(aligned, 10, 512);
}

static void without_memory() {
	CHECK(throws([] { mi_free(mi_new(too_large)); }));
	CHECK(throws([] { mi_free(mi_new_aligned(too_large, 64)); }));
	CHECK(throws([] { mi_free(mi_new_n(half, 2)); }));
	void *block = mi_new(10);
	CHECK(throws([=] { mi_free(mi_new_realloc(block, too_large)); }));
	CHECK(throws([=] { mi_free(mi_new_reallocn(block, half, 2)); }));
	mi_free(block);
	CHECK(mi_new_nothrow(too_large) == nullptr);
	CHECK(mi_new_aligned_nothrow(too_large, 64) == nullptr);
	std::set_new_handler(handler);
	CHECK(throws([] { mi_free(mi_new(too_large)); }));
	CHECK_EQ(handler_calls, 3);
}

static void containers() {
	std::vector<int, mi_stl_allocator<int>> numbers;
	for (int i = 0; i < 100000; i++)
		numbers.push_back(i);
	CHECK(mi_is_in_heap_region(numbers.data()) && numbers[99999] == 99999);
	std::map<int, std::string, std::less<int>,
		 mi_stl_allocator<std::pair<const int, std::string>>>
		names;
	for (int i = 0; i < 1000; i++)
		names[i] = std::to_string(i);
	CHECK(names[700] == "700");
	CHECK(mi_stl_allocator<int>() == mi_stl_allocator<long>());
}

struct alignas(256) wide {
	char bytes[300];
};

static void operators() {
	std::unique_ptr<wide> one(new wide);
	std::unique_ptr<wide[]> many(new wide[3]);
	CHECK(mi_is_in_heap_region(many.get()));
	CHECK(mi_is_in_heap_region(one.get()));
	CHECK(reinterpret_cast<std::uintptr_t>(one.get()) % 256 == 0);
	delete new (std::nothrow) int;
}

static void operators_without_memory() {
	CHECK(throws([] { ::operator delete(::operator new(too_large)); }));
	CHECK(::operator new(too_large, std::nothrow) == nullptr);
}

int main() {
	RUN(functions);
	RUN(containers);
	RUN(operators);
	if (!std::getenv("TEST_REFERENCE")) {
		RUN(without_memory);
		RUN(operators_without_memory);
	}
}
