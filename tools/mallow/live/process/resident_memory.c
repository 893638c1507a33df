/* SPDX-License-Identifier: MIT
 * resident_memory.c -- adds up smaps by the use of each mapping. */
#include "live/process/resident_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include "live/process/mallow_files.h"
#include "live/process/process.h"
#include "model/memory.h"
#include "state/stats.h"

#define PAGE_BYTES ((uint64_t)sysconf(_SC_PAGESIZE))
/* Entries of pagemap that are read at once; they cover 2 MiB of address space. */
#define PAGEMAP_BATCH 512
/* Bytes of page metadata at the start of each chunk of 4 MiB: two kernel pages. */
#define CHUNK_HEADER_BYTES 8192u

typedef struct mapping {
	uint64_t start, limit, resident;
	uint64_t in_huge_pages; /* part of the resident bytes */
	dev_t device;
	ino_t inode; /* 0: no file */
	char mode[8];
	char path[256];
} mapping_t;

typedef struct reader {
	const mw_snapshot_t *snapshot;
	mw_state_range_t *ranges; /* ranges, ordered by address */
	size_t range_count;
	uint64_t *threads; /* tops of the threads' stacks, ordered by address */
	size_t thread_count;
	mw_state_range_t *owned; /* mappings of the program, ordered by address */
	size_t owned_count;
	uint64_t *by_stack; /* resident bytes by the number of the stack that mapped them */
	int pagemap;        /* descriptor of pagemap; -1 = it cannot be read */
	/* Resident bytes by kind of range; bytes in no range are sorted by their mapping. */
	uint64_t by_kind[MW_RANGE_KINDS];
	uint64_t huge_page_bytes; /* of mappings with chunks */
	mapping_t before;         /* mapping directly below the current one */
	bool before_is_library;
	int pid;
	char executable[256]; /* its path */
	mw_memory_t *out;
} reader_t;

/* Returns a number of /proc/<pid>/status in bytes; 0: there is none. `name` ends with a colon. */
static uint64_t status_bytes(int pid, const char *name) {
	char path[64], line[256];
	uint64_t kilobytes = 0;
	size_t length = strlen(name);
	snprintf(path, sizeof(path), "/proc/%d/status", mw_process_thread(pid));
	FILE *file = fopen(path, "re");
	while (file != NULL && kilobytes == 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, length) == 0)
			kilobytes = strtoull(line + length, NULL, 10);
	if (file != NULL)
		fclose(file);
	return kilobytes <= UINT64_MAX / 1024 ? kilobytes * 1024 : 0;
}

uint64_t mw_memory_anonymous(int pid) {
	return status_bytes(pid, "RssAnon:");
}

uint64_t mw_memory_most(int pid) {
	return status_bytes(pid, "VmHWM:");
}

const char *mw_memory_name(mw_memory_use_t use) {
	static const char *const names[MW_MEMORY_USES] = {
		"live",   "rounding", "free_in_pages", "kept",   "metadata", "profiler",
		"stacks", "files",    "shared",        "mapped", "other",
	};
	return names[use];
}

const char *mw_memory_text(mw_memory_use_t use) {
	static const char *const texts[MW_MEMORY_USES] = {
		"blocks in use, bytes that the program requested",
		"rounding of their sizes",
		"free blocks in the same pages",
		"free, kept for reuse",
		"the allocator's metadata",
		"profile and state file",
		"stacks of threads",
		"files, program and libraries",
		"shared memory",
		"mapped by the program itself",
		"what no counter explains",
	};
	return texts[use];
}

