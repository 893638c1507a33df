/* SPDX-License-Identifier: MIT
 * suite.cc GROUP | CASE SIZE -- attacks as two public suites make them, in this project's words: a
 * program of a few lines that misuses one block, and says NOT_CAUGHT if it gets to its end.  Much
 * is asked of the allocator: nobody frees the block afterwards, or allocates another one.  Group
 * "matrix" has the kinds of mimalloc-bench's suite, each with three sizes; group "death" those of
 * hardened_malloc's tests that must end the program.  With a group's name it prints the cases and
 * sizes, one a line.  count.py --printed runs them. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <new>
#include <string>

namespace {

constexpr size_t SMALL = 8, MEDIUM = 4096, LARGE = 256 << 10, FAR = 1 << 20;
constexpr int MANY = 256 << 10, SOME = 1024;
size_t size;

template <typename T> T hide(T value) {
	__asm__ volatile("" : "+r"(value));
	return value;
}

char *made(size_t bytes) {
	return hide(static_cast<char *>(malloc(bytes)));
}
char *made() {
	return made(size);
}
char *stale(size_t bytes) {
	char *block = made(bytes);
	free(block);
	return hide(block);
}
char *stale() {
	return stale(size);
}
void again(size_t bytes, int turns) {
	for (int i = 0; i < turns; i++)
		free(made(bytes));
}
void touch(char *at) {
	*static_cast<volatile char *>(at) ^= 'A';
}

/* Each attack returns whether it went unseen so far. */

/* One byte that lies `distance` away is changed, and the block freed. */
bool poke(ptrdiff_t at) {
	char *block = made();
	touch(block + at);
	free(block);
	return true;
}
ptrdiff_t end() {
	return static_cast<ptrdiff_t>(size);
}
bool byte_behind() {
	return poke(end());
}
bool line_behind() {
	return poke(end() + 31);
}
bool far_behind() {
	return poke(end() - 1 + static_cast<ptrdiff_t>(FAR));
}
bool byte_before() {
	return poke(-1);
}
bool line_before() {
	return poke(-32);
}
bool far_before() {
	return poke(-static_cast<ptrdiff_t>(FAR));
}

/* A copy that is too long or starts too early; the block stays. */
bool copy(ptrdiff_t from, size_t bytes) {
	static char zeros[LARGE + FAR];
	memcpy(made() + from, hide(static_cast<char *>(zeros)), bytes);
	return true;
}
bool copy_byte_behind() {
	return copy(0, size + 1);
}
bool copy_line_behind() {
	return copy(0, size + 32);
}
bool copy_far_behind() {
	return copy(0, size + FAR);
}
bool copy_byte_before() {
	return copy(-1, size);
}
bool copy_line_before() {
	return copy(-32, size);
}
bool copy_far_before() {
	return copy(-static_cast<ptrdiff_t>(FAR), size);
}

bool free_twice() {
	free(stale());
	return true;
}
bool free_twice_late() {
	char *block = stale();
	again(size, SOME);
	free(block);
	return true;
}
bool free_twice_between() {
	char *block = made(), *other = made();
	free(block);
	free(other);
	free(hide(block));
	return true;
}
bool free_twice_and_go_on() {
	free(stale());
	again(size, MANY);
	return true;
}
bool free_reused() {
	char *block = stale(), *next = made();
	free(block);
	free(next);
	return true;
}

bool run_code() {
	static const char code[] = "\x90\x90\x90\xc3";
	char *block = made();
	memcpy(block, code, sizeof code);
	reinterpret_cast<void (*)()>(reinterpret_cast<uintptr_t>(block))();
	return true;
}
bool size_beyond_all() {
	return made(static_cast<size_t>(-2)) != nullptr;
}

bool free_one() {
	free(hide(reinterpret_cast<char *>(uintptr_t{1})));
	return true;
}
bool free_stack() {
	char place[16];
	free(hide(static_cast<char *>(place)));
	return true;
}
bool free_alloca() {
	free(hide(static_cast<char *>(__builtin_alloca(size))));
	return true;
}
bool free_at(ptrdiff_t at) {
	free(hide(made() + at));
	return true;
}
bool free_next_page() {
	return free_at(4096);
}
bool free_far() {
	return free_at(ptrdiff_t{1} << 30);
}
bool free_odd() {
	return free_at(1);
}
bool free_half_aligned() {
	return free_at(8);
}

bool comes_back() {
	char *block = stale();
	return made() == block;
}
bool comes_back_smaller() {
	char *block = stale();
	return made(size / 2) == block;
}
/* Nothing is wrong here but the comparison: the suite has it so, and no allocator passes. */
bool same_pointer() {
	char *block = made(SMALL), *before = block;
	void *moved = realloc(block, 1024);
	return hide(moved) && hide(block) == before;
}

