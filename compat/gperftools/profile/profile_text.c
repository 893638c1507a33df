/* SPDX-License-Identifier: MIT
 * profile_text.c -- writes the profile in gperftools' text format, and as an array of words.
 *
 * All stacks are copied first, so that the sums in the first line are those of the lines below. */
#include <fcntl.h>
#include <gperftools/heap-profiler.h>
#include <mallow/mallow.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/growth.h"
#include "compat/gperftools/profile/heap_profiler.h"

#define OUT_BYTES 4096
/* Longest text of one call of put(), including a line of /proc/self/maps. */
#define PIECE_BYTES 512

typedef struct out {
	mw_gp_write_t write;
	void *context;
	size_t length;
	char bytes[OUT_BYTES];
} out_t;

static void flush(out_t *out) {
	if (out->length > 0)
		out->write(out->context, out->bytes, out->length);
	out->length = 0;
}

static MW_PRINTF(2, 3) void put(out_t *out, const char *format, ...) {
	if (out->length + PIECE_BYTES > OUT_BYTES)
		flush(out);
	va_list args;
	va_start(args, format);
	out->length += mw_vfmt(out->bytes + out->length, PIECE_BYTES, format, args);
	va_end(args);
}

static int by_live_bytes(const void *left, const void *right) {
	const mw_compat_stack_t *a = left, *b = right;
	return (a->inuse_bytes < b->inuse_bytes) - (a->inuse_bytes > b->inuse_bytes);
}

/* Returns the stacks with counts of blocks, or of mappings, those with most live bytes first; NULL:
 * none, or no memory. */
static mw_compat_stack_t *gather(size_t *count, bool mappings) {
	const mw_compat_calls_t *calls = mw_gp_calls();
	size_t stacks = calls->stack_count();
	*count = 0;
	mw_compat_stack_t *all = stacks ? malloc(stacks * sizeof *all) : NULL;
	if (!all)
		return NULL;
	for (size_t i = 0; i < stacks; i++)
		*count += calls->stack_at(i, &all[*count]) && all[*count].is_mapping == mappings;
	qsort(all, *count, sizeof *all, by_live_bytes);
	return all;
}

/* Returns the stacks that made the heap grow, the last one first; NULL: none, or no memory. */
static mw_compat_stack_t *gather_growth(size_t *count) {
	size_t room = mw_gp_growth_read(NULL, 0);
	*count = 0;
	mw_compat_stack_t *all = room ? malloc(room * sizeof *all) : NULL;
	if (all)
		*count = mw_gp_growth_read(all, room);
	return all;
}

static void put_counts(out_t *out, const mw_compat_stack_t *stack, bool full) {
	put(out, "%6ld: %8ld [%6ld: %8ld] @", (long)stack->inuse_objects, (long)stack->inuse_bytes,
	    (long)(full ? stack->alloc_objects : stack->inuse_objects),
	    (long)(full ? stack->alloc_bytes : stack->inuse_bytes));
}

static void put_stack(out_t *out, const mw_compat_stack_t *stack, bool full) {
	put_counts(out, stack, full);
	for (unsigned i = 0; i < stack->depth; i++)
		put(out, " 0x%08lx", (unsigned long)stack->pcs[i]);
	/* Readers treat a stack without addresses as an error. */
	if (stack->depth == 0)
		put(out, " 0x%08x", 0);
	put(out, "\n");
}

static void put_libraries(out_t *out) {
	put(out, "\nMAPPED_LIBRARIES:\n");
	flush(out);
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t length;
	while ((length = read(file, out->bytes, OUT_BYTES)) > 0)
		out->write(out->context, out->bytes, (size_t)length);
	close(file);
}

/* Writes the lines of the program's mappings, which are not in the sums of the first line. */
static void put_mappings(out_t *out) {
	size_t count;
	mw_compat_stack_t *all = gather(&count, true);
	for (size_t i = 0; i < count; i++)
		put_stack(out, &all[i], true);
	free(all);
}

/* Writes the first line but for its last word. */
static void put_header(out_t *out, const mw_compat_stack_t *stacks, size_t count, bool full) {
	mw_compat_stack_t sum = {0};
	for (size_t i = 0; i < count; i++) {
		sum.inuse_objects += stacks[i].inuse_objects;
		sum.inuse_bytes += stacks[i].inuse_bytes;
		sum.alloc_objects += stacks[i].alloc_objects;
		sum.alloc_bytes += stacks[i].alloc_bytes;
	}
	put(out, "heap profile: ");
	put_counts(out, &sum, full);
}

