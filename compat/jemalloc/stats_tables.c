/* SPDX-License-Identifier: MIT
 * stats_tables.c -- malloc_stats_print() as text: jemalloc's sections, line by line. */
#include <string.h>

#include "base/fmt.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/stats_columns.h"
#include "compat/jemalloc/stats_print.h"

static unsigned long figure_in(const char *prefix, const char *name) {
	return (unsigned long)mw_table_figure(prefix, name);
}

static unsigned long figure(const char *name) {
	return (unsigned long)mw_print_figure(name);
}

/* ---- options ---- */

static void print_value(const char *name, mw_mallctl_type_t type, char *text, size_t room) {
	uint64_t value = mw_print_figure(name);
	switch (type) {
	case MW_MALLCTL_FLAG:
		mw_fmt(text, room, "%s", value ? "true" : "false");
		break;
	case MW_MALLCTL_TEXT:
		mw_fmt(text, room, "\"%s\"", mw_print_words(name));
		break;
	case MW_MALLCTL_SIGNED:
		mw_fmt(text, room, "%ld", (long)value);
		break;
	case MW_MALLCTL_FIXED:
		mw_print_fixed((uint32_t)value, text, room);
		break;
	case MW_MALLCTL_NUMBER:
	case MW_MALLCTL_OTHER:
		mw_fmt(text, room, "%lu", (unsigned long)value);
		break;
	}
}

/* Returns the control name with the current value of an option that can change at run time; "": the
 * option cannot change. */
static const char *name_since(const char *option) {
	static const char changed[][2][32] = {
		{"opt.background_thread", "background_thread"},
		{"opt.dirty_decay_ms", "arenas.dirty_decay_ms"},
		{"opt.muzzy_decay_ms", "arenas.muzzy_decay_ms"},
		{"opt.prof_active", "prof.active"},
		{"opt.prof_thread_active_init", "prof.thread_active_init"},
		{"opt.lg_prof_sample", "prof.lg_sample"},
	};
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		if (strcmp(option, changed[i][0]) == 0)
			return changed[i][1];
	return "";
}

/* Prints every readable name that begins with the prefix and has no index. */
static void print_names(const mw_printer_t *out, const char *title, const char *prefix) {
	mw_print_text(out, "%s\n", title);
	const char *name;
	for (size_t i = 0; (name = mw_mallctl_name(i)) != NULL; i++) {
		mw_mallctl_row_t row = mw_mallctl_row(i);
		if (strncmp(name, prefix, strlen(prefix)) != 0 || strchr(name, '<') ||
		    !row.readable)
			continue;
		char value[400], now[24];
		const char *since = name_since(name);
		print_value(name, row.type, value, sizeof value);
		if (*since) {
			print_value(since, row.type, now, sizeof now);
			mw_print_text(out, "  %s: %s (%s: %s)\n", name, value, since, now);
		} else {
			mw_print_text(out, "  %s: %s\n", name, value);
		}
	}
}

