/* SPDX-License-Identifier: MIT
 * published.c -- maps, grows and drops the state file. */
#include "prof/store/published.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/signal/segv.h"
#include "prof/store/store.h"

/* Growth steps: a quarter of the present size, from one page of the kernel to this. They are small,
 * because reserved blocks use memory. An idle process has about 50 KiB in tmpfs. */
#define STEP_MAX ((uint64_t)1 << 20)

/* So much of the file system is left to others, who need it more: a program that gets no shared
 * memory fails. Of a large one at most this many bytes. */
#define LEFT_SHARE 8u
#define LEFT_MAX ((uint64_t)16 << 20)

/* How often a thread waits for another that maps a segment, which takes microseconds. */
#define SEED_LOOKS_MAX 100u

/* Used before there is a published copy, and if the kernel lacks MADV_WIPEONFORK. */
static mw_published_cell_t plain_cell;

mw_published_view_t mw_published_view = {.cell = &plain_cell};

static struct {
	/* Second mapping of each section's first page, never read or written. Further segments are
	 * mapped from it, because no descriptor is kept open. NULL: a thread is using it. */
	_Atomic(char *) seeds[MW_SECTION_COUNT];
	_Atomic bool full;
	/* Start of a mapping whose file was cut, until mw_published_abandon(); NULL: none. */
	_Atomic(char *) lost;
	bool by_reopening; /* true: the kernel lacks MADV_POPULATE_WRITE */
	uint64_t device, inode;
	char path[256];
} published;

/* Returns whether the copy may take so many bytes of the file system. */
static bool has_room(mw_os_file_system_t system, uint64_t bytes) {
	uint64_t left = system.bytes / LEFT_SHARE;
	left = left < LEFT_MAX ? left : LEFT_MAX;
	return system.bytes == 0 || system.free_bytes >= left + bytes;
}

/* Returns whether the named file may take so many bytes more. A file without a name lies in memory,
 * where nothing else needs the room. */
static bool has_room_to_grow(uint64_t bytes) {
	return !published.path[0] ||
	       has_room(mw_os_file_system(MW_OS_NO_DIRECTORY, published.path), bytes);
}

static const mw_state_section_t *section_of(mw_state_section_id_t section) {
	return &mw_store_header()->sections[section];
}

/* Reserves blocks on kernels before Linux 5.14, through a descriptor. Since no descriptor is kept,
 * the file is opened again, and must be the same file. */
static bool reserve_by_path(uint64_t offset_bytes, uint64_t bytes) {
	if (!published.path[0])
		return false;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, published.path, MW_OS_REWRITE);
	if (file < 0)
		return false;
	mw_os_file_info_t info;
	bool done = mw_os_file_info(file, &info) == MW_OK && info.device == published.device &&
		    info.inode == published.inode &&
		    mw_os_reserve_blocks(file, offset_bytes, bytes) == MW_OK;
	mw_os_close(file);
	return done;
}

/* Allocates the pages of `bytes` at `memory`, which maps the file from `offset_bytes` on. Both are
 * multiples of the page size. */
static bool make_present(char *memory, uint64_t offset_bytes, uint64_t bytes) {
	if (published.by_reopening)
		return reserve_by_path(offset_bytes, bytes) && mw_os_open_range(memory, bytes);
	return mw_os_open_range(memory, bytes) && mw_os_populate(memory, bytes) == MW_OK;
}

/* Waits for a thread that maps another segment of the section. NULL: the wait took too long. */
static char *take_seed(mw_state_section_id_t section) {
	char *seed = NULL;
	for (unsigned looks = 0; !seed && looks < SEED_LOOKS_MAX; looks++) {
		if (looks > 0)
			mw_os_back_off(looks);
		/* Pairs with the release in map_segment(). */
		seed = atomic_exchange_explicit(&published.seeds[section], NULL,
						memory_order_acquire);
	}
	return seed;
}

/* Extends the seed mapping to the segment's end, which may move it, and unmaps the range between
 * its first page and the segment. NULL: refused. */
static char *stretch(char **seed, uint64_t start, uint64_t bytes) {
	char *wide = mw_os_remap(*seed, mw_os_page_bytes(), start + bytes, true);
	if (!wide)
		return NULL;
	*seed = wide;
	if (start > mw_os_page_bytes())
		mw_os_unmap(wide + mw_os_page_bytes(), start - mw_os_page_bytes());
	return wide + start;
}

