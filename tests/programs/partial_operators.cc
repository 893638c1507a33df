/* SPDX-License-Identifier: MIT
 * partial_operators.cc -- a program that replaces some of C++'s operators new and delete: all other
 * forms must lead to its own ones, as libstdc++'s do ([new.delete] in the C++ standard).
 *
 * PART says which: 1 the plain pair, 2 the pair for arrays, 3 the pair with an alignment, 4 none
 * but the nothrow pair.  Each replaced form puts a header before the block, so that whoever frees
 * the block by another way frees the wrong pointer. */
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#ifdef PARTIAL_STATIC
#define must_be_mallow()
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%d: failed: %s\n", __LINE__, #condition);                 \
			_Exit(1);                                                                  \
		}                                                                                  \
	} while (0)
#else
#include "programs.h"
#endif

enum : uint64_t { MAGIC = 0x6d616c6c6f77 };
struct header {
	uint64_t magic, bytes;
	void *start;
	uint64_t unused;
};

static long made, freed;
static size_t refused = SIZE_MAX; /* the program's operators throw from so many bytes on */

static void *make(size_t bytes, size_t align) {
	if (bytes >= refused)
		throw std::bad_alloc();
	char *start = static_cast<char *>(malloc(bytes + sizeof(header) + align));
	MUST(start != nullptr);
	uintptr_t block = reinterpret_cast<uintptr_t>(start) + sizeof(header);
	block = (block + align - 1) & ~(align - 1);
	header *h = reinterpret_cast<header *>(block) - 1;
	*h = {MAGIC, bytes, start, 0};
	memset(reinterpret_cast<void *>(block), 0x77, bytes);
	made++;
	return reinterpret_cast<void *>(block);
}

static void drop(void *block) {
	if (!block)
		return;
	header *h = static_cast<header *>(block) - 1;
	MUST(h->magic == MAGIC);
	h->magic = 0;
	freed++;
	free(h->start);
}

#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#if PART == 1
void *operator new(size_t bytes) {
	return make(bytes, 16);
}
void operator delete(void *block) noexcept {
	drop(block);
}
#elif PART == 2
void *operator new[](size_t bytes) {
	return make(bytes, 16);
}
void operator delete[](void *block) noexcept {
	drop(block);
}
#elif PART == 3
void *operator new(size_t bytes, std::align_val_t align) {
	return make(bytes, static_cast<size_t>(align));
}
void operator delete(void *block, std::align_val_t) noexcept {
	drop(block);
}
#elif PART == 4
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
	void *block = malloc(bytes);
	made++;
	return block;
}
void operator delete(void *block, const std::nothrow_t &) noexcept {
	freed++;
	free(block);
}
#endif

/* Whether the form with these properties leads to a replaced one. */
static bool is_ours(bool array, bool aligned, bool nothrow) {
	if (PART == 1)
		return !aligned;
	if (PART == 2)
		return array && !aligned;
	if (PART == 3)
		return aligned;
	return !array && !aligned && nothrow;
}

/* Each form's counts. */
static void expect(long &before_made, long &before_freed, bool new_is_ours, bool delete_is_ours) {
	MUST(made == before_made + new_is_ours);
	MUST(freed == before_freed + delete_is_ours);
	before_made = made;
	before_freed = freed;
}

static void every_form(size_t bytes) {
	auto align = static_cast<std::align_val_t>(128);
	long m = made, f = freed;
	bool plain = is_ours(false, false, false), array = is_ours(true, false, false);
	bool aligned = is_ours(false, true, false), both = is_ours(true, true, false);
	::operator delete(::operator new(bytes));
	expect(m, f, plain, plain);
	::operator delete(::operator new(bytes), bytes);
	expect(m, f, plain, plain);
	::operator delete[](::operator new[](bytes));
	expect(m, f, array, array);
	::operator delete[](::operator new[](bytes), bytes);
	expect(m, f, array, array);
	::operator delete(::operator new(bytes, align), align);
	expect(m, f, aligned, aligned);
	::operator delete(::operator new(bytes, align), bytes, align);
	expect(m, f, aligned, aligned);
	::operator delete[](::operator new[](bytes, align), align);
	expect(m, f, both, both);
	::operator delete[](::operator new[](bytes, align), bytes, align);
	expect(m, f, both, both);
	bool silent = is_ours(false, false, true);
	::operator delete(::operator new(bytes, std::nothrow), std::nothrow);
	expect(m, f, silent, silent);
	::operator delete[](::operator new[](bytes, std::nothrow), std::nothrow);
	expect(m, f, array, array);
	::operator delete(::operator new(bytes, align, std::nothrow), align, std::nothrow);
	expect(m, f, aligned, aligned);
	::operator delete[](::operator new[](bytes, align, std::nothrow), align, std::nothrow);
	expect(m, f, both, both);
}

struct item {
	std::string text;
	char room[300];
	virtual ~item() = default;
};
struct alignas(256) wide {
	char bytes[256];
};

/* Code of libstdc++'s own, and what the compiler makes of new and delete. */
static void programs() {
	std::vector<std::string> texts;
	std::map<int, std::shared_ptr<item>> items;
	for (int i = 0; i < 2000; i++) {
		texts.emplace_back(static_cast<size_t>(i) % 700, 'x');
		items[i] = std::make_shared<item>();
		items[i]->text = texts.back();
		delete new item;
		delete[] new item[3];
		delete new wide;
		delete[] new wide[2];
		delete new (std::nothrow) long;
		delete[] new (std::nothrow) char[33];
	}
}

int main() {
	must_be_mallow();
	for (size_t bytes = 1; bytes < 3000000; bytes += bytes / 3 + 1)
		every_form(bytes);
	programs();
	MUST(made > 0);
	/* What the program's own form throws makes NULL of the nothrow form. */
	if (PART == 1 || PART == 3) {
		refused = 1000;
		auto align = static_cast<std::align_val_t>(128);
		if (PART == 1)
			MUST(::operator new(2000, std::nothrow) ==
			     nullptr && ::operator new[](2000, std::nothrow) == nullptr);
		else
			MUST(::operator new(2000, align, std::nothrow) ==
			     nullptr && ::operator new[](2000, align, std::nothrow) == nullptr);
	}
	printf("part %d: %ld made, %ld freed\n", PART, made, freed);
	return 0;
}
