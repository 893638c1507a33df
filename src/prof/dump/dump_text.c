/* SPDX-License-Identifier: MIT
 * dump_text.c -- writes jemalloc's heap_v2 text from the profile's tables, for jeprof. */
#include <stdatomic.h>
#include <string.h>

#include "base/math.h"
#include "prof/dump/dump.h"
#include "prof/dump/dump_threads.h"
#include "prof/dump/dump_view.h"
#include "prof/table/depot.h"

/* Mean bytes between samples in the header. The counts are estimates, and readers scale every stack
 * by 1/(1 - exp(-(bytes / objects) / mean)). With a mean of 1 byte the factor is 1 for any real
 * object. The command writes the same (tools/mallow/formats/text/heap_text_write.c). */
#define HEAP_V2_MEAN_BYTES 1

static bool without_allocated;

void mw_dump_leave_out_allocated(bool leave_out) {
	without_allocated = leave_out;
}

static void add(mw_dump_counts_t *sum, const mw_dump_counts_t *more) {
	sum->alloc_objects += more->alloc_objects;
	sum->alloc_bytes += more->alloc_bytes;
	sum->inuse_objects += more->inuse_objects;
	sum->inuse_bytes += more->inuse_bytes;
}

static int64_t scaled(int64_t value, double share) {
	int64_t result = (int64_t)((double)value * share + 0.5);
	return result > 0 ? result : 1;
}

/* Applies the inverse of the readers' scaling. */
static void unscale(int64_t *objects, int64_t *bytes) {
	if (*objects <= 0)
		return;
	if (*bytes <= 0) /* jeprof divides by this */
		*bytes = 1;
	double mean = (double)*bytes / (double)*objects;
	double share = mw_one_minus_exp(mean / HEAP_V2_MEAN_BYTES);
	if (share >= 1.0 - 0x1p-53)
		return;
	*objects = scaled(*objects, share);
	*bytes = scaled(*bytes, share);
}

/* Writes the line of one thread with its live blocks. The bytes that a thread has allocated in
 * total are not known. */
static void write_share(mw_writer_t *out, uint64_t thread, mw_dump_share_t share,
			const char *name) {
	int64_t objects = (share.objects_q16 + 32768) / 65536, bytes = share.bytes;
	unscale(&objects, &bytes);
	mw_writer_print(out, "  t%lu: %ld: %ld [0: 0]%s%s\n", (unsigned long)thread, (long)objects,
			(long)bytes, *name ? " " : "", name);
}

typedef struct share_context {
	mw_writer_t *out;
	const mw_thread_table_t *table;
	bool named;
} share_context_t;

static void visit_share(void *context, uint32_t entry, mw_dump_share_t share) {
	const share_context_t *c = context;
	char name[16] = "";
	if (c->named)
		mw_thread_table_name(c->table, entry, name);
	write_share(c->out, mw_thread_table_number(c->table, entry), share, name);
}

/* Writes the lines of all threads; without memory for them the dump omits them. */
static void write_shares(mw_writer_t *out, mw_dump_threads_t *threads, uint64_t stack) {
	if (!threads)
		return;
	share_context_t context = {
		.out = out,
		.table = mw_dump_threads_table(threads),
		.named = stack == UINT64_MAX,
	};
	mw_dump_threads_visit(threads, stack, visit_share, &context);
}

static void write_counts(mw_writer_t *out, mw_dump_counts_t counts) {
	unscale(&counts.inuse_objects, &counts.inuse_bytes);
	unscale(&counts.alloc_objects, &counts.alloc_bytes);
	if (without_allocated)
		counts.alloc_objects = counts.alloc_bytes = 0;
	mw_writer_print(out, "  t*: %ld: %ld [%ld: %ld]\n", (long)counts.inuse_objects,
			(long)counts.inuse_bytes, (long)counts.alloc_objects,
			(long)counts.alloc_bytes);
}

/* Adds both parts of a stack. Returns false if nothing was counted. */
static bool sum_at(uint64_t number, mw_dump_stack_t *stack, mw_dump_counts_t *counts) {
	if (!mw_dump_stack_at(number, stack))
		return false;
	*counts = stack->sized;
	add(counts, &stack->zero);
	return !without_allocated || counts->inuse_objects > 0;
}

/* Writes " 0x<hex>". Not by mw_fmt(), because a dump has up to half a million addresses. */
static void write_address(mw_writer_t *out, uint64_t address) {
	char text[3 + 16];
	size_t at = sizeof text;
	do
		text[--at] = "0123456789abcdef"[address & 15];
	while ((address >>= 4) != 0);
	text[--at] = 'x';
	text[--at] = '0';
	text[--at] = ' ';
	mw_writer_put(out, text + at, sizeof text - at);
}

/* Modules that were unloaded when the dump began, one bit each. Another module may have the same
 * addresses, and a line of the text does not say whose an address is. So their addresses are
 * displaced to where no process has any. */
