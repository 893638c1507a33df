/* SPDX-License-Identifier: MIT
 * object_table.c -- two copies of the dynamic linker's list of objects: one is read while the other
 * is written. */
#include "os/unwind/object_table.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/memory/map.h"
#include "os/platform/libc_calls.h"
#include "os/platform/secure_environment.h"
#include "os/unwind/object.h"
#include "os/unwind/stack.h"

/* A reader that meets a copy in the making this often finds nothing. */
#define TRIES 4
#define NAME_BYTES 256u
#define NO_LINK UINT32_MAX
/* Addresses that were not found and wait for a refresh. */
#define MISSED_MAX 64u
/* Regions with generated code. 64 KiB: a compiler takes at least that at once, and 512 of them are
 * 32 MiB of code, more than the stacks of a program pass. */
#define REGIONS_MAX 512u
#define REGION_BYTES_LOG2 16u

/* The table gives callers such an entry in place of the loader's. A link keeps its object as long
 * as that is listed: a caller that has the object on its stack may read the link at any time. */
typedef struct link_entry {
	struct link_map map;
	bool is_taken;
	bool is_listed; /* seen by the copy in the making */
	char name[NAME_BYTES];
} link_entry_t;

typedef struct entry {
	uintptr_t start, limit, eh_frame;
	uint64_t identity; /* hash of the first page's headers; 0: they cannot be read */
	uintptr_t build_id;
	uint32_t link;
} entry_t;

/* Sorted by start, highest first: the kernel places later objects lower, so that most entries are
 * appended. */
typedef struct copy {
	_Atomic uint32_t sequence; /* odd: being written */
	uint32_t count;
	entry_t entries[MW_OS_OBJECTS_MAX];
} copy_t;

_Atomic uint32_t mw_os_object_table_number;

static struct {
	bool is_frozen;            /* a child that must not wait for the list's lock */
	bool is_copied;            /* the list as it was with `adds` and `subs` */
	bool is_full;              /* there are objects that have no entry */
	uint32_t links_used;       /* links behind these were never taken */
	_Atomic(copy_t *) current; /* NULL: none yet */
	_Atomic bool is_busy, is_missed;
	unsigned long long adds, subs; /* of the list when it was copied */
	_Atomic uintptr_t missed[MISSED_MAX], generated[REGIONS_MAX];
	copy_t copies[2];
	link_entry_t links[MW_OS_OBJECTS_MAX];
} table MW_SPARSE;

static bool is_used(void) {
	return mw_os_object_table_generation() != 0;
}

static void note_change(void) {
	/* Relaxed: see mw_os_object_table_generation(). */
	atomic_fetch_add_explicit(&mw_os_object_table_number, 1, memory_order_relaxed);
}

/* ---- identity ---- */