static void put_stacks(out_t *out, mw_gp_profile_t kind) {
	mw_compat_stack_t *all = NULL;
	size_t count = 0;
	bool growth = kind == MW_GP_PROFILE_GROWTH, full = !growth && kind != MW_GP_PROFILE_LIVE;
	if (growth)
		all = gather_growth(&count);
	else if (kind != MW_GP_PROFILE_MAPPINGS)
		all = gather(&count, false);
	put_header(out, all, count, full);
	put(out, full ? " heapprofile\n" : growth ? " growth\n" : " heap_v2/1\n");
	if (kind == MW_GP_PROFILE_ALL || kind == MW_GP_PROFILE_MAPPINGS)
		put_mappings(out);
	for (size_t i = 0; i < count; i++)
		if (full || all[i].inuse_objects > 0)
			put_stack(out, &all[i], full);
	free(all);
}

void mw_gp_profile_text(mw_gp_profile_t kind, mw_gp_write_t write, void *context) {
	mallow_ignore_begin();
	out_t out = {.write = write, .context = context};
	put_stacks(&out, kind);
	put_libraries(&out);
	mallow_ignore_end();
}

void mw_gp_profile_stacks(const mw_compat_stack_t *stacks, size_t count, mw_gp_write_t write,
			  void *context) {
	out_t out = {.write = write, .context = context};
	put_header(&out, stacks, count, true);
	put(&out, " heapprofile\n");
	for (size_t i = 0; i < count; i++)
		put_stack(&out, &stacks[i], true);
	put_libraries(&out);
}

/* ---- words ---- */

/* Words of a stack besides its addresses: objects, bytes, depth. */
#define STACK_WORDS 3

/* Writes the counts of objects in use. */
static void **words_of(const mw_compat_stack_t *all, size_t count, mw_gp_take_t *take) {
	size_t words = 1;
	for (size_t i = 0; i < count; i++)
		if (all[i].inuse_objects > 0)
			words += STACK_WORDS + all[i].depth;
	void **result = take(words * sizeof *result), **next = result;
	for (size_t i = 0; i < count && result; i++) {
		if (all[i].inuse_objects <= 0)
			continue;
		*next++ = (void *)(uintptr_t)all[i].inuse_objects;
		*next++ = (void *)(uintptr_t)all[i].inuse_bytes;
		*next++ = (void *)(uintptr_t)all[i].depth;
		for (unsigned frame = 0; frame < all[i].depth; frame++)
			*next++ = (void *)(uintptr_t)all[i].pcs[frame];
	}
	if (result)
		*next = NULL;
	return result;
}

void **mw_gp_profile_words(mw_gp_take_t *take) {
	mallow_ignore_begin();
	size_t count;
	mw_compat_stack_t *all = gather(&count, false);
	void **words = words_of(all, count, take);
	free(all);
	mallow_ignore_end();
	return words;
}

void **mw_gp_growth_words(mw_gp_take_t *take) {
	mallow_ignore_begin();
	size_t count;
	mw_compat_stack_t *all = gather_growth(&count);
	void **words = words_of(all, count, take);
	free(all);
	mallow_ignore_end();
	return words;
}

/* ---- a string ---- */

typedef struct string {
	char *text;
	size_t length, capacity;
} string_t;

static void append(void *context, const char *text, size_t length) {
	string_t *string = context;
	if (string->length + length + 1 > string->capacity) {
		size_t capacity = 2 * (string->length + length + 1);
		char *larger = realloc(string->text, capacity);
		if (!larger)
			return;
		string->text = larger;
		string->capacity = capacity;
	}
	memcpy(string->text + string->length, text, length);
	string->length += length;
	string->text[string->length] = '\0';
}

char *GetHeapProfile(void) {
	mallow_ignore_begin();
	string_t string = {.text = NULL};
	if (IsHeapProfilerRunning())
		mw_gp_profile_text(mw_gp_profiler_kind(), append, &string);
	else
		string.text = calloc(1, 1);
	mallow_ignore_end();
	return string.text;
}
