/* SPDX-License-Identifier: MIT
 * mirror.c -- mapping, growing and dropping the state file. */
#include "prof/mirror.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "os/file.h"
#include "os/map.h"
#include "prof/image.h"

/* Blocks are really held once reserved, so the steps are small: a quarter of what is there, within
 * these.  An idle process holds some 50 KiB of tmpfs. */
#define STEP_MIN ((uint64_t)4 << 10)
#define STEP_MAX ((uint64_t)1 << 20)

/* Before there is a mirror, and where the kernel has no MADV_WIPEONFORK. */
static mw_mirror_cell_t plain_cell;

mw_mirror_view_t mw_mirror_view = {.cell = &plain_cell};

static struct {
	uint64_t window_bytes[MW_SECTION_COUNT];
	_Atomic bool full;
	bool by_reopening; /* kernels without MADV_POPULATE_WRITE */
	uint64_t device, inode;
	char path[256];
} mirror;

static const mw_state_section_t *section_of(mw_state_section_id_t section) {
	return &mw_image_header()->sections[section];
}

/* Before Linux 5.14: the blocks are reserved through the file, which is opened again, because no
 * descriptor is kept, and must still be the same one. */
static bool reserve_by_path(uint64_t offset_bytes, uint64_t bytes) {
	if (!mirror.path[0])
		return false;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, mirror.path, MW_OS_REWRITE);
	if (file < 0)
		return false;
	mw_os_file_info_t info;
	bool done = mw_os_file_info(file, &info) == MW_OK && info.device == mirror.device &&
		    info.inode == mirror.inode &&
		    mw_os_reserve_blocks(file, offset_bytes, bytes) == MW_OK;
	mw_os_close(file);
	return done;
}

/* `bytes` at `memory`, which maps the file from `offset_bytes` on; multiples of the page size. */
static bool make_present(char *memory, uint64_t offset_bytes, uint64_t bytes) {
	if (mirror.by_reopening)
		return reserve_by_path(offset_bytes, bytes) && mw_os_open_range(memory, bytes);
	return mw_os_open_range(memory, bytes) && mw_os_populate(memory, bytes) == MW_OK;
}

/* Of a section's own pages. */
static bool grow(mw_state_section_id_t section, uint64_t wanted_bytes) {
	if (wanted_bytes <= mw_state_first_bytes(section))
		return true;
	uint64_t held =
		atomic_load_explicit(&mw_mirror_view.present_bytes[section], memory_order_relaxed);
	uint64_t step = mw_round_up(held / 4, MW_STATE_PAGE_BYTES);
	step = step < STEP_MIN ? STEP_MIN : step > STEP_MAX ? STEP_MAX : step;
	uint64_t target = mw_round_up(wanted_bytes, MW_STATE_PAGE_BYTES);
	if (target > mirror.window_bytes[section])
		return false;
	if (target < held + step)
		target = held + step;
	if (target > mirror.window_bytes[section])
		target = mirror.window_bytes[section];
	if (held >= target)
		return true;
	if (!make_present(mw_mirror_view.windows[section] + held,
			  section_of(section)->offset_bytes + held, target - held))
		return false;
	while (held < target &&
	       /* Pairs with the acquires in mw_mirror_reach() and mw_mirror_range(). */
	       !atomic_compare_exchange_weak_explicit(&mw_mirror_view.present_bytes[section], &held,
						      target, memory_order_release,
						      memory_order_relaxed)) {
	}
	return true;
}

void mw_mirror_reach(mw_state_section_id_t section, uint64_t bytes) {
	if (MW_LIKELY(!mw_mirror_base()) ||
	    atomic_load_explicit(&mw_mirror_view.present_bytes[section], memory_order_acquire) >=
		    bytes)
		return;
	if (atomic_load_explicit(&mirror.full, memory_order_relaxed) || grow(section, bytes))
		return;
	atomic_store_explicit(&mirror.full, true, memory_order_relaxed);
	mw_image_set_flag(MW_STATE_FILE_FULL);
}

