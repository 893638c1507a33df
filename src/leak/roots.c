/* SPDX-License-Identifier: MIT
 * roots.c -- visits the mappings of the process. */
#include "leak/roots.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/libc_text.h"
#include "heap/layout/page.h"
#include "leak/block_index.h"
#include "leak/flood.h"
#include "os/file/page_presence.h"
#include "os/file/proc_maps.h"
#include "os/memory/map.h"
#include "os/process/child.h"
#include "os/process/mapped_object.h"
#include "os/unwind/object.h"

/* Memory below the stack pointer that the x86-64 ABI lets a function use. */
#define RED_ZONE_BYTES 128u
/* Most bytes of libc's control block of a thread, from the thread pointer on. */
#define CONTROL_BLOCK_BYTES 8192u

static struct {
	const mw_leak_roots_t *roots;
	bool reads_threads, reads_data;
	mw_state_holder_t root;              /* the memory that is read now */
	const mw_os_stopped_t *first_thread; /* NULL: it has ended, or did not stop */
	uintptr_t module_limit; /* end of the last program or library that was visited */
	bool is_loader;         /* that one is the dynamic loader */
	/* Offset of a thread's number in its control block; 0: not known. */
	size_t id_offset;
	uintptr_t guard_start, guard_limit; /* the last mapping without access */
	uintptr_t ended; /* control block of an ended thread; 0: none was found */
	mw_leak_roots_read_t read;
	/* Threads whose registers are known, by their thread pointers: indices of others.threads;
	 * others.count is the calling thread. */
	uint16_t by_pointer[MW_OS_STOP_THREADS_MAX + 1];
	size_t known;
	uintptr_t words[32768]; /* copied memory */
} state MW_SPARSE;

/* Reads memory by a copy: the kernel reports addresses that cannot be read. */
static void read_present(uintptr_t start, uintptr_t limit) {
	static const mw_state_holder_t module_data = {.root = MW_LEAK_ROOT_DATA};
	while (start < limit) {
		size_t bytes =
			limit - start < sizeof state.words ? limit - start : sizeof state.words;
		size_t copied = mw_os_copy_memory(state.words, start, bytes);
		mw_leak_flood_from(start < state.module_limit ? &module_data : &state.root, start);
		mw_leak_flood(state.words, copied / sizeof(uintptr_t));
		state.read.bytes += copied;
		if (copied == 0) {
			copied = bytes < mw_os_counted_page_bytes() ? bytes
								    : mw_os_counted_page_bytes();
			state.read.unread_bytes += copied;
		}
		start += copied;
	}
}

/* Reads what is not the heap's. */
static void read_root(uintptr_t start, uintptr_t limit) {
	/* The kernel joins a mapping of the program with the zeroed data of a module before it. */
	uintptr_t edge = state.module_limit;
	if (start < edge && edge < limit) {
		read_root(start, edge);
		start = edge;
	}
	while (start < limit) {
		uintptr_t next, heap_limit = mw_leak_heap_memory(start, &next);
		if (heap_limit == 0)
			mw_os_visit_present(start, next < limit ? next : limit, read_present);
		start = heap_limit != 0 ? heap_limit : next;
	}
}

static bool is_in(const mw_os_mapping_t *mapping, uintptr_t address) {
	return address >= mapping->start && address < mapping->limit;
}

static const mw_os_stopped_t *thread_at(uint32_t index) {
	const mw_os_stop_t *others = &state.roots->others;
	return index < others->count ? &others->threads[index] : &state.roots->self;
}

static uintptr_t thread_pointer_at(size_t position) {
	return thread_at(state.by_pointer[position])->thread_pointer;
}

static void sift(size_t root, size_t count) {
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		child += child + 1 < count &&
			 thread_pointer_at(child) < thread_pointer_at(child + 1);
		if (thread_pointer_at(root) >= thread_pointer_at(child))
			return;
		uint16_t moved = state.by_pointer[root];
		state.by_pointer[root] = state.by_pointer[child];
		state.by_pointer[child] = moved;
	}
}

/* Heap sort (Williams, CACM 7, 1964): qsort(3) may allocate. */
static void sort_threads(void) {
	state.known = 0;
	for (uint32_t i = 0; i <= state.roots->others.count; i++)
		if (thread_at(i)->answered)
			state.by_pointer[state.known++] = (uint16_t)i;
	for (size_t i = state.known / 2; i > 0; i--)
		sift(i - 1, state.known);
	for (size_t last = state.known; last > 1; last--) {
		uint16_t first = state.by_pointer[0];
		state.by_pointer[0] = state.by_pointer[last - 1];
		state.by_pointer[last - 1] = first;
		sift(0, last - 1);
	}
}