static void print_general(const mw_printer_t *out) {
	mw_print_text(out, "Version: \"%s\"\n", mw_print_words("version"));
	print_names(out, "Build-time option settings", "config.");
	print_names(out, "Run-time option settings", "opt.");
	print_names(out, "Profiling settings", "prof.");
	static const struct {
		char text[40], name[12];
	} lines[] = {
		{"Arenas", "narenas"},
		{"Quantum size", "quantum"},
		{"Page size", "page"},
		{"Maximum thread-cached size class", "tcache_max"},
		{"Number of bin size classes", "nbins"},
		{"Number of thread-cache bin size classes", "nhbins"},
		{"Number of large size classes", "nlextents"},
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		mw_print_text(out, "%s: %lu\n", lines[i].text, figure_in("arenas.", lines[i].name));
}

/* ---- tables ---- */

/* Prints the locks whose names begin with `pattern`; an index in `pattern` is taken from
 * `prefix`. */
static void print_locks(const mw_printer_t *out, const char *pattern, const char *prefix,
			uint64_t uptime_ns) {
	static const char first[] = ".num_ops";
	mw_table_line_t line = {.length = 0};
	mw_table_add_label(&line, "");
	mw_table_add_heading(&line, MW_TABLE_LOCKS, NULL);
	mw_table_end_line(&line, out);
	const char *name;
	for (size_t i = 0; (name = mw_mallctl_name(i)) != NULL; i++) {
		size_t begin = strlen(pattern), end = strlen(name) - (sizeof first - 1);
		if (strncmp(name, pattern, begin) != 0 || strcmp(name + end, first) != 0)
			continue;
		char lock[24], figures[96];
		mw_fmt(lock, sizeof lock, "%.*s", (int)(end - begin), name + begin);
		mw_fmt(figures, sizeof figures, "%s%s.", prefix, lock);
		mw_table_add_label(&line, lock);
		mw_table_add_row(&line, MW_TABLE_LOCKS,
				 &(mw_table_row_t){.prefix = figures, .uptime_ns = uptime_ns});
		mw_table_end_line(&line, out);
	}
}

/* A table with a row for each size. */
typedef struct sized {
	mw_table_t table;
	const char *label; /* label of the heading */
	const char *names; /* names of the rows, below the arena's prefix */
	const char *sizes; /* names of figures of each class; NULL: sizes of extents */
	const char *used;  /* a row is shown if this figure is not 0 */
	const char *first; /* figure that tells whether the row exists */
	uint64_t index;    /* index of the first row */
	bool locks;
} sized_t;

static bool exists(const char *prefix, const char *name) {
	char whole[128];
	uint64_t value;
	size_t length = sizeof value;
	mw_fmt(whole, sizeof whole, "%s%s", prefix, name);
	return mw_mallctl(whole, &value, &length, NULL, 0) == 0;
}

static void print_sized_row(const mw_printer_t *out, const sized_t *sized, mw_table_row_t *row) {
	mw_table_line_t line = {.length = 0};
	mw_table_add_row(&line, sized->table, row);
	if (sized->locks) {
		char lock[96];
		mw_fmt(lock, sizeof lock, "%smutex.", row->prefix);
		mw_table_add_row(&line, MW_TABLE_LOCKS,
				 &(mw_table_row_t){.prefix = lock, .uptime_ns = row->uptime_ns});
	}
	mw_table_end_line(&line, out);
}

/* Rows without any block are left out and replaced by a mark. */
static void print_sized(const mw_printer_t *out, const char *arena, uint64_t uptime_ns,
			const sized_t *sized) {
	static const char gap_mark[] = "                     ---\n";
	mw_table_line_t line = {.length = 0};
	mw_table_add_heading(&line, sized->table, sized->label);
	if (sized->locks)
		mw_table_add_heading(&line, MW_TABLE_LOCKS, NULL);
	mw_table_end_line(&line, out);
	bool gap = false;
	for (size_t i = 0;; i++) {
		char prefix[80], sizes[40] = "";
		mw_fmt(prefix, sizeof prefix, "%s%s%zu.", arena, sized->names, i);
		if (!exists(prefix, sized->first))
			break;
		if (mw_table_figure(prefix, sized->used) == 0) {
			gap = true;
			continue;
		}
		if (gap)
			mw_print_text(out, gap_mark);
		gap = false;
		if (sized->sizes)
			mw_fmt(sizes, sizeof sizes, "%s%zu.", sized->sizes, i);
		mw_table_row_t row = {.prefix = prefix,
				      .sizes = sizes,
				      .size = sized->sizes ? mw_table_figure(sizes, "size")
							   : mw_mallctl_extent_bytes(i),
				      .index = sized->index + i,
				      .uptime_ns = uptime_ns};
		print_sized_row(out, sized, &row);
	}
	if (gap)
		mw_print_text(out, gap_mark);
}

static void print_bins(const mw_printer_t *out, const char *arena, uint64_t uptime_ns) {
	print_sized(out, arena, uptime_ns,
		    &(sized_t){.table = MW_TABLE_BINS,
			       .label = "bins:",
			       .names = "bins.",
			       .sizes = "arenas.bin.",
			       .used = "nslabs+nmalloc",
			       .first = "nslabs",
			       .locks = out->mutexes});
}

static void print_large(const mw_printer_t *out, const char *arena, uint64_t uptime_ns) {
	print_sized(out, arena, uptime_ns,
		    &(sized_t){.table = MW_TABLE_LARGE,
			       .label = "large:",
			       .names = "lextents.",
			       .sizes = "arenas.lextent.",
			       .used = "nmalloc",
			       .first = "nmalloc",
			       .index = mw_print_figure("arenas.nbins")});
}

static void print_extents(const mw_printer_t *out, const char *arena) {
	print_sized(out, arena, 0,
		    &(sized_t){.table = MW_TABLE_EXTENTS,
			       .label = "extents:",
			       .names = "extents.",
			       .used = "ndirty+nmuzzy+nretained",
			       .first = "ndirty"});
}

/* ---- huge pages ---- */

static void print_slabs(const mw_printer_t *out, const char *arena, const char *kind) {
	static const char parts[][12] = {"npageslabs", "nactive", "ndirty"};
	unsigned long pages = figure("arenas.hugepage") / figure("arenas.page");
	unsigned long rest[2] = {0, 0};
	mw_print_text(out, "  In %s slabs:\n", kind);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char huge[64], plain[64];
		mw_fmt(huge, sizeof huge, "hpa_shard.%s_slabs.%s_huge", kind, parts[i]);
		mw_fmt(plain, sizeof plain, "hpa_shard.%s_slabs.%s_nonhuge", kind, parts[i]);
		unsigned long figures[2] = {figure_in(arena, huge), figure_in(arena, plain)};
		mw_print_text(out, "      %s: %lu huge, %lu nonhuge%s\n", parts[i], figures[0],
			      figures[1], i == 0 ? "" : " ");
		for (size_t j = 0; j < 2; j++)
			rest[j] = i == 0 ? figures[j] * pages : rest[j] - figures[j];
	}
	mw_print_text(out, "      nretained: %lu huge, %lu nonhuge \n", rest[0], rest[1]);
}