/* Returns false if the segment is not mapped and the kernel refused. */
static bool map_segment(mw_state_section_id_t section, unsigned segment) {
	_Atomic(char *) *to = &mw_published_view.segments[section][segment];
	if (atomic_load_explicit(to, memory_order_acquire))
		return true;
	char *seed = take_seed(section);
	if (!seed)
		return false;
	uint64_t start = mw_store_segment_start(segment);
	char *base = NULL;
	/* Pairs with the release below: another thread may have mapped the segment first. */
	if (!atomic_load_explicit(to, memory_order_acquire) &&
	    (base = stretch(&seed, start, mw_store_segment_bytes(section, segment))) != NULL)
		atomic_store_explicit(to, base - start, memory_order_release);
	/* Pairs with the exchange in take_seed(). */
	atomic_store_explicit(&published.seeds[section], seed, memory_order_release);
	return atomic_load_explicit(to, memory_order_relaxed) != NULL;
}

/* Allocates more pages of the section, up to `target_bytes` but not beyond the current segment. */
static bool grow_in_segment(mw_state_section_id_t section, uint64_t held, uint64_t target_bytes) {
	unsigned segment = mw_store_segment_of(held);
	uint64_t start = mw_store_segment_start(segment);
	uint64_t end = start + mw_store_segment_bytes(section, segment);
	uint64_t target = target_bytes < end ? target_bytes : end;
	if (target <= held || !has_room_to_grow(target - held) || !map_segment(section, segment))
		return false;
	char *its_bytes = atomic_load_explicit(&mw_published_view.segments[section][segment],
					       memory_order_relaxed);
	if (!make_present(its_bytes + held, section_of(section)->offset_bytes + held,
			  target - held))
		return false;
	while (held < target &&
	       /* Pairs with the acquires in mw_published_reach() and mw_published_range(). */
	       !atomic_compare_exchange_weak_explicit(&mw_published_view.present_bytes[section],
						      &held, target, memory_order_release,
						      memory_order_relaxed)) {
	}
	return true;
}

/* Grows the part of a section that lies in pages of its own. */
static bool grow(mw_state_section_id_t section, uint64_t wanted_bytes) {
	if (wanted_bytes <= mw_state_first_bytes(section))
		return true;
	for (;;) {
		uint64_t held = atomic_load_explicit(&mw_published_view.present_bytes[section],
						     memory_order_acquire);
		if (held >= wanted_bytes)
			return true;
		uint64_t step = mw_round_up(held / 4, mw_os_page_bytes());
		step = step < mw_os_page_bytes() ? mw_os_page_bytes()
		       : step > STEP_MAX         ? STEP_MAX
						 : step;
		uint64_t target = mw_round_up(wanted_bytes, mw_os_page_bytes());
		if (target < held + step)
			target = held + step;
		if (!grow_in_segment(section, held, target))
			return false;
	}
}

void mw_published_reach(mw_state_section_id_t section, uint64_t bytes) {
	if (MW_LIKELY(!mw_published_base()) ||
	    atomic_load_explicit(&mw_published_view.present_bytes[section], memory_order_acquire) >=
		    bytes)
		return;
	if (atomic_load_explicit(&published.full, memory_order_relaxed) || grow(section, bytes))
		return;
	atomic_store_explicit(&published.full, true, memory_order_relaxed);
	mw_store_set_flag(MW_STATE_FILE_FULL);
}

/* Allocates the parts without which a file cannot be read: header, control, live, the first entries
 * of all sections, and the event log, which is allocated ahead (event_log.c). */
static mw_result_t fill_basics(char *base) {
	/* Behind the first entries nothing is in their last page. */
	uint64_t bytes = mw_os_whole_pages(MW_STATE_FIRSTS_BYTES);
	if (!mw_os_open_range(base, bytes))
		return MW_ERR_IO;
	published.by_reopening = false;
	mw_result_t result = mw_os_populate(base, bytes);
	if (result == MW_ERR_UNSUPPORTED && published.path[0]) {
		published.by_reopening = true;
		result = make_present(base, 0, bytes) ? MW_OK : MW_ERR_NO_MEMORY;
	}
	if (result == MW_OK && !grow(MW_SECTION_EVENTS, mw_store_used_bytes(MW_SECTION_EVENTS)))
		result = MW_ERR_NO_MEMORY;
	return result;
}