static uint64_t hash_words(uintptr_t words, size_t bytes, uint64_t hash) {
	for (size_t i = 0; i + sizeof hash <= bytes; i += sizeof hash) {
		uint64_t word;
		memcpy(&word, (const char *)words + i, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

#define BUILD_ID_BYTES 16u

/* Reads the first page: the ELF header, the program headers, which tell where all parts of the
 * object lie, and the build-id. */
static uint64_t identity_of(uintptr_t start, uintptr_t build_id) {
	ElfW(Ehdr) elf;
	memcpy(&elf, (const void *)start, sizeof elf);
	uint64_t hash = hash_words(start, sizeof elf, start);
	size_t headers_bytes = elf.e_phnum * sizeof(ElfW(Phdr));
	if (headers_bytes < MW_OS_PAGE_BYTES && elf.e_phoff <= MW_OS_PAGE_BYTES - headers_bytes)
		hash = hash_words(start + elf.e_phoff, headers_bytes, hash);
	if (build_id)
		hash = hash_words(build_id, BUILD_ID_BYTES, hash);
	return hash ? hash : 1;
}

static bool is_still_there(const entry_t *entry) {
	return entry->identity != 0 && mw_os_is_readable(entry->start) &&
	       identity_of(entry->start, entry->build_id) == entry->identity;
}

/* ---- look-up ---- */

static const entry_t *search(const copy_t *copy, uintptr_t address) {
	uint32_t lo = 0, hi = copy->count < MW_OS_OBJECTS_MAX ? copy->count : MW_OS_OBJECTS_MAX;
	uint32_t count = hi;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (copy->entries[middle].start > address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < count && address < copy->entries[lo].limit ? &copy->entries[lo] : NULL;
}

static bool look_up(uintptr_t address, entry_t *found) {
	for (int i = 0; i < TRIES; i++) {
		/* Pairs with the release in publish(). */
		copy_t *copy = atomic_load_explicit(&table.current, memory_order_acquire);
		if (!copy)
			return false;
		/* Pairs with the release in publish(). */
		uint32_t before = atomic_load_explicit(&copy->sequence, memory_order_acquire);
		const entry_t *entry = search(copy, address);
		if (entry)
			*found = *entry;
		/* Orders the reads above before the next one. */
		atomic_thread_fence(memory_order_acquire);
		if (!(before & 1) &&
		    atomic_load_explicit(&copy->sequence, memory_order_relaxed) == before)
			return entry != NULL;
	}
	return false;
}

static _Atomic uintptr_t *region_of(uintptr_t address) {
	return &table.generated[(address >> REGION_BYTES_LOG2) % REGIONS_MAX];
}

bool mw_os_object_table_may_hide(uintptr_t address) {
	/* Relaxed: the value says all. Region 0 is never mapped. */
	return is_used() && atomic_load_explicit(region_of(address), memory_order_relaxed) !=
				    address >> REGION_BYTES_LOG2;
}

static void fill(const entry_t *entry, struct dl_find_object *result) {
	*result = (struct dl_find_object){.dlfo_map_start = (void *)entry->start,
					  .dlfo_map_end = (void *)entry->limit,
					  .dlfo_link_map = &table.links[entry->link].map,
					  .dlfo_eh_frame = (void *)entry->eh_frame};
}

int mw_os_object_table_listed(uintptr_t address, struct dl_find_object *result) {
	entry_t entry;
	if (!is_used())
		return mw_libc_calls._dl_find_object((void *)address, result);
	if (!look_up(address, &entry))
		return -1;
	fill(&entry, result);
	return 0;
}

/* Finds the object of an address, as _dl_find_object(3) does. */
static int find_listed(void *address, struct dl_find_object *result) {
	entry_t entry;
	uintptr_t pc = (uintptr_t)address;
	if (look_up(pc, &entry) && is_still_there(&entry)) {
		fill(&entry, result);
		return 0;
	}
	/* Relaxed: hints. A refresh that misses them is followed by another one. */
	if (mw_os_object_table_may_hide(pc)) {
		atomic_store_explicit(&table.missed[(pc >> REGION_BYTES_LOG2) % MISSED_MAX], pc,
				      memory_order_relaxed);
		atomic_store_explicit(&table.is_missed, true, memory_order_relaxed);
	}
	return -1;
}

/* ---- copying ---- */

static uint32_t free_link(void) {
	for (uint32_t i = 0; i < table.links_used; i++)
		if (!table.links[i].is_taken)
			return i;
	return table.links_used < MW_OS_OBJECTS_MAX ? table.links_used++ : NO_LINK;
}

/* Returns the link of the object, which it keeps if it has one already; NO_LINK: all are taken. */
static uint32_t link_of(const struct dl_phdr_info *info, const entry_t *entry, uintptr_t dynamic) {
	copy_t *current = atomic_load_explicit(&table.current, memory_order_relaxed);
	const entry_t *known = current ? search(current, entry->start) : NULL;
	char name[NAME_BYTES];
	/* A name that does not fit: whoever needs it looks for the path in the mappings. */
	if (mw_fmt(name, NAME_BYTES, "%s", info->dlpi_name ? info->dlpi_name : "") >= NAME_BYTES)
		mw_fmt(name, NAME_BYTES, "?");
	/* musl gives a static program this name; the linker's list has an empty one for every
	 * program. */
	if (mw_strcmp(name, "/proc/self/exe") == 0)
		name[0] = '\0';
	if (known && known->start == entry->start && known->identity == entry->identity &&
	    mw_strcmp(table.links[known->link].name, name) == 0)
		return known->link;
	uint32_t number = free_link();
	if (number == NO_LINK)
		return NO_LINK;
	link_entry_t *link = &table.links[number];
	memcpy(link->name, name, NAME_BYTES);
	link->map = (struct link_map){
		.l_addr = info->dlpi_addr, .l_name = link->name, .l_ld = (ElfW(Dyn) *)dynamic};
	link->is_taken = true;
	return number;
}

static uintptr_t build_id_of(const struct dl_phdr_info *info, uintptr_t start) {
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + header->p_vaddr - start;
		uint32_t id_bytes;
		if (header->p_type != PT_NOTE || at >= MW_OS_PAGE_BYTES ||
		    header->p_memsz > MW_OS_PAGE_BYTES - at)
			continue;
		const char *id = mw_os_object_build_id((const char *)(start + at), header->p_memsz,
						       &id_bytes);
		if (id && id_bytes >= BUILD_ID_BYTES)
			return (uintptr_t)id;
	}
	return 0;
}

/* Returns false if the object has no segment. */
static bool describe(const struct dl_phdr_info *info, entry_t *entry, uintptr_t *dynamic) {
	uintptr_t lo = UINTPTR_MAX, hi = 0;
	*entry = (entry_t){.link = NO_LINK};
	*dynamic = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;
		if (header->p_type == PT_GNU_EH_FRAME)
			entry->eh_frame = start;
		if (header->p_type == PT_DYNAMIC)
			*dynamic = start;
		if (header->p_type != PT_LOAD)
			continue;
		lo = start < lo ? start : lo;
		hi = start + header->p_memsz > hi ? start + header->p_memsz : hi;
	}
	if (lo >= hi)
		return false;
	entry->start = lo & ~(uintptr_t)(MW_OS_PAGE_BYTES - 1);
	entry->limit = hi;
	if (mw_os_is_readable(entry->start)) {
		entry->build_id = build_id_of(info, entry->start);
		entry->identity = identity_of(entry->start, entry->build_id);
	}
	return true;
}

static int add(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	copy_t *copy = argument;
	entry_t entry;
	uintptr_t dynamic;
	if (!describe(info, &entry, &dynamic))
		return 0;
	entry.link = copy->count < MW_OS_OBJECTS_MAX ? link_of(info, &entry, dynamic) : NO_LINK;
	if (entry.link == NO_LINK) {
		table.is_full = true;
		return 0;
	}
	table.links[entry.link].is_listed = true;
	uint32_t at = copy->count++;
	for (; at > 0 && copy->entries[at - 1].start < entry.start; at--)
		copy->entries[at] = copy->entries[at - 1];
	copy->entries[at] = entry;
	return 0;
}

static void publish(copy_t *copy) {
	for (uint32_t i = 0; i < table.links_used; i++) {
		table.links[i].is_taken = table.links[i].is_listed;
		table.links[i].is_listed = false;
	}
	/* Both pair with the acquires in look_up(). */
	atomic_fetch_add_explicit(&copy->sequence, 1, memory_order_release);
	atomic_store_explicit(&table.current, copy, memory_order_release);
	/* An object may lie where generated code was. */
	for (unsigned i = 0; i < REGIONS_MAX; i++)
		if (atomic_load_explicit(&table.generated[i], memory_order_relaxed) != 0)
			atomic_store_explicit(&table.generated[i], 0, memory_order_relaxed);
	note_change();
}

/* Not inlined: gcc would warn of the fence where it builds for ThreadSanitizer. */
static MW_NOINLINE void copy_list(void) {
	copy_t *current = atomic_load_explicit(&table.current, memory_order_relaxed);
	copy_t *copy = &table.copies[current == &table.copies[0]];
	atomic_fetch_add_explicit(&copy->sequence, 1, memory_order_relaxed);
	/* Orders the odd number before the writes below. */
	atomic_thread_fence(memory_order_release);
	copy->count = 0;
	table.is_full = false;
	dl_iterate_phdr(add, copy);
	publish(copy);
}

/* Addresses that were not found and are in no object of the list lie in generated code. */
static void follow_missed(void) {
	const copy_t *copy = atomic_load_explicit(&table.current, memory_order_relaxed);
	for (unsigned i = 0; i < MISSED_MAX; i++) {
		if (atomic_load_explicit(&table.missed[i], memory_order_relaxed) == 0)
			continue;
		uintptr_t pc = atomic_exchange_explicit(&table.missed[i], 0, memory_order_relaxed);
		if (pc == 0 || search(copy, pc) || table.is_full)
			continue;
		/* Relaxed: see mw_os_object_table_may_hide(). */
		atomic_store_explicit(region_of(pc), pc >> REGION_BYTES_LOG2, memory_order_relaxed);
		note_change();
	}
}

/* Called for the first object of the list; the counters are those of the whole list. glibc calls it
 * with the list's lock, which the same thread may take again: the list does not change before the
 * copy is complete, and threads that refresh at the same time wait here for each other. */
static int follow_list(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	(void)argument;
	/* Other libc may let two threads in. Acquire and release: the next one sees what this one
	 * wrote. */
	if (atomic_exchange_explicit(&table.is_busy, true, memory_order_acquire))
		return 1;
	if (!table.is_copied || info->dlpi_adds != table.adds || info->dlpi_subs != table.subs) {
		copy_list();
		table.is_copied = true;
		table.adds = info->dlpi_adds;
		table.subs = info->dlpi_subs;
	}
	follow_missed();
	atomic_store_explicit(&table.is_busy, false, memory_order_release);
	return 1;
}

bool mw_os_object_table_is_due(void) {
	return atomic_load_explicit(&table.is_missed, memory_order_relaxed) && !table.is_frozen;
}

MW_COLD void mw_os_object_table_refresh(void) {
	if (!is_used() || table.is_frozen)
		return;
	int saved_errno = errno;
	/* Before the look at the list: a later miss asks for another one. */
	atomic_store_explicit(&table.is_missed, false, memory_order_relaxed);
	dl_iterate_phdr(follow_list, NULL);
	errno = saved_errno;
}

MW_COLD void mw_os_object_table_forked(bool had_threads) {
	for (unsigned i = 0; i < 2; i++)
		if (table.copies[i].sequence & 1)
			atomic_fetch_add(&table.copies[i].sequence, 1);
	if (table.is_busy)
		table.is_copied = false; /* the copy in the making is lost */
	atomic_store(&table.is_busy, false);
	table.is_frozen |= had_threads;
}

/* An array: it lies with the constants, which each start reads, and not with strings. */
static const char test_variable[] = "MALLOW_TEST_OBJECT_TABLE";

static MW_COLD MW_NOINLINE void use_table(void) {
	mw_libc_calls._dl_find_object = find_listed;
	note_change();
	mw_os_object_table_refresh();
}

void mw_os_object_table_start(void) {
	if (MW_UNLIKELY(!mw_libc_calls._dl_find_object || mw_environment_is_set(test_variable)))
		use_table();
}