void mw_mirror_widen(mw_state_section_id_t section, uint64_t bytes) {
	if (!mw_mirror_base())
		return;
	/* What is present and what is not are two mappings to the kernel: the first is moved and
	 * extended (the file is as long from the start), the second goes. */
	uint64_t old_bytes = mirror.window_bytes[section];
	uint64_t held =
		atomic_load_explicit(&mw_mirror_view.present_bytes[section], memory_order_relaxed);
	uint64_t moved = held ? held : old_bytes;
	char *old = mw_mirror_view.windows[section];
	char *wide = mw_os_remap(old, moved, bytes, true);
	if (!wide)
		return; /* what does not fit is then "full" */
	if (moved < old_bytes)
		mw_os_unmap(old + moved, old_bytes - moved);
	if (held && held < bytes)
		mw_os_protect_none(wide + held, bytes - held);
	mw_mirror_view.windows[section] = wide;
	mirror.window_bytes[section] = bytes;
}

/* The parts without which a file says nothing: header, control, live, the first entries of all
 * sections, and the log of events, which stays ahead of what it holds (journal.c). */
static mw_result_t fill_basics(char *base) {
	if (!mw_os_open_range(base, MW_STATE_FIRSTS_BYTES))
		return MW_ERR_NO_MEMORY;
	mirror.by_reopening = false;
	mw_result_t result = mw_os_populate(base, MW_STATE_FIRSTS_BYTES);
	if (result == MW_ERR_UNSUPPORTED && mirror.path[0]) {
		mirror.by_reopening = true;
		result = make_present(base, 0, MW_STATE_FIRSTS_BYTES) ? MW_OK : MW_ERR_NO_MEMORY;
	}
	if (result == MW_OK && !grow(MW_SECTION_EVENTS, mw_image_used_bytes(MW_SECTION_EVENTS)))
		result = MW_ERR_NO_MEMORY;
	return result;
}

/* Adds the counters of the stacks that did not fit to the file's "unknown". */
static void fold_stacks(char *base, uint64_t held_bytes) {
	const size_t first = MW_STACK(live_objects_q16);
	const size_t count = (MW_STACK(peak_objects_q16) - first) / sizeof(int64_t);
	char *entry = mw_mirror_range_of(base, MW_SECTION_STACKS, 0, sizeof(mw_state_stack_t));
	int64_t *unknown = (int64_t *)(void *)(entry + first);
	uint64_t stacks = mw_image_used_bytes(MW_SECTION_STACKS) / sizeof(mw_state_stack_t);
	for (uint64_t i = held_bytes / sizeof(mw_state_stack_t); i < stacks; i++) {
		const char *stack = mw_image_entry(MW_SECTION_STACKS, i);
		const int64_t *counters = (const int64_t *)(const void *)(stack + first);
		for (size_t k = 0; k < count; k++)
			unknown[k] += counters[k];
	}
}

/* Copies what the image has of every section, as far as the file system lets it. */
static bool copy_sections(char *base) {
	bool whole = true;
	const size_t header_bytes = sizeof(mw_state_header_t);
	memcpy(base + header_bytes, mw_image_firsts + header_bytes,
	       MW_STATE_FIRSTS_BYTES - header_bytes);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		uint64_t bytes = mw_image_used_bytes(id), first = mw_state_first_bytes(id);
		if (bytes <= first)
			continue;
		if (!whole || !grow(id, bytes)) {
			whole = false;
			uint64_t held = atomic_load_explicit(&mw_mirror_view.present_bytes[i],
							     memory_order_relaxed);
			bytes = held < first ? first : held < bytes ? held : bytes;
		}
		memcpy(mw_mirror_view.windows[i] + first, mw_image_windows[i] + first,
		       bytes - first);
		if (!whole && id == MW_SECTION_STACKS)
			fold_stacks(base, bytes);
	}
	return whole;
}