/* Returns the first thread from `low` on whose control block is in the mapping, which ends its
 * stack; NULL: none. The first thread's is elsewhere. */
static const mw_os_stopped_t *next_stack(const mw_os_mapping_t *mapping, uintptr_t low) {
	size_t from = 0, to = state.known;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (thread_pointer_at(middle) < low)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < state.known && thread_pointer_at(from) < mapping->limit; from++)
		if (thread_at(state.by_pointer[from]) != state.first_thread)
			return thread_at(state.by_pointer[from]);
	return NULL;
}

/* Returns whether each thread that stopped has its number at this place of its control block. */
static bool is_id_offset(size_t offset) {
	for (size_t i = 0; i < state.known; i++) {
		const mw_os_stopped_t *thread = thread_at(state.by_pointer[i]);
		uint32_t id = 0;
		if (mw_os_copy_memory(&id, thread->thread_pointer + offset, sizeof id) !=
			    sizeof id ||
		    id != thread->thread_id)
			return false;
	}
	return state.known > 0;
}

static size_t find_id_offset(void) {
	enum { HEADER_BYTES = 64 }; /* of addresses and random numbers */
	for (size_t at = HEADER_BYTES; at < CONTROL_BLOCK_BYTES; at += sizeof(uint32_t))
		if (is_id_offset(at))
			return at;
	return 0;
}

/* Returns whether the control block, of an ended thread, is of one that can be joined. The C
 * library sets the number to -1 in a join; the kernel set it to 0 at the thread's end. The block of
 * a detached thread holds its own address once more. */
static bool is_joinable(const uintptr_t *block, size_t words, uintptr_t address) {
	uint32_t id;
	if (state.id_offset == 0 || state.id_offset + sizeof id > words * sizeof *block)
		return false;
	memcpy(&id, (const char *)block + state.id_offset, sizeof id);
	for (size_t i = 3; i < words && id == 0; i++)
		if (block[i] == address)
			return false;
	return id == 0;
}

#if defined(__x86_64__)
/* Returns whether a word of the control block is an address of the guard page below the stack: the
 * C library notes there where it mapped the stack. */
static bool names_guard(const uintptr_t *block, size_t words) {
	for (size_t i = 3; i < words; i++)
		if (block[i] >= state.guard_start && block[i] < state.guard_limit)
			return true;
	return false;
}

/* Looks for a control block, which holds its own address twice, in pages below `limit`; its address
 * is in state.ended. */
static void find_ended(uintptr_t start, uintptr_t limit) {
	enum { STEP = 8 }; /* words: blocks are aligned to 64 bytes */
	for (uintptr_t page = start; page < limit && !state.ended; page += MW_OS_PAGE_BYTES) {
		size_t words = mw_os_copy_memory(state.words, page, MW_OS_PAGE_BYTES) /
			       sizeof *state.words;
		for (size_t i = 0; i + 2 < words && !state.ended; i += STEP) {
			uintptr_t address = page + i * sizeof *state.words;
			if (state.words[i] == address && state.words[i + 2] == address &&
			    names_guard(&state.words[i], words - i))
				state.ended = address;
		}
	}
}
#endif

/* Returns the end of the stack that the mapping begins with if the C library keeps it after its
 * thread's end; 0: it is none. Other memory may follow in the mapping. Of the stack only the
 * pointer to the table of thread-local storage is in use, which lies in the control block at the
 * end, and the result of a thread that nobody joined yet, which is somewhere in that block. */
static uintptr_t read_ended_stack(const mw_os_mapping_t *mapping) {
	state.ended = 0;
#if defined(__x86_64__)
	/* Larger stacks than usual count as data. */
	const uintptr_t most = (uintptr_t)64 << 20;
	uintptr_t start = mapping->start, size = mapping->limit - start, next;
	size = size < most ? size : most;
	if (state.roots->others.running == 0 && !mw_leak_heap_memory(start, &next))
		mw_os_visit_present(start, next - start < size ? next : start + size, find_ended);
#else
	(void)mapping;
#endif
	if (!state.ended)
		return 0;
	uintptr_t end = (state.ended | (MW_OS_PAGE_BYTES - 1)) + 1;
	size_t words = mw_os_copy_memory(state.words, state.ended, end - state.ended) /
		       sizeof *state.words;
	bool is_whole = is_joinable(state.words, words, state.ended);
	mw_leak_flood_from(&state.root, state.ended + sizeof *state.words);
	mw_leak_flood(&state.words[1], words < 2 ? 0 : is_whole ? words - 1 : 1);
	return end;
}

