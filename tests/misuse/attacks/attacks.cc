/* SPDX-License-Identifier: MIT
 * attacks.cc [CASE SIZE] -- one wrong use of memory, as an attacker or a bug makes it, in a program
 * that otherwise goes on as programs do: it frees its blocks and allocates some more.  Without
 * arguments it prints all cases and sizes, one a line.  Status 0: the misuse went unseen; 3: freed
 * or foreign data was read; 4: what the case needs did not come about.  Ended by a signal: caught.
 * count.py runs them. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

namespace {

constexpr int NEIGHBOURS = 40, MIDDLE = 20, REUSES = 2000;
constexpr char SECRET = 0x5e;
volatile char sink;
char *blocks[NEIGHBOURS];
size_t size;

/* The compiler must not see that a pointer is stale. */
template <typename T> T *hide(T *pointer) {
	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}

/* Blocks side by side; the misuse is one of the middle one's. */
char *setup() {
	for (auto &block : blocks) {
		block = static_cast<char *>(malloc(size));
		memset(block, SECRET, size);
	}
	return hide(blocks[MIDDLE]);
}

void reuse() {
	char *kept[64] = {};
	int count = size > 100000 ? 100 : REUSES;
	for (int i = 0; i < count; i++) {
		char **slot = &kept[i % 64];
		free(*slot);
		*slot = static_cast<char *>(malloc(size));
		(*slot)[0] = 1;
	}
	for (char *block : kept)
		free(block);
}

/* All blocks but the middle one, then others of the size. */
void finish(bool middle_is_live) {
	if (middle_is_live)
		free(hide(blocks[MIDDLE]));
	for (int i = 0; i < NEIGHBOURS; i++)
		if (i != MIDDLE)
			free(hide(blocks[i]));
	reuse();
}

void write_at(ptrdiff_t offset, size_t bytes, int value) {
	char *at = setup() + offset;
	for (size_t i = 0; i < bytes; i++)
		static_cast<volatile char *>(at)[i] = static_cast<char>(value);
	finish(true);
}

void overflow_1() {
	write_at(static_cast<ptrdiff_t>(size), 1, 'A');
}
void overflow_nul() {
	write_at(static_cast<ptrdiff_t>(size), 1, 0);
}
void overflow_8() {
	write_at(static_cast<ptrdiff_t>(size), 8, 'A');
}
void overflow_64() {
	write_at(static_cast<ptrdiff_t>(size), 64, 'A');
}
void overflow_skip_8() {
	write_at(static_cast<ptrdiff_t>(size) + 8, 8, 'A');
}
void overflow_skip_16() {
	write_at(static_cast<ptrdiff_t>(size) + 16, 8, 'A');
}
void overflow_page() {
	write_at(static_cast<ptrdiff_t>(size), 8192, 'A');
}
void underflow_1() {
	write_at(-1, 1, 'A');
}
void underflow_8() {
	write_at(-8, 8, 'A');
}
void underflow_16() {
	write_at(-16, 16, 'A');
}

void write_after_free(size_t offset) {
	char *block = setup();
	free(block);
	static_cast<volatile char *>(hide(block))[offset] ^= 0x41;
	finish(false);
}

void write_after_free_0() {
	write_after_free(0);
}
void write_after_free_8() {
	write_after_free(8);
}
void write_after_free_16() {
	write_after_free(16);
}
void write_after_free_middle() {
	write_after_free(size / 2);
}

/* Freed, the size handed out again a few times, and written through the stale pointer then. */
void write_after_free_late() {
	char *block = setup();
	free(block);
	for (int i = 0; i < 3; i++)
		free(malloc(size));
	static_cast<volatile char *>(hide(block))[0] ^= 0x41;
	finish(false);
}

void read_after_free() {
	char *block = setup();
	free(block);
	char *stale = hide(block);
	size_t found = 0;
	for (size_t i = 0; i < size; i++)
		found += static_cast<volatile char *>(stale)[i] == SECRET;
	if (found > size / 4)
		exit(3);
	finish(false);
	/* Nothing was read, nothing has to be seen. */
	abort();
}

/* What a new block shows of the one freed before. */
void uninitialised_read() {
	setup();
	for (char *block : blocks)
		free(hide(block));
	for (int i = 0; i < NEIGHBOURS; i++) {
		char *block = static_cast<char *>(malloc(size));
		size_t found = 0;
		for (size_t at = 0; at < size; at++)
			found += static_cast<volatile char *>(block)[at] == SECRET;
		if (found > size / 4)
			exit(3);
	}
	abort();
}