#define DISPLACEMENT_SHIFT MW_FRAME_MODULE_SHIFT
typedef struct unloaded {
	uint64_t bits[MW_DUMP_MODULES_MAX / 64];
} unloaded_t;

static void find_unloaded(unloaded_t *unloaded) {
	uint64_t count = mw_dump_module_count();
	*unloaded = (unloaded_t){{0}};
	for (uint64_t i = 0; i < count && i < MW_DUMP_MODULES_MAX; i++)
		if (atomic_load_explicit(&mw_dump_module(i)->unloaded_ns, memory_order_relaxed))
			unloaded->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static uint64_t displacement_of(const unloaded_t *unloaded, uint64_t module) {
	bool is_unloaded = module < MW_DUMP_MODULES_MAX &&
			   unloaded->bits[module / 64] & (uint64_t)1 << (module % 64);
	return is_unloaded ? (module + 1) << DISPLACEMENT_SHIFT : 0;
}

static uint64_t text_address(const unloaded_t *unloaded, uint64_t frame) {
	uint64_t module = mw_dump_frame_module(frame);
	return mw_dump_frame_address(frame) + (module ? displacement_of(unloaded, module - 1) : 0);
}

/* Readers subtract 1 from every address, except that some leave the leaf's unchanged. So the leaf
 * is written as the address to look up. */
static void write_stack(mw_writer_t *out, const mw_dump_stack_t *stack,
			const unloaded_t *unloaded) {
	mw_writer_put(out, "@", 1);
	for (uint32_t node = stack->node, leaf = node; node != 0;) {
		bool is_leaf = node == leaf;
		uint64_t frame = mw_depot_frame(mw_depot_next_frame(&node));
		write_address(out, text_address(unloaded, frame) + !is_leaf);
	}
	/* jeprof treats an empty stack as a repetition of the previous one. */
	if (stack->depth == 0)
		mw_writer_put(out, " 0x0", 4);
	mw_writer_put(out, "\n", 1);
}

/* Writes a path with control characters as octal numbers, as the kernel does, so that it stays on
 * one line. */
static void write_path(mw_writer_t *out, const char *path, size_t capacity) {
	for (size_t i = 0; i < capacity && path[i]; i++)
		if (path[i] == '\n')
			mw_writer_put(out, "\\012", 4);
		else
			mw_writer_put(out, path + i, 1);
	mw_writer_put(out, "\n", 1);
}

static void write_libraries(mw_writer_t *out, const unloaded_t *unloaded) {
	mw_writer_print(out, "\nMAPPED_LIBRARIES:\n");
	uint64_t count = mw_dump_module_count();
	for (uint64_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_dump_module(i);
		uint64_t displacement = displacement_of(unloaded, i);
		mw_writer_print(out, "%08lx-%08lx r-xp %08lx 00:00 0 ",
				(unsigned long)(module->start + displacement),
				(unsigned long)(module->limit + displacement),
				(unsigned long)module->file_offset);
		write_path(out, module->path, sizeof module->path);
	}
}

/* Names of scripts' frames, which no file has. Bits 47..22 of such a frame's address are the number
 * of its function, the lower bits its line (state/script_frames.h). */
static MW_NOINLINE void write_functions(mw_writer_t *out) {
	char text[MW_TEXT_BYTES_MAX];
	uint64_t count = mw_dump_function_count();
	if (count > 0)
		mw_writer_print(out, "\nSCRIPT_FUNCTIONS:\n");
	for (uint64_t i = 1; i < count && out->result == MW_OK; i++) {
		const mw_state_function_t *function = mw_dump_function(i);
		mw_writer_print(out, "%u %lu %u ", function->kind, (unsigned long)i,
				function->first_line);
		mw_writer_put(out, text, mw_dump_text(function->name, text));
		mw_writer_put(out, "\t", 1);
		mw_writer_put(out, text, mw_dump_text(function->file, text));
		mw_writer_put(out, "\n", 1);
	}
}

bool mw_dump_write_heap_v2(mw_writer_t *out) {
	mw_dump_counts_t total = {0}, counts;
	mw_dump_threads_t *threads = mw_dump_threads_gather();
	mw_dump_stack_t stack;
	unloaded_t unloaded;
	find_unloaded(&unloaded);
	uint64_t count = mw_dump_stack_count();
	for (uint64_t i = 0; i < count; i++)
		if (sum_at(i, &stack, &counts))
			add(&total, &counts);
	mw_writer_print(out, "heap_v2/%d\n", HEAP_V2_MEAN_BYTES);
	write_counts(out, total);
	write_shares(out, threads, UINT64_MAX);
	for (uint64_t i = 0; i < count && out->result == MW_OK; i++) {
		if (!sum_at(i, &stack, &counts))
			continue;
		write_stack(out, &stack, &unloaded);
		write_counts(out, counts);
		write_shares(out, threads, i);
	}
	if (threads)
		mw_dump_threads_drop(threads);
	write_libraries(out, &unloaded);
	write_functions(out);
	return true;
}