/* Reads a stack of the thread that is between the addresses: what is in use of it. A thread that
 * executes elsewhere (on its alternate stack, a coroutine's, the library's) comes back to a place
 * that is not known, so the whole of its stack counts as used. */
static void read_stack(const mw_os_stopped_t *thread, uintptr_t start, uintptr_t limit) {
	state.root = (mw_state_holder_t){.root = MW_LEAK_ROOT_STACK, .thread = thread->thread_id};
	bool is_here = thread->stack_pointer >= start && thread->stack_pointer < limit;
	uintptr_t used = is_here ? thread->stack_pointer - RED_ZONE_BYTES : start;
	read_root(used > start ? used : start, limit);
}

/* Reads the stacks in a mapping that begins with one: without a guard, the next one follows in the
 * same mapping. */
static void read_stacks(const mw_os_mapping_t *mapping) {
	const mw_state_holder_t data = state.root;
	uintptr_t at = mapping->start;
	const mw_os_stopped_t *thread = next_stack(mapping, at);
	if (!thread) {
		uintptr_t ended = read_ended_stack(mapping);
		at = ended ? ended : at;
	}
	for (; thread; thread = next_stack(mapping, at)) {
		uintptr_t end = thread->thread_pointer + CONTROL_BLOCK_BYTES;
		end = end < mapping->limit ? end : mapping->limit;
		read_stack(thread, at, end);
		at = end;
	}
	state.root = data;
	read_root(at, mapping->limit);
}

/* Shared memory, but no device and no state file, which names sampled blocks. */
static bool is_wanted_shared(const mw_os_mapping_t *mapping) {
	const char *path = mapping->path;
	bool is_device = mw_strncmp(path, "/dev/", 5) == 0 &&
			 mw_strncmp(path, "/dev/shm/", 9) != 0 &&
			 mw_strncmp(path, "/dev/zero", 9) != 0;
	return state.roots->scope.reads_shared && mapping->writable && !is_device &&
	       !mw_strstr(path, "/mallow-") && !mw_strstr(path, ":mallow-");
}

/* Without data: what the loader holds counts all the same, as in LeakSanitizer, and what the first
 * thread's own variables hold, which lie in a mapping of the loader's. */
static void read_without_data(const mw_os_mapping_t *mapping, bool has_guard) {
	const mw_os_stopped_t *first = state.first_thread;
	if (has_guard && read_ended_stack(mapping))
		return;
	if (state.is_loader && mapping->start < state.module_limit)
		read_root(mapping->start, mapping->limit < state.module_limit ? mapping->limit
									      : state.module_limit);
	else if (state.reads_threads && first && is_in(mapping, first->thread_pointer))
		read_root(mapping->start, mapping->limit);
}

static void read_private(const mw_os_mapping_t *mapping, bool is_first_stack, bool has_guard) {
	bool is_known = is_first_stack ? state.first_thread != NULL
				       : has_guard && next_stack(mapping, mapping->start);
	if (is_known && !state.reads_threads)
		return;
	if (!is_known && !state.reads_data) {
		/* Data that is read in another pass has been read. */
		if (state.roots->scope.skips_data)
			read_without_data(mapping, has_guard);
	} else if (is_known && is_first_stack) {
		read_stack(state.first_thread, mapping->start, mapping->limit);
	} else if (has_guard && !is_first_stack) {
		read_stacks(mapping);
	} else if ((uintptr_t)&state < mapping->start || (uintptr_t)&state >= mapping->limit) {
		read_root(mapping->start, mapping->limit);
	} else {
		/* Without the copied memory, which would keep its blocks reachable. */
		read_root(mapping->start, (uintptr_t)&state);
		read_root((uintptr_t)(&state + 1), mapping->limit);
	}
}

/* Who holds what the words of the mapping lead to, except of the data of a module, and of what is
 * in use as a stack. */
static mw_state_holder_t root_of(const mw_os_mapping_t *mapping) {
	const mw_os_stopped_t *first = state.first_thread;
	if (first && is_in(mapping, first->thread_pointer))
		return (mw_state_holder_t){.root = MW_LEAK_ROOT_THREAD_LOCAL,
					   .thread = first->thread_id};
	uintptr_t start = state.module_limit;
	start = is_in(mapping, start) ? start : mapping->start;
	return (mw_state_holder_t){.root = MW_LEAK_ROOT_DATA, .mapping = start};
}