/* Adds the counters of stacks that do not fit to the file's "unknown" stack. */
static void fold_stacks(char *base, uint64_t held_bytes) {
	const size_t first = MW_STACK(live_objects_q16);
	const size_t count = (MW_STACK(peak_objects_q16) - first) / sizeof(int64_t);
	char *entry = mw_published_range_of(base, MW_SECTION_STACKS, 0, sizeof(mw_state_stack_t));
	int64_t *unknown = (int64_t *)(void *)(entry + first);
	uint64_t stacks = mw_store_used_bytes(MW_SECTION_STACKS) / sizeof(mw_state_stack_t);
	for (uint64_t i = held_bytes / sizeof(mw_state_stack_t); i < stacks; i++) {
		const char *stack = mw_store_private(MW_SECTION_STACKS, i);
		const int64_t *counters = (const int64_t *)(const void *)(stack + first);
		for (size_t k = 0; k < count; k++)
			unknown[k] += counters[k];
	}
}

/* Copies bytes `from` to `limit` of a section, in segments that both copies have. */
static void copy_range(mw_state_section_id_t section, uint64_t from, uint64_t limit) {
	while (from < limit) {
		unsigned segment = mw_store_segment_of(from);
		uint64_t end = mw_store_segment_start(segment + 1);
		uint64_t bytes = (limit < end ? limit : end) - from;
		memcpy(atomic_load_explicit(&mw_published_view.segments[section][segment],
					    memory_order_relaxed) +
			       from,
		       mw_store_at(section, from), bytes);
		from += bytes;
	}
}

/* Copies bytes `from` to `limit` of the first entries. */
static void copy_firsts(char *base, size_t from, size_t limit) {
	memcpy(base + from, mw_store_firsts + from, limit - from);
}

/* Copies every section of the private tables but the header and the control words, as far as the
 * file system has room. */
static bool copy_sections(char *base) {
	bool whole = true;
	const size_t control = mw_state_first(MW_SECTION_CONTROL).offset_bytes;
	copy_firsts(base, sizeof(mw_state_header_t), control);
	copy_firsts(base, control + sizeof(mw_state_control_t), MW_STATE_FIRSTS_BYTES);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		uint64_t bytes = mw_store_used_bytes(id), first = mw_state_first_bytes(id);
		if (bytes <= first)
			continue;
		if (!whole || !grow(id, bytes)) {
			whole = false;
			uint64_t held = atomic_load_explicit(&mw_published_view.present_bytes[i],
							     memory_order_relaxed);
			bytes = held < first ? first : held < bytes ? held : bytes;
		}
		copy_range(id, first, bytes);
		if (!whole && id == MW_SECTION_STACKS)
			fold_stacks(base, bytes);
	}
	return whole;
}

/* ---- a file that somebody cuts ---- */

static bool is_in(uintptr_t address, const char *start, uint64_t bytes) {
	return address - (uintptr_t)start < bytes;
}

/* Calls `visit` for each part of the mapping that is written: the first entries, and of each
 * segment the pages that are there. Returns whether a call returned true. */
static bool visit_parts(char *base, bool (*visit)(uintptr_t address, char *start, uint64_t bytes),
			uintptr_t address) {
	bool found = visit(address, base, MW_STATE_FIRSTS_BYTES);
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		for (unsigned k = 0; k < MW_STORE_SEGMENTS; k++) {
			char *its_bytes = atomic_load_explicit(&mw_published_view.segments[i][k],
							       memory_order_acquire);
			uint64_t start = mw_store_segment_start(k);
			uint64_t end = start + mw_store_segment_bytes((mw_state_section_id_t)i, k);
			uint64_t held = atomic_load_explicit(&mw_published_view.present_bytes[i],
							     memory_order_acquire);
			end = end < held ? end : held;
			if (its_bytes && end > start)
				found |= visit(address, its_bytes + start, end - start);
		}
	return found;
}

