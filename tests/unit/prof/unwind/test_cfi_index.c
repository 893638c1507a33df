/* SPDX-License-Identifier: MIT
 * test_cfi_index.c -- the index of a .eh_frame without a header: it finds what the linker's own
 * table finds, and no byte makes it read outside of the area. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "os/unwind/object.h"
#include "prof/unwind/cfi/cfi_index.h"
#include "test.h"

/* This program's .eh_frame and, from the linker's table, the FDEs in it. */
static mw_cfi_area_t frames;
static mw_os_object_t self;

/* The address of .eh_frame stands in the header. */
static void find_own_frames(void) {
	mw_os_object_start();
	CHECK(mw_os_object_find((uintptr_t)find_own_frames, &self) && self.eh_frame_hdr != 0);
	const uint8_t *hdr = (const uint8_t *)self.eh_frame_hdr;
	int32_t distance;
	memcpy(&distance, hdr + 4, sizeof(distance));
	frames.lo = hdr + 4 + distance;
	frames.hi = frames.lo;
	for (uint32_t length = 1; length != 0; frames.hi += 4 + length)
		memcpy(&length, frames.hi, sizeof(length));
	CHECK(frames.hi <= (const uint8_t *)self.data_hi);
}

typedef struct index {
	mw_cfi_index_entry_t *entries;
	uint32_t count, capacity;
} index_t;

static index_t make_index(const mw_cfi_area_t *area, uintptr_t lo, uintptr_t hi) {
	index_t made = {.capacity = mw_cfi_index_capacity(area)};
	made.entries = calloc(made.capacity + 1u, sizeof(*made.entries));
	made.count = mw_cfi_index_fill(area, lo, hi, made.entries, made.capacity);
	CHECK(made.count <= made.capacity && made.entries[made.capacity] == 0);
	for (uint32_t i = 1; i < made.count; i++)
		CHECK(made.entries[i - 1] <= made.entries[i]);
	return made;
}

static void test_as_linkers_table(void) {
	const uint8_t *hdr = (const uint8_t *)self.eh_frame_hdr;
	index_t index = make_index(&frames, self.text_lo, self.text_hi);
	CHECK(index.count > 10);
	mw_cfi_area_t all = {(const uint8_t *)self.data_lo, (const uint8_t *)self.data_hi};
	for (uintptr_t pc = self.text_lo; pc < self.text_hi; pc++) {
		mw_cfi_fde_t fde;
		const uint8_t *want = mw_cfi_search(&all, hdr, pc);
		/* The linker's table also has functions outside of the first text segment. */
		if (want && (!mw_cfi_parse(&all, want, &fde) || fde.pc_hi <= pc))
			continue;
		CHECK(mw_cfi_index_search(&frames, index.entries, index.count, pc) == want);
	}
	CHECK(!mw_cfi_index_search(&frames, index.entries, index.count, self.text_lo - 1));
	CHECK(!mw_cfi_index_search(&frames, index.entries, index.count, 0));
	CHECK(!mw_cfi_index_search(&frames, index.entries, 0, self.text_lo));
	/* Only the code that was asked for. */
	index_t half = make_index(&frames, self.text_lo, (self.text_lo + self.text_hi) / 2);
	CHECK(half.count > 0 && half.count < index.count);
	free(half.entries);
	free(index.entries);
}

/* Copies the records with what lies between them, also where a sanitizer forbids to read. */
__attribute__((no_sanitize("address"))) static void copy_records(uint8_t *to) {
	for (volatile const uint8_t *from = frames.lo; from < frames.hi; from++)
		*to++ = *from;
}

/* A copy of the records whose end touches a page that cannot be read. */
static uint8_t *copy_at_end(size_t bytes, uint8_t **base, size_t *mapped) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*mapped = (bytes + page - 1) / page * page + page;
	*base = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(*base != MAP_FAILED && mprotect(*base + *mapped - page, page, PROT_NONE) == 0);
	uint8_t *copy = *base + *mapped - page - bytes;
	copy_records(copy);
	return copy;
}

/* Two files' records behind each other, in the wrong order and with the first one's end between. */
static void test_joined(void) {
	uint8_t *base;
	size_t mapped, bytes = (size_t)(frames.hi - frames.lo);
	uint8_t *copy = copy_at_end(2 * bytes, &base, &mapped);
	copy_records(copy + bytes);
	intptr_t shift = copy - frames.lo;
	mw_cfi_area_t area = {copy, copy + 2 * bytes};
	index_t once = make_index(&frames, self.text_lo, self.text_hi);
	index_t twice = make_index(&area, self.text_lo + (uintptr_t)shift,
				   self.text_hi + (uintptr_t)shift + bytes);
	/* Of the second copy the functions are further up by its length. */
	CHECK(twice.count == 2 * once.count);
	for (uint32_t i = 0; i < twice.count; i++) {
		mw_cfi_fde_t fde;
		const uint8_t *fde_at = copy + (uint32_t)twice.entries[i];
		CHECK(mw_cfi_parse(&area, fde_at, &fde));
		CHECK_EQ(fde.pc_lo - (uintptr_t)copy + ((uintptr_t)1 << 31),
			 twice.entries[i] >> 32);
	}
	free(once.entries);
	free(twice.entries);
	munmap(base, mapped);
}

static void test_damaged(void) {
	uint8_t *base;
	size_t mapped, bytes = (size_t)(frames.hi - frames.lo);
	uint8_t *copy = copy_at_end(bytes, &base, &mapped);
	mw_rng_t rng;
	mw_rng_init(&rng, 7);
	for (unsigned round = 0; round < 2000 / TEST_SLOWNESS; round++) {
		copy_records(copy);
		for (unsigned i = 0; i <= round % 8; i++)
			copy[mw_rng_next(&rng) % bytes] = (uint8_t)mw_rng_next(&rng);
		/* Also cut: the first bytes may be the middle of a record. */
		mw_cfi_area_t area = {copy + mw_rng_next(&rng) % 64, copy + bytes};
		index_t index = make_index(&area, 0, UINTPTR_MAX);
		for (unsigned i = 0; i < 20; i++) {
			const uint8_t *found =
				mw_cfi_index_search(&area, index.entries, index.count,
						    (uintptr_t)copy + mw_rng_next(&rng) % bytes);
			CHECK(!found || (found >= area.lo && found < area.hi));
		}
		free(index.entries);
	}
	for (size_t kept = 0; kept < 64; kept++) {
		mw_cfi_area_t area = {copy + bytes - kept, copy + bytes};
		free(make_index(&area, 0, UINTPTR_MAX).entries);
	}
	munmap(base, mapped);
}

int main(void) {
	find_own_frames();
	RUN(test_as_linkers_table);
	RUN(test_joined);
	RUN(test_damaged);
	return 0;
}