static void print_huge_pages(const mw_printer_t *out, const char *arena, uint64_t uptime_ns) {
	static const char counts[][2][16] = {{"Purge passes", "npurge_passes"},
					     {"Purges", "npurges"},
					     {"Hugeifies", "nhugifies"},
					     {"Dehugifies", "ndehugifies"}};
	mw_print_text(out, "Bytes in small extent cache: %lu\nHPA shard stats:\n",
		      figure_in(arena, "hpa_sec_bytes"));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		char name[40];
		mw_fmt(name, sizeof name, "hpa_shard.%s", counts[i][1]);
		unsigned long count = figure_in(arena, name);
		mw_print_text(out, "  %s: %lu (%lu / sec)\n", counts[i][0], count,
			      (unsigned long)mw_table_rate(count, uptime_ns));
	}
	mw_print_text(out, "\n");
	print_slabs(out, arena, "full");
	print_slabs(out, arena, "empty");
	mw_print_text(out, "\n");
	print_sized(out, arena, uptime_ns,
		    &(sized_t){.table = MW_TABLE_SLABS,
			       .names = "hpa_shard.nonfull_slabs.",
			       .used = "npageslabs_huge+npageslabs_nonhuge",
			       .first = "npageslabs_huge"});
}

/* ---- arenas ---- */

static void print_totals(const mw_printer_t *out) {
	mw_print_text(
		out,
		"Allocated: %lu, active: %lu, metadata: %lu (n_thp %lu), resident: %lu, mapped: "
		"%lu, retained: %lu\n",
		figure_in("stats.", "allocated"), figure_in("stats.", "active"),
		figure_in("stats.", "metadata"), figure_in("stats.", "metadata_thp"),
		figure_in("stats.", "resident"), figure_in("stats.", "mapped"),
		figure_in("stats.", "retained"));
	mw_print_text(out, "Count of realloc(non-null-ptr, 0) calls: %lu\n",
		      figure_in("stats.", "zero_reallocs"));
	mw_print_text(out, "Background threads: %lu, num_runs: %lu, run_interval: %lu ns\n",
		      figure_in("stats.background_thread.", "num_threads"),
		      figure_in("stats.background_thread.", "num_runs"),
		      figure_in("stats.background_thread.", "run_interval"));
	if (out->mutexes)
		print_locks(out, "stats.mutexes.", "stats.mutexes.",
			    figure("stats.arenas.0.uptime"));
}

/* Prints how much free memory of one kind is kept, and for how long. */
static void print_decay(const mw_printer_t *out, const char *arena, const char *kind) {
	char name[32], time[24];
	mw_fmt(name, sizeof name, "%s_decay_ms", kind);
	long ms = (long)figure_in(arena, name);
	if (ms < 0)
		mw_fmt_copy(time, sizeof time, "N/A");
	else
		mw_fmt(time, sizeof time, "%ld", ms);
	char pages[8], swept[16], calls[16], purged[16];
	mw_fmt(pages, sizeof pages, "p%s", kind);
	mw_fmt(swept, sizeof swept, "%s_npurge", kind);
	mw_fmt(calls, sizeof calls, "%s_nmadvise", kind);
	mw_fmt(purged, sizeof purged, "%s_purged", kind);
	mw_print_text(out, "   %s: %5s %12lu %12lu %12lu %12lu\n", kind, time,
		      figure_in(arena, pages), figure_in(arena, swept), figure_in(arena, calls),
		      figure_in(arena, purged));
}