static void publish(char *base) {
	mw_mirror_cell_t *cell = atomic_load_explicit(&mw_mirror_view.cell, memory_order_relaxed);
	mw_mirror_cell_t *wiped = cell == &plain_cell ? mw_os_map_wiped_on_fork() : NULL;
	if (wiped) {
		cell = wiped;
		/* Pairs with the acquire in mw_mirror_base(). */
		atomic_store_explicit(&mw_mirror_view.cell, cell, memory_order_release);
	}
	/* Likewise. */
	atomic_store_explicit(&cell->base, base, memory_order_release);
}

static void unmap_windows(char *base) {
	mw_os_unmap(base, mw_image_fixed_bytes());
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		if (mw_image_is_growing((mw_state_section_id_t)i) && mw_mirror_view.windows[i])
			mw_os_unmap(mw_mirror_view.windows[i], mirror.window_bytes[i]);
		mw_mirror_view.windows[i] = NULL;
		atomic_store_explicit(&mw_mirror_view.present_bytes[i], 0, memory_order_relaxed);
	}
}

static char *map_windows(int file) {
	char *base = mw_os_reserve(file, 0, mw_image_fixed_bytes());
	if (!base)
		return NULL;
	/* The image is in a core dump already. */
	mw_os_no_dump(base, mw_image_fixed_bytes());
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		uint64_t offset = section_of(id)->offset_bytes;
		mirror.window_bytes[i] = mw_image_window_bytes(id);
		mw_mirror_view.windows[i] = base + offset;
		if (!mw_image_is_growing(id))
			continue;
		mw_mirror_view.windows[i] = mw_os_reserve(file, offset, mirror.window_bytes[i]);
		if (!mw_mirror_view.windows[i]) {
			unmap_windows(base);
			return NULL;
		}
		mw_os_no_dump(mw_mirror_view.windows[i], mirror.window_bytes[i]);
	}
	return base;
}

mw_result_t mw_mirror_attach(const mw_mirror_file_t *target, void (*freeze)(void),
			     void (*thaw)(void)) {
	mw_state_header_t *header = mw_image_header();
	mw_result_t result = mw_os_set_size(target->file, header->file_bytes);
	if (result != MW_OK)
		return result;
	char *base = map_windows(target->file);
	if (!base)
		return MW_ERR_NO_MEMORY;
	mw_fmt(mirror.path, sizeof mirror.path, "%s", target->path ? target->path : "");
	mirror.device = target->device;
	mirror.inode = target->inode;
	result = fill_basics(base);
	if (result != MW_OK) {
		unmap_windows(base);
		return result;
	}
	freeze();
	bool whole = copy_sections(base);
	atomic_store_explicit(&mirror.full, !whole, memory_order_relaxed);
	memcpy(base, header, sizeof *header);
	/* The magic last: a reader that sees it sees the rest.  Pairs with the readers' acquire. */
	atomic_thread_fence(memory_order_release);
	memcpy(base, MW_STATE_MAGIC, sizeof header->magic);
	publish(base);
	/* After the base: pairs with the acquire in mw_mirror_was_wiped(). */
	atomic_store_explicit(&mw_mirror_view.mapping, base, memory_order_release);
	if (!whole)
		mw_image_set_flag(MW_STATE_FILE_FULL);
	thaw();
	return MW_OK;
}

void mw_mirror_drop(void) {
	char *mapping = atomic_load_explicit(&mw_mirror_view.mapping, memory_order_relaxed);
	if (!mapping)
		return;
	atomic_store_explicit(&mw_mirror_view.mapping, NULL, memory_order_relaxed);
	publish(NULL);
	unmap_windows(mapping);
	mirror.path[0] = '\0';
	mw_image_clear_flag(MW_STATE_FILE_FULL);
}