bool read_nothing() {
	char *block = made(0);
	putchar(*static_cast<volatile char *>(block));
	return true;
}
bool read_nothing_and_free() {
	char *block = made(0);
	putchar(*static_cast<volatile char *>(block));
	free(block);
	return true;
}
bool write_nothing() {
	touch(made(0));
	return true;
}
bool write_nothing_and_free() {
	char *block = made(0);
	touch(block);
	free(block);
	return true;
}

bool write_freed() {
	memset(stale(), 'A', size);
	return true;
}
bool write_freed_and_go_on() {
	memset(stale(), 'A', size);
	again(size, MANY);
	return true;
}
bool holds_bytes(const char *block) {
	for (size_t i = 0; i < size; i++)
		if (static_cast<const volatile char *>(block)[i])
			return true;
	return false;
}
bool freed_holds_bytes() {
	char *block = made();
	memset(block, 'A', size);
	free(block);
	return holds_bytes(hide(block));
}
bool fresh_holds_bytes() {
	static char *blocks[4096];
	for (char *&block : blocks)
		block = static_cast<char *>(memset(made(), 'A', size));
	for (char *block : blocks)
		free(block);
	return holds_bytes(made());
}

struct big {
	size_t words[9];
};
bool delete_as_big() {
	delete reinterpret_cast<big *>(hide(new char));
	return true;
}
bool delete_one_as_array() {
	delete[] hide(new char);
	return true;
}
bool delete_string_as_array() {
	delete[] hide(new std::string);
	return true;
}
bool delete_array_as_one() {
	delete hide(new char[MEDIUM]);
	return true;
}
bool delete_strings_as_one() {
	delete hide(new std::string[MEDIUM]);
	return true;
}

/* ---- group "death" ---- */