/* The block comes back to the next who asks. */
void reused_at_once() {
	char *block = setup();
	free(block);
	for (int i = 0; i < 3; i++)
		if (malloc(size) == hide(block))
			exit(3);
	abort();
}

void double_free_at_once() {
	char *block = setup();
	free(block);
	free(hide(block));
	finish(false);
}

void double_free_delayed() {
	char *block = setup();
	free(block);
	free(hide(blocks[0]));
	free(hide(blocks[NEIGHBOURS - 1]));
	blocks[0] = blocks[NEIGHBOURS - 1] = nullptr;
	free(hide(block));
	finish(false);
}

void free_inside(size_t offset) {
	free(hide(setup() + offset));
	finish(false);
}

void free_inside_16() {
	free_inside(16);
}
void free_unaligned() {
	free_inside(1);
}
void free_inside_middle() {
	free_inside(size / 2 & ~static_cast<size_t>(15));
}

void realloc_freed() {
	char *block = setup();
	free(block);
	sink = *static_cast<char *>(realloc(hide(block), size * 2));
	finish(false);
}

void usable_size_freed() {
	char *block = setup();
	free(block);
	sink = static_cast<char>(malloc_usable_size(hide(block)));
	finish(false);
}

void free_static() {
	static char block[64] __attribute__((aligned(64)));
	free(hide(block));
}

void free_stack() {
	char block[64] __attribute__((aligned(64)));
	free(hide(static_cast<char *>(block)));
}

void free_wild() {
	free(hide(reinterpret_cast<char *>(uintptr_t{0x414141414140})));
}

void sized_delete_wrong() {
	operator delete(hide(static_cast<char *>(operator new(size))), size * 2);
	reuse();
}

void sized_delete_less() {
	operator delete(hide(static_cast<char *>(operator new(size))), size - 1);
	reuse();
}

void delete_of_array() {
	delete hide(new char[size]);
	reuse();
}

void delete_array_of_one() {
	struct one {
		char bytes[128];
	};
	::operator delete[](hide(static_cast<void *>(new one)));
	reuse();
}

typedef struct attack {
	const char *name;
	void (*run)();
	unsigned sizes; /* bit i: sizes[i] */
} attack_t;

constexpr size_t SIZES[] = {40, 128, 1000, 3000, 20000, 1 << 20, 8 << 20};
constexpr unsigned ALL = 0x7f, ONE = 2, SMALL = 0x1f;
constexpr attack_t ATTACKS[] = {
	{"overflow_1", overflow_1, ALL},
	{"overflow_nul", overflow_nul, ALL},
	{"overflow_8", overflow_8, ALL},
	{"overflow_64", overflow_64, ALL},
	{"overflow_skip_8", overflow_skip_8, ALL},
	{"overflow_skip_16", overflow_skip_16, ALL},
	{"overflow_page", overflow_page, 0x60},
	{"underflow_1", underflow_1, ALL},
	{"underflow_8", underflow_8, ALL},
	{"underflow_16", underflow_16, ALL},
	{"write_after_free_0", write_after_free_0, ALL},
	{"write_after_free_8", write_after_free_8, ALL},
	{"write_after_free_16", write_after_free_16, ALL},
	{"write_after_free_middle", write_after_free_middle, ALL},
	{"write_after_free_late", write_after_free_late, ALL},
	{"read_after_free", read_after_free, ALL},
	{"uninitialised_read", uninitialised_read, ALL},
	{"reused_at_once", reused_at_once, ALL},
	{"double_free_at_once", double_free_at_once, ALL},
	{"double_free_delayed", double_free_delayed, ALL},
	{"free_inside_16", free_inside_16, ALL},
	{"free_inside_middle", free_inside_middle, ALL},
	{"free_unaligned", free_unaligned, ALL},
	{"realloc_freed", realloc_freed, ALL},
	{"usable_size_freed", usable_size_freed, ALL},
	{"free_static", free_static, ONE},
	{"free_stack", free_stack, ONE},
	{"free_wild", free_wild, ONE},
	{"sized_delete_wrong", sized_delete_wrong, ALL},
	{"sized_delete_less", sized_delete_less, SMALL},
	{"delete_of_array", delete_of_array, ALL},
	{"delete_array_of_one", delete_array_of_one, ONE},
};

} // namespace

int main(int argc, char **argv) {
	for (const attack_t &attack : ATTACKS) {
		for (unsigned i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
			if (argc < 3 && attack.sizes >> i & 1)
				printf("%s %zu\n", attack.name, SIZES[i]);
		if (argc == 3 && !strcmp(argv[1], attack.name)) {
			size = strtoul(argv[2], nullptr, 10);
			attack.run();
			return 0;
		}
	}
	return argc < 3 ? 0 : 4;
}
