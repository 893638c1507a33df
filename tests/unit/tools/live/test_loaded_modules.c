/* SPDX-License-Identifier: MIT
 * test_loaded_modules.c -- modules, allocator and slots, made and of this process; damage. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_modules.h"
#include "live/loaded/allocator.h"
#include "live/loaded/exported_functions.h"
#include "live/loaded/loaded_modules.h"
#include "live/loaded/slots.h"
#include "test.h"

static uint8_t bytes[FAKE_MODULES_BYTES];
static mw_map_t maps[FAKE_MODULES_MAPS];
static mw_modules_t modules;
static mw_allocator_t allocator;
static mw_slots_t slots;
static mw_error_t why;

/* Reads the memory.  Returns what failed: 1 the list, 2 the allocator; 0: nothing. */
static int read_all(void) {
	mw_address_space_t space = {.memory = memfd_create("memory", MFD_CLOEXEC),
				    .maps = maps,
				    .count = FAKE_MODULES_MAPS};
	mw_program_start_t start = fake_modules_start();
	CHECK_EQ(pwrite(space.memory, bytes, sizeof(bytes), FAKE_MODULES_BASE), sizeof(bytes));
	mw_modules_free(&modules);
	mw_slots_free(&slots);
	int failed = mw_modules_read(&space, &start, &modules, &why) != 0         ? 1
		     : mw_allocator_find(&space, &modules, &allocator, &why) != 0 ? 2
										  : 0;
	if (failed == 0)
		mw_slots_find(&space, &modules, &allocator, &slots);
	close(space.memory);
	return failed;
}

static void fill(void) {
	fake_modules_fill(bytes);
	fake_modules_maps(maps);
}

static void check_slot(size_t index, uint64_t offset, unsigned function, int protection) {
	CHECK_EQ(slots.items[index].address, FAKE_MODULES_BASE + offset);
	CHECK_EQ(slots.items[index].function, function);
	CHECK_EQ(slots.items[index].protection, protection);
}

static void made_modules_are_read(void) {
	fill();
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(modules.count, 2);
	CHECK_EQ(allocator.functions[MW_ATTACH_malloc],
		 FAKE_MODULES_BASE + FAKE_MODULES_LIBRARY + FAKE_MODULES_MALLOC);
	CHECK_EQ(allocator.functions[MW_ATTACH_free],
		 FAKE_MODULES_BASE + FAKE_MODULES_LIBRARY + FAKE_MODULES_FREE);
	CHECK(allocator.module == &modules.items[1]);
	CHECK_EQ(slots.count, 3);
	check_slot(0, FAKE_MODULES_UNBOUND, MW_ATTACH_malloc, PROT_READ | PROT_WRITE);
	check_slot(1, FAKE_MODULES_BOUND, MW_ATTACH_free, PROT_READ | PROT_WRITE);
	check_slot(2, FAKE_MODULES_RELRO, MW_ATTACH_malloc, PROT_READ);
	CHECK_EQ(slots.unbound, 1);
	CHECK_EQ(slots.others, 1);   /* an address of data */
	CHECK_EQ(slots.left_out, 1); /* outside of the module */
	CHECK_EQ(slots.modules, 1);
}

/* A slot that is bound to another function, in code, is a sign that those which are not bound yet
 * will be bound to others, too. */
static void unbound_slots_beside_others_are_left_alone(void) {
	fill();
	uint64_t other = FAKE_MODULES_BASE + FAKE_MODULES_LIBRARY + FAKE_MODULES_CODE;
	memcpy(bytes + FAKE_MODULES_OTHER, &other, sizeof(other));
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(slots.count, 2);
	check_slot(0, FAKE_MODULES_BOUND, MW_ATTACH_free, PROT_READ | PROT_WRITE);
	check_slot(1, FAKE_MODULES_RELRO, MW_ATTACH_malloc, PROT_READ);
	CHECK_EQ(slots.unbound, 0);
	CHECK_EQ(slots.others, 2);
}

/* Pages that the dynamic linker closes later are open yet: their slots are left out for now. */
static void modules_that_are_loaded_now_are_early(void) {
	fill();
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(slots.early, 0);
	maps[2].is_writable = true;
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(slots.count, 2);
	check_slot(1, FAKE_MODULES_BOUND, MW_ATTACH_free, PROT_READ | PROT_WRITE);
	CHECK_EQ(slots.early, 1);
}

/* Slots in memory that others share, or that holds code, are no slots. */
static void odd_memory_is_left_alone(void) {
	fill();
	maps[3].is_shared = true;
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(slots.count, 1);
	fill();
	maps[3].is_code = true;
	CHECK_EQ(read_all(), 0);
	CHECK_EQ(slots.count, 1);
	fill();
	maps[3].inode = 7; /* something else was mapped there */
	CHECK(read_all() != 0);
}

/* The list leads back to its beginning: reading ends. */
static void ring_ends(void) {
	fill();
	uint64_t first = FAKE_MODULES_BASE + 0x3500;
	for (size_t at = 0x3500; at < 0x3600; at += 8) {
		uint64_t word;
		memcpy(&word, bytes + at, sizeof(word));
		if (word == first + 40) /* l_next of the first */
			memcpy(bytes + at, &first, sizeof(first));
	}
	CHECK_EQ(read_all(), 1);
	CHECK(strstr(why.text, "damaged"));
}

static void wrong_places_are_no_modules(void) {
	fill();
	memset(bytes + FAKE_MODULES_LIBRARY, 0, 64); /* no ELF file */
	CHECK_EQ(read_all(), 2);
	CHECK(strstr(why.text, "malloc"));
	CHECK_EQ(modules.left_out, 1);
}

/* Of this process the dynamic linker tells the truth. Modules of sanitizers define malloc, too. */
static void process_is_read(void) {
	mw_address_space_t space;
	mw_program_start_t start;
	mw_slots_free(&slots);
	mw_modules_free(&modules);
	CHECK(mw_program_start_read(getpid(), &start));
	CHECK_EQ(mw_address_space_open(getpid(), &space), 0);
	CHECK_EQ(mw_modules_read(&space, &start, &modules, &why), 0);
	CHECK_EQ(mw_allocator_find(&space, &modules, &allocator, &why), 0);
	CHECK_EQ(allocator.functions[MW_ATTACH_malloc],
		 (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc"));
	CHECK_EQ(allocator.functions[MW_ATTACH_calloc],
		 (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "calloc"));
	CHECK_EQ(allocator.functions[MW_ATTACH_dlopen],
		 (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "dlopen"));
	mw_slots_find(&space, &modules, &allocator, &slots);
	for (size_t i = 0; i < slots.count; i++) {
		uint64_t word;
		memcpy(&word, (const void *)(uintptr_t)slots.items[i].address, sizeof(word));
		CHECK_EQ(word, slots.items[i].original);
	}
	mw_address_space_close(&space);
}

int main(void) {
	RUN(made_modules_are_read);
	RUN(unbound_slots_beside_others_are_left_alone);
	RUN(modules_that_are_loaded_now_are_early);
	RUN(odd_memory_is_left_alone);
	RUN(ring_ends);
	RUN(wrong_places_are_no_modules);
	RUN(process_is_read);
	mw_slots_free(&slots);
	mw_modules_free(&modules);
	return 0;
}