static bool is_part(uintptr_t address, char *start, uint64_t bytes) {
	return is_in(address, start, bytes);
}

static bool map_over(uintptr_t address, char *start, uint64_t bytes) {
	return mw_os_map_over(start, bytes) && is_in(address, start, bytes);
}

/* In the handler of SIGBUS: the copy's pages have no file any more, or its file system has no block
 * for a page that was punched out. The profile goes on in the private tables. Threads that are
 * about to write to the copy write to ordinary memory, which nobody reads. */
static bool look_at_bus_error(uintptr_t address) {
	char *base = atomic_load_explicit(&mw_published_view.mapping, memory_order_acquire);
	/* Another thread may have been here since this thread's access. */
	if (!base)
		base = atomic_load_explicit(&published.lost, memory_order_acquire);
	if (!base || !visit_parts(base, is_part, address))
		return false;
	mw_published_cell_t *cell =
		atomic_load_explicit(&mw_published_view.cell, memory_order_relaxed);
	atomic_store_explicit(&published.lost, base, memory_order_seq_cst);
	/* Before the base, as in mw_published_was_wiped(): the process is no child. */
	atomic_store_explicit(&mw_published_view.mapping, NULL, memory_order_seq_cst);
	atomic_store_explicit(&cell->base, NULL, memory_order_seq_cst);
	return visit_parts(base, map_over, address);
}

bool mw_published_is_lost(void) {
	return atomic_load_explicit(&published.lost, memory_order_acquire) != NULL;
}

static void do_nothing(void) {
}

void mw_published_abandon(void (*freeze)(void), void (*thaw)(void)) {
	freeze();
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		char *seed =
			atomic_exchange_explicit(&published.seeds[i], NULL, memory_order_relaxed);
		if (seed)
			mw_os_unmap(seed, mw_os_page_bytes());
		for (unsigned k = 0; k < MW_STORE_SEGMENTS; k++)
			atomic_store_explicit(&mw_published_view.segments[i][k], NULL,
					      memory_order_relaxed);
		atomic_store_explicit(&mw_published_view.present_bytes[i], 0, memory_order_relaxed);
	}
	published.path[0] = '\0';
	atomic_store_explicit(&published.full, false, memory_order_relaxed);
	mw_store_clear_flag(MW_STATE_FILE_FULL);
	atomic_store_explicit(&published.lost, NULL, memory_order_release);
	thaw();
}

static void publish(char *base) {
	mw_published_cell_t *cell =
		atomic_load_explicit(&mw_published_view.cell, memory_order_relaxed);
	mw_published_cell_t *wiped = cell == &plain_cell ? mw_os_map_wiped_on_fork() : NULL;
	if (wiped) {
		cell = wiped;
		/* Pairs with the acquire in mw_published_base(). */
		atomic_store_explicit(&mw_published_view.cell, cell, memory_order_release);
	}
	/* Pairs with the acquire in mw_published_base(). */
	atomic_store_explicit(&cell->base, base, memory_order_release);
}

static void unmap_section(mw_state_section_id_t section) {
	char *seed =
		atomic_exchange_explicit(&published.seeds[section], NULL, memory_order_relaxed);
	if (seed)
		mw_os_unmap(seed, mw_os_page_bytes());
	for (unsigned k = 0; k < MW_STORE_SEGMENTS; k++) {
		char *segment = atomic_exchange_explicit(&mw_published_view.segments[section][k],
							 NULL, memory_order_relaxed);
		if (segment)
			mw_os_unmap(segment + mw_store_segment_start(k),
				    mw_store_segment_bytes(section, k));
	}
	atomic_store_explicit(&mw_published_view.present_bytes[section], 0, memory_order_relaxed);
}

/* Called before the copy is published, or in the child of a fork: no other thread knows the
 * mappings. */
static void unmap_all(char *base) {
	mw_os_unmap(base, MW_STATE_FIRSTS_BYTES);
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		unmap_section((mw_state_section_id_t)i);
}