bool delete_aligned(size_t bytes, size_t claim) {
	constexpr auto ALIGN = std::align_val_t(64);
	operator delete(hide(operator new(bytes, ALIGN)), claim, ALIGN);
	return true;
}
bool delete_aligned_small() {
	return delete_aligned(16, 128);
}
bool delete_aligned_large() {
	return delete_aligned(LARGE, LARGE * 2);
}
bool free_mapped(int rights) {
	void *page = mmap(nullptr, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(hide(static_cast<char *>(page) + 16));
	return true;
}
bool free_closed_page() {
	return free_mapped(PROT_NONE);
}
bool free_open_page() {
	return free_mapped(PROT_READ | PROT_WRITE);
}
bool ask(const void *block) {
	return hide(malloc_usable_size(const_cast<void *>(hide(block)))) != SIZE_MAX;
}
bool ask_one() {
	return ask(reinterpret_cast<void *>(uintptr_t{1}));
}
bool ask_freed() {
	return ask(stale(16));
}
bool ask_odd() {
	return ask(made(16) + 1);
}
bool ask_far() {
	return ask(made(16) + (ptrdiff_t{1} << 30));
}
bool realloc_one() {
	return realloc(hide(reinterpret_cast<char *>(uintptr_t{1})), 16) != nullptr;
}
bool free_beyond_page() {
	free(hide(made(16) + 4096 * 4));
	return true;
}
bool poke_usable(size_t bytes, size_t distance) {
	char *block = made(bytes);
	touch(block + malloc_usable_size(block) + distance);
	free(block);
	return true;
}
bool small_byte_behind() {
	return poke_usable(SMALL, 0);
}
bool small_word_behind() {
	return poke_usable(SMALL, 7);
}
bool large_byte_behind() {
	return poke_usable(LARGE, 0);
}
bool large_word_behind() {
	return poke_usable(LARGE, 7);
}
bool read_freed_large() {
	char *block = stale(LARGE);
	return hide(static_cast<volatile char *>(block)[64 * 1024]) < 256;
}
bool write_freed_large() {
	touch(stale(LARGE) + 64 * 1024 + 1);
	return true;
}
bool write_freed_large_reused() {
	char *block = stale(LARGE), *next = made(LARGE);
	touch(block + 64 * 1024 + 1);
	return hide(next) != nullptr;
}
bool write_freed_small() {
	char *block = stale(128);
	block[65] = 'a';
	again(128, 100000);
	return true;
}
bool write_freed_small_reused() {
	char *block = stale(128), *next = made(128);
	block[65] = 'a';
	again(128, 100000);
	return hide(next) != nullptr;
}

enum group { MATRIX, ONCE, DEATH };
constexpr struct {
	const char *name;
	bool (*run)();
	enum group group;
	size_t size; /* DEATH: of the block, where the attack has no size of its own */
} ATTACKS[] = {
	{"byte_behind", byte_behind, MATRIX, 0},
	{"line_behind", line_behind, MATRIX, 0},
	{"far_behind", far_behind, MATRIX, 0},
	{"byte_before", byte_before, MATRIX, 0},
	{"line_before", line_before, MATRIX, 0},
	{"far_before", far_before, MATRIX, 0},
	{"copy_byte_behind", copy_byte_behind, MATRIX, 0},
	{"copy_line_behind", copy_line_behind, MATRIX, 0},
	{"copy_far_behind", copy_far_behind, MATRIX, 0},
	{"copy_byte_before", copy_byte_before, MATRIX, 0},
	{"copy_line_before", copy_line_before, MATRIX, 0},
	{"copy_far_before", copy_far_before, MATRIX, 0},
	{"free_twice", free_twice, MATRIX, 0},
	{"free_twice_late", free_twice_late, MATRIX, 0},
	{"free_twice_between", free_twice_between, MATRIX, 0},
	{"free_twice_and_go_on", free_twice_and_go_on, MATRIX, 0},
	{"free_reused", free_reused, MATRIX, 0},
	{"run_code", run_code, MATRIX, 0},
	{"size_beyond_all", size_beyond_all, MATRIX, 0},
	{"free_one", free_one, MATRIX, 0},
	{"free_stack", free_stack, MATRIX, 0},
	{"free_alloca", free_alloca, MATRIX, 0},
	{"free_next_page", free_next_page, MATRIX, 0},
	{"free_far", free_far, MATRIX, 0},
	{"free_odd", free_odd, MATRIX, 0},
	{"free_half_aligned", free_half_aligned, MATRIX, 0},
	{"comes_back", comes_back, MATRIX, 0},
	{"comes_back_smaller", comes_back_smaller, MATRIX, 0},
	{"same_pointer", same_pointer, MATRIX, 0},
	{"read_nothing", read_nothing, MATRIX, 0},
	{"read_nothing_and_free", read_nothing_and_free, MATRIX, 0},
	{"write_nothing", write_nothing, MATRIX, 0},
	{"write_nothing_and_free", write_nothing_and_free, MATRIX, 0},
	{"write_freed", write_freed, MATRIX, 0},
	{"write_freed_and_go_on", write_freed_and_go_on, MATRIX, 0},
	{"freed_holds_bytes", freed_holds_bytes, MATRIX, 0},
	{"fresh_holds_bytes", fresh_holds_bytes, MATRIX, 0},
	{"delete_as_big", delete_as_big, ONCE, 1},
	{"delete_one_as_array", delete_one_as_array, ONCE, 1},
	{"delete_string_as_array", delete_string_as_array, ONCE, 1},
	{"delete_array_as_one", delete_array_as_one, ONCE, MEDIUM},
	{"delete_strings_as_one", delete_strings_as_one, ONCE, MEDIUM},
	{"delete_as_big", delete_as_big, DEATH, 1},
	{"delete_aligned_small", delete_aligned_small, DEATH, 16},
	{"delete_aligned_large", delete_aligned_large, DEATH, LARGE},
	{"free_twice", free_twice, DEATH, 16},
	{"free_twice", free_twice, DEATH, LARGE},
	{"free_twice_between", free_twice_between, DEATH, 16},
	{"free_twice_between", free_twice_between, DEATH, LARGE},
	{"small_byte_behind", small_byte_behind, DEATH, SMALL},
	{"small_word_behind", small_word_behind, DEATH, SMALL},
	{"large_byte_behind", large_byte_behind, DEATH, LARGE},
	{"large_word_behind", large_word_behind, DEATH, LARGE},
	{"free_closed_page", free_closed_page, DEATH, 16},
	{"free_open_page", free_open_page, DEATH, 16},
	{"free_beyond_page", free_beyond_page, DEATH, 16},
	{"free_far", free_far, DEATH, 16},
	{"ask_freed", ask_freed, DEATH, 16},
	{"ask_far", ask_far, DEATH, 16},
	{"ask_odd", ask_odd, DEATH, 16},
	{"ask_one", ask_one, DEATH, 16},
	{"free_one", free_one, DEATH, 16},
	{"realloc_one", realloc_one, DEATH, 16},
	{"free_odd", free_odd, DEATH, 16},
	{"free_odd", free_odd, DEATH, LARGE},
	{"read_nothing", read_nothing, DEATH, 16},
	{"write_nothing", write_nothing, DEATH, 16},
	{"read_freed_large", read_freed_large, DEATH, LARGE},
	{"write_freed_large", write_freed_large, DEATH, LARGE},
	{"write_freed_large_reused", write_freed_large_reused, DEATH, LARGE},
	{"write_freed_small", write_freed_small, DEATH, 128},
	{"write_freed_small_reused", write_freed_small_reused, DEATH, 128},
};

} // namespace

int main(int argc, char **argv) {
	for (const auto &attack : ATTACKS) {
		if (argc == 2 && !strcmp(argv[1], attack.group == DEATH ? "death" : "matrix")) {
			for (size_t bytes : {SMALL, MEDIUM, LARGE})
				if (attack.group == MATRIX)
					printf("%s %zu\n", attack.name, bytes);
			if (attack.group != MATRIX)
				printf("%s %zu\n", attack.name, attack.size);
		}
		if (argc == 3 && !strcmp(argv[1], attack.name)) {
			size = strtoul(argv[2], nullptr, 10);
			if (attack.run()) {
				puts("NOT_CAUGHT");
				fflush(stdout);
			}
			return 0;
		}
	}
	return argc == 2 ? 0 : 4;
}