static void print_blocks(const mw_printer_t *out, const char *arena, uint64_t uptime_ns) {
	char small[64], large[64];
	mw_fmt(small, sizeof small, "%ssmall.", arena);
	mw_fmt(large, sizeof large, "%slarge.", arena);
	const mw_table_row_t rows[] = {
		{.label = "small:", .prefix = small, .uptime_ns = uptime_ns},
		{.label = "large:", .prefix = large, .uptime_ns = uptime_ns},
		{.label = "total:", .prefix = small, .also = large, .uptime_ns = uptime_ns},
	};
	mw_table_line_t line = {.length = 0};
	mw_table_add_heading(&line, MW_TABLE_SIZES, NULL);
	mw_table_end_line(&line, out);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mw_table_add_row(&line, MW_TABLE_SIZES, &rows[i]);
		mw_table_end_line(&line, out);
	}
}

static void print_bytes(const mw_printer_t *out, const char *arena) {
	static const char names[][24] = {"mapped",
					 "retained",
					 "base",
					 "internal",
					 "metadata_thp",
					 "tcache_bytes",
					 "tcache_stashed_bytes",
					 "resident",
					 "abandoned_vm",
					 "extent_avail"};
	mw_table_line_t line = {.length = 0};
	mw_table_add_total(&line, "", 0);
	mw_table_end_line(&line, out);
	mw_table_add_total(&line, "active:", figure_in(arena, "pactive") * figure("arenas.page"));
	mw_table_end_line(&line, out);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char label[32];
		mw_fmt(label, sizeof label, "%s:", names[i]);
		mw_table_add_total(&line, label, figure_in(arena, names[i]));
		mw_table_end_line(&line, out);
	}
}

static void print_arena(const mw_printer_t *out, size_t arena) {
	char prefix[40], words[48];
	mw_fmt(prefix, sizeof prefix, "stats.arenas.%zu.", arena);
	mw_fmt(words, sizeof words, "%sdss", prefix);
	uint64_t uptime_ns = figure_in(prefix, "uptime");
	mw_print_text(out, "assigned threads: %lu\nuptime: %lu\n", figure_in(prefix, "nthreads"),
		      (unsigned long)uptime_ns);
	mw_print_text(out, "dss allocation precedence: \"%s\"\n", mw_print_words(words));
	mw_print_text(out, "decaying:  time       npages       sweeps     madvises       purged\n");
	print_decay(out, prefix, "dirty");
	print_decay(out, prefix, "muzzy");
	print_blocks(out, prefix, uptime_ns);
	print_bytes(out, prefix);
	if (out->mutexes) {
		char locks[64];
		mw_fmt(locks, sizeof locks, "%smutexes.", prefix);
		print_locks(out, "stats.arenas.<i>.mutexes.", locks, uptime_ns);
	}
	if (out->bins)
		print_bins(out, prefix, uptime_ns);
	if (out->large)
		print_large(out, prefix, uptime_ns);
	if (out->extents)
		print_extents(out, prefix);
	if (out->hpa)
		print_huge_pages(out, prefix, uptime_ns);
}

static bool is_arena(size_t arena) {
	char name[48];
	mw_fmt(name, sizeof name, "arena.%zu.initialized", arena);
	return mw_print_figure(name) != 0;
}

void mw_print_tables(const mw_printer_t *out) {
	mw_print_text(out, "___ Begin jemalloc statistics ___\n");
	if (out->general)
		print_general(out);
	print_totals(out);
	size_t limit = (size_t)mw_print_figure("arenas.narenas"), count = 0;
	for (size_t i = 0; i < limit; i++)
		count += is_arena(i);
	/* With one arena the merged section would repeat the arena's. */
	if (out->merged && (count > 1 || !out->unmerged)) {
		mw_print_text(out, "Merged arenas stats:\n");
		print_arena(out, MW_CTL_ARENAS_ALL);
	}
	if (out->destroyed && is_arena(MW_CTL_ARENAS_DESTROYED)) {
		mw_print_text(out, "Destroyed arenas stats:\n");
		print_arena(out, MW_CTL_ARENAS_DESTROYED);
	}
	for (size_t i = 0; out->unmerged && i < limit; i++) {
		if (!is_arena(i))
			continue;
		mw_print_text(out, "arenas[%zu]:\n", i);
		print_arena(out, i);
	}
	mw_print_text(out, "--- End jemalloc statistics ---\n");
}