/* Returns false if the kernel refused. */
static bool map_section(int file, mw_state_section_id_t section) {
	uint64_t offset = section_of(section)->offset_bytes;
	uint64_t bytes = mw_store_segment_bytes(section, 0);
	if (bytes == 0)
		return true;
	char *first = mw_os_reserve(file, offset, bytes);
	atomic_store_explicit(&mw_published_view.segments[section][0], first, memory_order_relaxed);
	char *seed = first ? mw_os_reserve(file, offset, mw_os_page_bytes()) : NULL;
	atomic_store_explicit(&published.seeds[section], seed, memory_order_relaxed);
	if (!seed)
		return false;
	/* A core dump already contains the private tables. */
	mw_os_no_dump(first, bytes);
	mw_os_no_dump(seed, mw_os_page_bytes());
	return true;
}

/* Returns NULL if the kernel refused. */
static char *map_file(int file) {
	char *base = mw_os_reserve(file, 0, MW_STATE_FIRSTS_BYTES);
	if (!base)
		return NULL;
	mw_os_no_dump(base, MW_STATE_FIRSTS_BYTES);
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		if (!map_section(file, (mw_state_section_id_t)i)) {
			unmap_all(base);
			return NULL;
		}
	return base;
}

mw_result_t mw_published_attach(const mw_published_file_t *target, void (*freeze)(void),
				void (*thaw)(void)) {
	mw_state_header_t *header = mw_store_header();
	char *base = NULL;
	if (!has_room(mw_os_file_system(target->file, NULL), MW_STATE_FIRSTS_BYTES))
		return MW_ERR_NO_MEMORY;
	if (mw_os_set_size(target->file, header->file_bytes) == MW_OK)
		base = map_file(target->file);
	if (!base)
		return MW_ERR_IO;
	mw_fmt(published.path, sizeof published.path, "%s", target->path ? target->path : "");
	published.device = target->device;
	published.inode = target->inode;
	/* A file without a name cannot be cut by mistake. Without the handler the copy is as good.
	 */
	if (published.path[0])
		mw_os_bus_start(look_at_bus_error);
	mw_result_t result = fill_basics(base);
	if (result != MW_OK) {
		unmap_all(base);
		return result;
	}
	freeze();
	bool whole = copy_sections(base);
	atomic_store_explicit(&published.full, !whole, memory_order_relaxed);
	const size_t control = mw_state_first(MW_SECTION_CONTROL).offset_bytes;
	copy_firsts(base, control, control + sizeof(mw_state_control_t));
	copy_firsts(base, 0, sizeof *header);
	/* The magic is written last: a reader that sees it sees all else. Pairs with the readers'
	 * acquire. */
	atomic_thread_fence(memory_order_release);
	memcpy(base, MW_STATE_MAGIC, sizeof header->magic);
	publish(base);
	/* Stored after the base. Pairs with the acquire in mw_published_was_wiped(). */
	atomic_store_explicit(&mw_published_view.mapping, base, memory_order_release);
	if (!whole)
		mw_store_set_flag(MW_STATE_FILE_FULL);
	thaw();
	return MW_OK;
}

bool mw_published_is_full(void) {
	return atomic_load_explicit(&published.full, memory_order_relaxed);
}

bool mw_published_complete(void (*freeze)(void), void (*thaw)(void)) {
	char *base = mw_published_base();
	if (!base)
		return true;
	/* Pages are allocated while other threads write, because that takes longest. Those that are
	 * allocated are filled even if there are too few. */
	bool grows = true;
	for (int i = 0; i < MW_SECTION_COUNT && grows; i++)
		grows = grow((mw_state_section_id_t)i,
			     mw_store_used_bytes((mw_state_section_id_t)i));
	freeze();
	bool whole = copy_sections(base);
	atomic_store_explicit(&published.full, !whole, memory_order_relaxed);
	if (whole)
		mw_store_clear_flag(MW_STATE_FILE_FULL);
	thaw();
	return whole;
}

void mw_published_drop(void) {
	if (mw_published_is_lost())
		mw_published_abandon(do_nothing, do_nothing);
	char *mapping = atomic_load_explicit(&mw_published_view.mapping, memory_order_relaxed);
	if (!mapping)
		return;
	atomic_store_explicit(&mw_published_view.mapping, NULL, memory_order_relaxed);
	publish(NULL);
	unmap_all(mapping);
	published.path[0] = '\0';
	mw_store_clear_flag(MW_STATE_FILE_FULL);
}

MW_COLD void mw_published_reopen(char *base) {
	publish(base);
}