/* Returns whether the mapping, which cannot be written, is data that the program wrote before it
 * had the kernel forbid that: libc of a static program allocates before. */
static bool is_sealed_data(const mw_os_mapping_t *mapping) {
	const mw_os_program_t *program = mw_os_object_program();
	for (unsigned i = 0; i < program->header_count; i++) {
		const ElfW(Phdr) *segment = &program->headers[i];
		uintptr_t start = program->bias + segment->p_vaddr;
		if (segment->p_type == PT_GNU_RELRO && start < mapping->limit &&
		    start + segment->p_memsz > mapping->start)
			return true;
	}
	return false;
}

/* [vvar], since Linux 6.13 also [vvar_vclock], [vdso], [vsyscall] */
static bool is_kernel_page(const char *path) {
	return mw_strncmp(path, "[vvar", 5) == 0 || mw_strcmp(path, "[vdso]") == 0 ||
	       mw_strcmp(path, "[vsyscall]") == 0;
}

static bool visit_mapping(void *context, const mw_os_mapping_t *mapping) {
	(void)context;
	bool is_file = mapping->path[0] != '\0' && mapping->path[0] != '[';
	if (is_file && mapping->file_offset == 0 && mapping->start >= state.module_limit) {
		state.module_limit = mw_os_mapped_object_end(mapping->start);
		state.is_loader = mapping->start == getauxval(AT_BASE);
	}
	state.root = root_of(mapping);
	bool has_guard = state.guard_limit == mapping->start;
	if (!mapping->readable && !mapping->writable) {
		state.guard_start = mapping->start;
		state.guard_limit = mapping->limit;
	}
	if (!mapping->readable || (mapping->shared && !is_wanted_shared(mapping)) ||
	    (!mapping->writable && is_file && !is_sealed_data(mapping)) ||
	    is_kernel_page(mapping->path))
		return true;
	if (mapping->shared) {
		if (!state.reads_data)
			return true;
		/* The copy has no pages of it before it reads them, and reading a hole of a file in
		 * memory takes memory: read are the pages that the process has. */
		mw_os_visit_present_of(mw_os_child_process(), mapping->start, mapping->limit,
				       read_present);
		return true;
	}
	read_private(mapping, mw_strcmp(mapping->path, "[stack]") == 0, has_guard);
	return true;
}

static void read_registers(const mw_os_stopped_t *thread) {
	if (!thread->answered)
		return;
	mw_leak_flood_from(
		&(mw_state_holder_t){.root = MW_LEAK_ROOT_REGISTER, .thread = thread->thread_id},
		0);
	mw_leak_flood(thread->registers, MW_OS_STOP_REGISTERS);
}

static const mw_os_stopped_t *find_first_thread(const mw_leak_roots_t *roots) {
	for (uint32_t i = 0; i < roots->others.count; i++) {
		const mw_os_stopped_t *thread = &roots->others.threads[i];
		if (thread->thread_id == mw_os_child_process())
			return thread->answered ? thread : NULL;
	}
	return roots->self.thread_id == mw_os_child_process() ? &roots->self : NULL;
}

static void read_mappings(bool reads_threads, bool reads_data) {
	const mw_leak_roots_t *roots = state.roots;
	state.reads_threads = reads_threads;
	state.reads_data = reads_data;
	state.module_limit = 0;
	if (reads_threads) {
		read_registers(&roots->self);
		for (uint32_t i = 0; i < roots->others.count; i++)
			read_registers(&roots->others.threads[i]);
	}
	mw_os_visit_mappings(visit_mapping, NULL);
}

mw_leak_roots_read_t mw_leak_roots_flood(const mw_leak_roots_t *roots) {
	const mw_leak_scope_t *scope = &roots->scope;
	state.roots = roots;
	state.first_thread = find_first_thread(roots);
	sort_threads();
	state.id_offset = find_id_offset();
	for (size_t i = 0; i < scope->region_count; i++)
		read_present(scope->regions[i].start, scope->regions[i].limit);
	if (scope->notes_holders) {
		read_mappings(false, true);
		read_mappings(true, false);
	} else {
		read_mappings(!scope->skips_threads, !scope->skips_data);
	}
	return state.read;
}