static int compare_ranges(const void *left, const void *right) {
	const mw_state_range_t *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

static int compare_addresses(const void *left, const void *right) {
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Keeps a mapping of the program if its stack exists. */
static void take_owned(reader_t *r, const mw_state_range_t *range) {
	const mw_snapshot_t *snapshot = r->snapshot;
	if (range->start < range->limit && range->stack < snapshot->stack_count &&
	    (snapshot->stacks[range->stack].flags & MW_STACK_MAPPING))
		r->owned[r->owned_count++] = *range;
}

static void sort_ranges(reader_t *r) {
	const mw_snapshot_t *snapshot = r->snapshot;
	r->ranges = mw_xcalloc(snapshot->range_count, sizeof(*r->ranges));
	r->threads = mw_xcalloc(snapshot->range_count, sizeof(*r->threads));
	r->owned = mw_xcalloc(snapshot->range_count, sizeof(*r->owned));
	r->by_stack = mw_xcalloc(snapshot->stack_count, sizeof(*r->by_stack));
	for (size_t i = 0; i < snapshot->range_count; i++) {
		const mw_state_range_t *range = &snapshot->ranges[i];
		if (range->kind == MW_RANGE_THREAD)
			r->threads[r->thread_count++] = range->start;
		else if (range->kind == MW_RANGE_MAPPING)
			take_owned(r, range);
		else if (range->start < range->limit && range->kind < MW_RANGE_KINDS)
			r->ranges[r->range_count++] = *range;
	}
	qsort(r->ranges, r->range_count, sizeof(*r->ranges), compare_ranges);
	qsort(r->threads, r->thread_count, sizeof(*r->threads), compare_addresses);
	qsort(r->owned, r->owned_count, sizeof(*r->owned), compare_ranges);
}

/* Returns the number of resident pages in [start, limit). */
static uint64_t present_pages(const reader_t *r, uint64_t start, uint64_t limit) {
	uint64_t entries[PAGEMAP_BATCH], count = 0;
	uint64_t page = start / PAGE_BYTES, end = (limit + PAGE_BYTES - 1) / PAGE_BYTES;
	while (page < end) {
		uint64_t wanted = end - page < PAGEMAP_BATCH ? end - page : PAGEMAP_BATCH;
		ssize_t got = pread(r->pagemap, entries, wanted * sizeof(*entries),
				    (off_t)(page * sizeof(*entries)));
		if (got < (ssize_t)sizeof(*entries))
			break;
		uint64_t read = (uint64_t)got / sizeof(*entries);
		for (uint64_t i = 0; i < read; i++)
			count += entries[i] >> 63;
		page += read;
	}
	return count;
}

/* Returns the resident bytes in [start, limit), or all bytes if pagemap cannot be read. */
static uint64_t weigh(const reader_t *r, uint64_t start, uint64_t limit) {
	if (r->pagemap >= 0)
		return present_pages(r, start, limit);
	return (limit - start + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* Divides a mapping's resident bytes among the ranges in it.  Returns the bytes that are in no
 * range. */
static uint64_t take_ranges(reader_t *r, const mapping_t *m) {
	uint64_t by_kind[MW_RANGE_KINDS] = {0}, all = 0, at = m->start, given = 0;
	size_t i = 0;
	while (i < r->range_count && r->ranges[i].limit <= m->start)
		i++;
	if (i == r->range_count || r->ranges[i].start >= m->limit)
		return m->resident;
	for (; i < r->range_count && r->ranges[i].start < m->limit; i++) {
		const mw_state_range_t *range = &r->ranges[i];
		uint64_t start = range->start > at ? range->start : at;
		uint64_t limit = range->limit < m->limit ? range->limit : m->limit;
		if (start >= limit)
			continue;
		/* One range covers the mapping, the most frequent case, so its pages need not be
		 * read. */
		if (start == m->start && limit == m->limit) {
			r->by_kind[range->kind] += m->resident;
			return 0;
		}
		by_kind[MW_RANGE_NONE] += start > at ? weigh(r, at, start) : 0;
		by_kind[range->kind] += weigh(r, start, limit);
		at = limit;
	}
	by_kind[MW_RANGE_NONE] += at < m->limit ? weigh(r, at, m->limit) : 0;
	for (int kind = 0; kind < MW_RANGE_KINDS; kind++)
		all += by_kind[kind];
	for (int kind = MW_RANGE_NONE + 1; all > 0 && kind < MW_RANGE_KINDS; kind++) {
		uint64_t share =
			(uint64_t)((double)m->resident * (double)by_kind[kind] / (double)all);
		share = share < m->resident - given ? share : m->resident - given;
		r->by_kind[kind] += share;
		given += share;
	}
	return m->resident - given;
}

/* Returns the end of the uppermost thread stack in a mapping; 0 = there is none.  The C library
 * puts the thread pointer on the last page of a stack. */
static uint64_t top_of_stacks(const reader_t *r, const mapping_t *m) {
	uint64_t top = 0;
	for (size_t i = 0; i < r->thread_count && r->threads[i] < m->limit; i++)
		if (r->threads[i] >= m->start)
			top = r->threads[i] / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
	return top < m->limit ? top : m->limit;
}

static bool is_shared_memory(const mapping_t *m) {
	static const char *const begins[] = {"/dev/zero", "/SYSV", "/memfd:", "/dev/shm/",
					     "/anon_hugepage"};
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (m->mode[3] == 's' && strncmp(m->path, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Returns the use of a mapping that holds no range and no known stack. */
static mw_memory_use_t use_of(const reader_t *r, const mapping_t *m) {
	if (strstr(m->path, "/mallow-") != NULL || strstr(m->path, "mallow-state") != NULL)
		return MW_MEMORY_PROFILER;
	if (strncmp(m->path, "[stack", 6) == 0)
		return MW_MEMORY_STACKS;
	if (m->path[0] == '/')
		return is_shared_memory(m) ? MW_MEMORY_SHARED : MW_MEMORY_FILES;
	if (m->path[0] == '\0' && r->before_is_library && r->before.limit == m->start)
		return MW_MEMORY_METADATA;
	/* Others are of the kernel: [vdso], [vvar]. */
	if (m->path[0] == '[' && strcmp(m->path, "[heap]") != 0 &&
	    strncmp(m->path, "[anon", 5) != 0)
		return MW_MEMORY_OTHER;
	return MW_MEMORY_MAPPED;
}

/* Subtracts thread stacks from a mapping.  The kernel merges a stack with a mapping above it. */
static uint64_t take_stacks(reader_t *r, const mapping_t *m, uint64_t rest) {
	uint64_t top = top_of_stacks(r, m);
	if (top == 0 || rest == 0)
		return 0;
	uint64_t of_stacks = weigh(r, m->start, top), above = weigh(r, top, m->limit);
	if (of_stacks + above == 0)
		return 0;
	uint64_t share = (uint64_t)((double)rest * (double)of_stacks / (double)(of_stacks + above));
	r->out->bytes[MW_MEMORY_STACKS] += share;
	return share;
}

/* Takes at most `wanted` bytes of `*left`. */
static uint64_t take(uint64_t *left, uint64_t wanted) {
	uint64_t taken = wanted < *left ? wanted : *left;
	*left -= taken;
	return taken;
}

/* Divides bytes of a mapping of the kernel among the calls of the program that made it. */
static void share_out(reader_t *r, const mapping_t *m, uint64_t bytes) {
	uint64_t left = bytes;
	for (size_t i = 0; i < r->owned_count && r->owned[i].start < m->limit; i++) {
		const mw_state_range_t *range = &r->owned[i];
		uint64_t start = range->start > m->start ? range->start : m->start;
		uint64_t limit = range->limit < m->limit ? range->limit : m->limit;
		if (start >= limit)
			continue;
		uint64_t wanted = r->pagemap >= 0
					  ? present_pages(r, start, limit) * PAGE_BYTES
					  : (uint64_t)((double)bytes * (double)(limit - start) /
						       (double)(m->limit - m->start));
		uint64_t share = take(&left, wanted);
		r->by_stack[range->stack] += share;
		r->out->owned_bytes += share;
	}
}

/* Finds the stacks that mapped most. */
static void choose_owners(reader_t *r) {
	mw_memory_t *out = r->out;
	for (size_t i = 0; i < r->snapshot->stack_count; i++) {
		uint64_t bytes = r->by_stack[i];
		size_t k = out->owner_count;
		if (bytes == 0 || (k == MW_MEMORY_OWNERS_MAX && bytes <= out->owners[k - 1].bytes))
			continue;
		if (k == MW_MEMORY_OWNERS_MAX)
			k--;
		else
			out->owner_count++;
		for (; k > 0 && out->owners[k - 1].bytes < bytes; k--)
			out->owners[k] = out->owners[k - 1];
		out->owners[k] = (mw_stack_bytes_t){.stack = (uint32_t)i, .bytes = bytes};
	}
}

/* Returns whether the mapping is of mallow's library, whatever its name. In an executable that is
 * linked with it, its data lie among the program's. */
static bool is_of_library(const reader_t *r, const mapping_t *m) {
	if (m->path[0] != '/' || strcmp(m->path, r->executable) == 0)
		return false;
	if (strstr(m->path, "libmallow") != NULL)
		return true;
	return mw_mallow_files_has(r->pid, m->device, m->inode);
}

static void take_mapping(reader_t *r, const mapping_t *m) {
	bool is_library = is_of_library(r, m);
	uint64_t chunks_before = r->by_kind[MW_RANGE_CHUNKS];
	uint64_t rest = take_ranges(r, m);
	if (r->by_kind[MW_RANGE_CHUNKS] > chunks_before)
		r->huge_page_bytes += m->in_huge_pages;
	r->out->resident_bytes += m->resident;
	uint64_t stacks = m->path[0] == '\0' ? take_stacks(r, m, rest) : 0;
	mw_memory_use_t use = stacks > 0 ? MW_MEMORY_MAPPED : use_of(r, m);
	r->out->bytes[use] += rest - stacks;
	if ((use == MW_MEMORY_MAPPED || use == MW_MEMORY_SHARED) && r->owned_count > 0)
		share_out(r, m, rest - stacks);
	/* The zeroed data of the library is the anonymous mapping that follows its file. */
	r->before_is_library = is_library || (r->before_is_library && m->path[0] == '\0' &&
					      r->before.limit == m->start);
	r->before = *m;
}

/* Parses "start-limit mode offset device inode path". */
static bool parse_mapping(const char *line, mapping_t *m) {
	int path_at = 0;
	unsigned major_number, minor_number;
	uint64_t inode;
	*m = (mapping_t){0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %x:%x %" SCNu64 " %n", &m->start,
		   &m->limit, m->mode, &major_number, &minor_number, &inode, &path_at) < 6 ||
	    m->start >= m->limit)
		return false;
	m->device = makedev(major_number, minor_number);
	m->inode = (ino_t)inode;
	snprintf(m->path, sizeof(m->path), "%s", path_at > 0 ? line + path_at : "");
	m->path[strcspn(m->path, "\n")] = '\0';
	return true;
}

static void read_smaps(reader_t *r, FILE *smaps) {
	char *line = NULL;
	size_t size = 0;
	mapping_t at = {0}, next;
	while (getline(&line, &size, smaps) > 0) {
		uint64_t kilobytes;
		if (sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1) {
			at.resident = kilobytes * 1024;
		} else if (sscanf(line, "AnonHugePages: %" SCNu64, &kilobytes) == 1) {
			at.in_huge_pages = kilobytes * 1024;
		} else if (sscanf(line, "Swap: %" SCNu64, &kilobytes) == 1) {
			r->out->swapped_bytes += kilobytes * 1024;
		} else if (strchr("0123456789abcdef", line[0]) != NULL &&
			   parse_mapping(line, &next)) {
			if (at.limit != 0)
				take_mapping(r, &at);
			at = next;
		}
	}
	if (at.limit != 0)
		take_mapping(r, &at);
	free(line);
}

/* Returns the share of usable bytes that the program did not request. */
static double rounding_share(const mw_snapshot_t *snapshot) {
	double usable = 0, requested = 0;
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		if (snapshot->stacks[i].flags & MW_STACK_MAPPING)
			continue;
		usable += (double)snapshot->stacks[i].live_bytes;
		requested += (double)snapshot->stacks[i].live_requested_bytes;
	}
	return usable > 0 && requested >= 0 && requested < usable ? 1 - requested / usable : 0;
}

/* Divides the heap's memory.  The heap walk is older than smaps: what is neither free nor metadata
 * counts as blocks up to their size by the walk, and what is more has no explanation.  But where
 * chunks have huge pages, it is the rest of these, which came with the first access. */
static void split_heap(reader_t *r) {
	const mw_state_live_t *live = &r->snapshot->live;
	mw_memory_t *out = r->out;
	uint64_t chunks = r->by_kind[MW_RANGE_CHUNKS], free_bytes = 0;
	for (size_t i = 0; i < r->snapshot->class_count; i++) {
		const mw_state_class_t *class = &r->snapshot->classes[i];
		if (class->touched_bytes > class->used_bytes)
			free_bytes += class->touched_bytes - class->used_bytes;
		out->blocks_bytes += class->used_bytes;
	}
	uint64_t in_chunks = out->blocks_bytes;
	out->blocks_bytes += live->stats[MW_STAT_huge_bytes];
	out->bytes[MW_MEMORY_METADATA] +=
		r->by_kind[MW_RANGE_METADATA] +
		take(&chunks, live->stats[MW_STAT_chunks] * CHUNK_HEADER_BYTES);
	out->bytes[MW_MEMORY_KEPT] +=
		r->by_kind[MW_RANGE_HUGE_CACHED] + take(&chunks, live->stats[MW_STAT_dirty_bytes]);
	out->bytes[MW_MEMORY_FREE] += take(&chunks, free_bytes);
	uint64_t more = chunks > in_chunks ? chunks - in_chunks : 0;
	out->bytes[MW_MEMORY_KEPT] += take(&chunks, take(&more, r->huge_page_bytes));
	out->bytes[MW_MEMORY_PROFILER] += r->by_kind[MW_RANGE_PROFILER];
	uint64_t blocks = chunks + r->by_kind[MW_RANGE_HUGE];
	uint64_t known = take(&blocks, out->blocks_bytes);
	uint64_t rounding = (uint64_t)((double)known * rounding_share(r->snapshot));
	out->bytes[MW_MEMORY_OTHER] += blocks;
	out->bytes[MW_MEMORY_ROUNDING] = take(&known, rounding);
	out->bytes[MW_MEMORY_LIVE] = known;
}

/* What the heap maps beyond the ranges of the walk is not the program's: the walk is older, there
 * was none yet, or the file had no room. */
static void take_unwalked(reader_t *r) {
	mw_memory_t *out = r->out;
	uint64_t mapped = r->snapshot->live.stats[MW_STAT_mapped_bytes];
	for (size_t i = 0; i < r->range_count; i++)
		if (r->ranges[i].kind == MW_RANGE_CHUNKS || r->ranges[i].kind == MW_RANGE_HUGE ||
		    r->ranges[i].kind == MW_RANGE_HUGE_CACHED)
			take(&mapped, r->ranges[i].limit - r->ranges[i].start);
	out->bytes[MW_MEMORY_OTHER] += take(&out->bytes[MW_MEMORY_MAPPED], mapped);
}

mw_resident_t mw_memory_parts(const mw_memory_t *m) {
	const uint64_t *by_use = m->bytes;
	uint64_t blocks = by_use[MW_MEMORY_LIVE] + by_use[MW_MEMORY_ROUNDING];
	return (mw_resident_t){
		.bytes = m->resident_bytes,
		.most_bytes = m->most_bytes > m->resident_bytes ? m->most_bytes : m->resident_bytes,
		.parts = {[MW_RESIDENT_MALLOC] = blocks + by_use[MW_MEMORY_FREE] +
						 by_use[MW_MEMORY_KEPT] +
						 by_use[MW_MEMORY_METADATA],
			  [MW_RESIDENT_MAPPED] = by_use[MW_MEMORY_MAPPED],
			  [MW_RESIDENT_FILES] = by_use[MW_MEMORY_FILES],
			  [MW_RESIDENT_SHARED] = by_use[MW_MEMORY_SHARED],
			  [MW_RESIDENT_STACKS] = by_use[MW_MEMORY_STACKS],
			  [MW_RESIDENT_PROFILER] = by_use[MW_MEMORY_PROFILER],
			  [MW_RESIDENT_UNEXPLAINED] = by_use[MW_MEMORY_OTHER]},
		.block_bytes = m->blocks_bytes,
		.touched_bytes = blocks,
		.swapped_bytes = m->swapped_bytes,
	};
}

int mw_memory_read(int pid, const mw_snapshot_t *snapshot, mw_memory_t *out, mw_error_t *error) {
	char path[64];
	if (snapshot->live.flags & MW_STATE_ATTACHED)
		return mw_error_set(error,
				    "pid %d: its memory cannot be divided: it is attached to, and "
				    "has an allocator of its own",
				    pid);
	snprintf(path, sizeof(path), "/proc/%d/smaps", mw_process_thread(pid));
	FILE *smaps = fopen(path, "re");
	if (smaps == NULL)
		return mw_error_set(error, "%s: cannot open: %s", path, strerror(errno));
	*out = (mw_memory_t){.walked_ns = (int64_t)snapshot->live.heap_walk_realtime_ns,
			     .most_bytes = mw_memory_most(pid)};
	if (snapshot->live.ranges_used > snapshot->range_count)
		out->ranges_missing = snapshot->live.ranges_used - snapshot->range_count;
	reader_t r = {.snapshot = snapshot, .out = out, .pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/exe", mw_process_thread(pid));
	ssize_t length = readlink(path, r.executable, sizeof(r.executable) - 1);
	r.executable[length > 0 ? length : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	r.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	sort_ranges(&r);
	mw_mallow_files_read(pid, MW_READ_APART);
	read_smaps(&r, smaps);
	split_heap(&r);
	take_unwalked(&r);
	choose_owners(&r);
	free(r.owned);
	free(r.by_stack);
	free(r.ranges);
	free(r.threads);
	if (r.pagemap >= 0)
		close(r.pagemap);
	fclose(smaps);
	return 0;
}
