/* SPDX-License-Identifier: MIT
 * fuzz_modules.c -- libFuzzer target: any bytes as the memory of a process that `mallow attach`
 * reads (list of modules, symbols, relocations), and as a filter of system calls.
 *
 * The seed is fake_modules.h's, whose mappings the target always has. */
#include <fcntl.h>
#include <linux/filter.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_modules.h"
#include "live/enter/call_filter.h"
#include "live/loaded/allocator.h"
#include "live/loaded/loaded_modules.h"
#include "live/loaded/slots.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_slots(const mw_address_space_t *space, const mw_slots_t *slots) {
	for (size_t i = 0; i < slots->count; i++) {
		const mw_map_t *map = mw_address_space_at(space, slots->items[i].address);
		if (map == NULL || map->is_shared || map->is_code || map->inode == 0 ||
		    slots->items[i].address % 8 != 0 || slots->items[i].address + 8 > map->limit ||
		    slots->items[i].function >= MW_ATTACH_FUNCTION_COUNT)
			abort();
	}
}

static void read_all(const uint8_t *bytes, size_t length) {
	mw_map_t maps[FAKE_MODULES_MAPS];
	mw_address_space_t space = {.memory = memfd_create("memory", MFD_CLOEXEC),
				    .maps = maps,
				    .count = FAKE_MODULES_MAPS};
	mw_error_t error = {""};
	mw_modules_t modules;
	mw_allocator_t allocator;
	mw_slots_t slots;
	fake_modules_maps(maps);
	if (space.memory < 0 || pwrite(space.memory, bytes, length, FAKE_MODULES_BASE) < 0)
		abort();
	const mw_program_start_t start = fake_modules_start();
	if (mw_modules_read(&space, &start, &modules, &error) == 0 &&
	    mw_allocator_find(&space, &modules, &allocator, &error) == 0) {
		mw_slots_find(&space, &modules, &allocator, &slots);
		check_slots(&space, &slots);
		mw_slots_free(&slots);
	}
	mw_modules_free(&modules);
	close(space.memory);
}

static void run_filter(const uint8_t *bytes, size_t length) {
	const mw_filtered_call_t call = {
		.name = "mmap", .number = 9, .known = 0x1f, .arguments = {0, 4096, 3, 0x22}};
	struct sock_filter program[MW_FILTER_LENGTH_MAX];
	size_t count = length / sizeof(program[0]);
	count = count < MW_FILTER_LENGTH_MAX ? count : MW_FILTER_LENGTH_MAX;
	memcpy(program, bytes, count * sizeof(program[0]));
	mw_filter_run(program, count, &call);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	if (length == 0 || length > FAKE_MODULES_BYTES)
		return 0;
	read_all(bytes, length);
	run_filter(bytes, length);
	return 0;
}
