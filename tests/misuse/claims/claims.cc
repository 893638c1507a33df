/* SPDX-License-Identifier: MIT
 * claims.cc FUNCTION... -- frees blocks with a size or alignment that is not theirs, as programs do
 * that nobody has told so: through each function that takes one, many times, so that some of the
 * blocks are samples.  Every block is used up to its end, and its neighbours are checked.  Without
 * arguments it prints the functions' names, one a line.  With CLAIMS_AT_START in its environment it
 * deletes a block with a wrong size before main().  Ends with 0 when it lived to the end. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <new>

namespace {

constexpr int TURNS = 100, KEPT = 8;

/* A class that is deleted through its base, which has no virtual destructor. */
struct packet {
	int kind;
};
struct long_packet : packet {
	char text[196];
};

template <typename T> T *hide(T *pointer) {
	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}

template <typename F> F find(const char *name) {
	void *function = dlsym(RTLD_DEFAULT, name);
	if (!function) {
		fprintf(stderr, "claims: %s: no library has it\n", name);
		exit(2);
	}
	F typed;
	memcpy(&typed, &function, sizeof typed);
	return typed;
}

using sized_t = void (*)(void *, size_t);
using pair_t = void (*)(void *, size_t, size_t);
using flags_t = void (*)(void *, size_t, int);

/* The wrong claim: sizes of another class, below and above. */
size_t wrong(size_t bytes, int turn) {
	return turn % 2 ? bytes * 4 : bytes / 5 + 1;
}

constexpr auto PAGE = std::align_val_t(4096);

void by_delete_base(void *, size_t, int) {
	packet *made = new long_packet;
	memset(static_cast<void *>(made), 1, sizeof(long_packet));
	delete hide(made);
}
/* Some programs do it before main() begins. */
struct at_start {
	at_start() {
		if (getenv("CLAIMS_AT_START"))
			by_delete_base(nullptr, 0, 0);
	}
} at_start;

void by_delete(void *block, size_t bytes, int turn) {
	operator delete(block, wrong(bytes, turn));
}
void by_delete_array(void *block, size_t bytes, int turn) {
	operator delete[](block, wrong(bytes, turn));
}
void by_delete_aligned(void *block, size_t bytes, int turn) {
	operator delete(block, wrong(bytes, turn), PAGE);
}
void by_delete_array_aligned(void *block, size_t bytes, int turn) {
	operator delete[](block, wrong(bytes, turn), PAGE);
}
void by_free_sized(void *block, size_t bytes, int turn) {
	static auto call = find<sized_t>("free_sized");
	call(block, wrong(bytes, turn));
}
void by_free_aligned_sized(void *block, size_t bytes, int turn) {
	static auto call = find<pair_t>("free_aligned_sized");
	call(block, 4096, wrong(bytes, turn));
}
void by_sdallocx(void *block, size_t bytes, int turn) {
	static auto call = find<flags_t>("sdallocx");
	call(block, wrong(bytes, turn), 12); /* MALLOCX_LG_ALIGN(12) */
}
void by_mi_free_size(void *block, size_t bytes, int turn) {
	static auto call = find<sized_t>("mi_free_size");
	call(block, wrong(bytes, turn));
}
void by_mi_free_size_aligned(void *block, size_t bytes, int turn) {
	static auto call = find<pair_t>("mi_free_size_aligned");
	call(block, wrong(bytes, turn), 4096);
}
/* The right size with an alignment that few blocks have. */
void by_alignment_alone(void *block, size_t bytes, int turn) {
	static auto call = find<pair_t>("free_aligned_sized");
	(void)turn;
	call(block, (size_t)1 << 40, bytes);
}

constexpr struct {
	const char *name;
	void (*release)(void *block, size_t bytes, int turn);
} FUNCTIONS[] = {
	{"delete_base", by_delete_base},
	{"delete", by_delete},
	{"delete_array", by_delete_array},
	{"delete_aligned", by_delete_aligned},
	{"delete_array_aligned", by_delete_array_aligned},
	{"free_sized", by_free_sized},
	{"free_aligned_sized", by_free_aligned_sized},
	{"sdallocx", by_sdallocx},
	{"mi_free_size", by_mi_free_size},
	{"mi_free_size_aligned", by_mi_free_size_aligned},
	{"alignment_alone", by_alignment_alone},
};

struct block {
	unsigned char *start;
	size_t bytes;
	unsigned char mark;
};

void check(const block &it) {
	for (size_t i = 0; i < it.bytes; i++)
		if (it.start[i] != it.mark) {
			fprintf(stderr, "claims: a block of %zu bytes was changed\n", it.bytes);
			exit(2);
		}
}

/* Blocks of one size, of which the oldest is freed with a wrong claim. */
void run(void (*release)(void *, size_t, int), size_t bytes, int turns) {
	block kept[KEPT] = {};
	for (int turn = 0; turn < turns; turn++) {
		block &oldest = kept[turn % KEPT];
		if (oldest.start) {
			check(oldest);
			release(hide(oldest.start), bytes, turn);
		}
		oldest = {static_cast<unsigned char *>(malloc(bytes)), bytes,
			  static_cast<unsigned char>(turn)};
		memset(oldest.start, oldest.mark, bytes);
	}
	for (block &left : kept) {
		check(left);
		free(left.start);
	}
}

} // namespace

int main(int argc, char **argv) {
	for (const auto &function : FUNCTIONS) {
		if (argc < 2)
			puts(function.name);
		for (int i = 1; i < argc; i++) {
			if (strcmp(argv[i], function.name))
				continue;
			for (size_t bytes : {28, 200, 900, 3000, 20000})
				run(function.release, bytes, TURNS);
			for (size_t bytes : {200000, 3000000})
				run(function.release, bytes, KEPT + 4);
		}
	}
	return 0;
}
