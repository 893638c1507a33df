/* SPDX-License-Identifier: MIT
 * jemalloc_tables.c -- malloc_stats_print() for people: jemalloc's sections and headings. */
#include <string.h>

#include "api/jemalloc_print.h"
#include "base/fmt.h"

static unsigned long figure_at(const char *prefix, size_t index, const char *name) {
	char whole[128];
	mw_fmt(whole, sizeof whole, "%s%zu.%s", prefix, index, name);
	return (unsigned long)mw_print_figure(whole);
}

static unsigned long figure_in(const char *prefix, const char *name) {
	char whole[128];
	mw_fmt(whole, sizeof whole, "%s%s", prefix, name);
	return (unsigned long)mw_print_figure(whole);
}

/* Every readable name that begins so and has no index. */
static void print_names(const mw_printer_t *out, const char *title, const char *prefix) {
	mw_print_text(out, "%s\n", title);
	const char *name;
	for (size_t i = 0; (name = mw_mallctl_name(i)) != NULL; i++) {
		if (strncmp(name, prefix, strlen(prefix)) != 0 || strchr(name, '<'))
			continue;
		mw_mallctl_row_t row = mw_mallctl_row(i);
		if (!row.readable)
			continue;
		unsigned long value = (unsigned long)mw_print_figure(name);
		if (row.type == MW_MALLCTL_FLAG)
			mw_print_text(out, "  %s: %s\n", name, value ? "true" : "false");
		else if (row.type == MW_MALLCTL_TEXT)
			mw_print_text(out, "  %s: \"%s\"\n", name, mw_print_words(name));
		else if (row.type == MW_MALLCTL_SIGNED)
			mw_print_text(out, "  %s: %ld\n", name, (long)value);
		else if (row.type == MW_MALLCTL_NUMBER || row.type == MW_MALLCTL_FIXED)
			mw_print_text(out, "  %s: %lu\n", name, value);
	}
}

static void print_general(const mw_printer_t *out) {
	mw_print_text(out, "Version: \"%s\"\n", mw_print_words("version"));
	print_names(out, "Build-time option settings", "config.");
	print_names(out, "Run-time option settings", "opt.");
	print_names(out, "Profiling settings", "prof.");
	static const struct {
		const char *text, *name;
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

static void print_lock(const mw_printer_t *out, const char *prefix, const char *name) {
	char lock[96];
	mw_fmt(lock, sizeof lock, "%s%s.", prefix, name);
	mw_print_text(out, "%s", name);
	for (size_t pad = strlen(name); pad < 20; pad++)
		mw_print_text(out, " ");
	mw_print_text(out, "%16lu %15lu %15lu %15lu %16lu %16lu %11lu\n",
		      figure_in(lock, "num_ops"), figure_in(lock, "num_wait"),
		      figure_in(lock, "num_spin_acq"), figure_in(lock, "num_owner_switch"),
		      figure_in(lock, "total_wait_time"), figure_in(lock, "max_wait_time"),
		      figure_in(lock, "max_num_thds"));
}

static void print_lock_heading(const mw_printer_t *out) {
	mw_print_text(out, "                          n_lock_ops       n_waiting      n_spin_acq  "
			   "n_owner_switch    total_wait_ns      max_wait_ns  max_n_thds\n");
}

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
	if (!out->mutexes)
		return;
	print_lock_heading(out);
	print_lock(out, "stats.mutexes.", "ctl");
	print_lock(out, "stats.mutexes.", "prof");
}

static void print_bins(const mw_printer_t *out, const char *prefix) {
	char bins[96];
	mw_fmt(bins, sizeof bins, "%sbins.", prefix);
	mw_print_text(
		out,
		"bins:           size ind    allocated      nmalloc      ndalloc    nrequests  "
		"    curregs     curslabs  nonfull_slabs       nfills     nflushes       nslabs "
		"    nreslabs\n");
	for (size_t i = 0; i < mw_print_figure("arenas.nbins"); i++) {
		unsigned long size = figure_at("arenas.bin.", i, "size");
		unsigned long live = figure_at(bins, i, "curregs");
		if (figure_at(bins, i, "nslabs") == 0 && figure_at(bins, i, "nmalloc") == 0)
			continue;
		mw_print_text(out,
			      "%20lu %3zu %12lu %12lu %12lu %12lu %12lu %12lu %14lu %12lu %12lu "
			      "%12lu %12lu\n",
			      size, i, size * live, figure_at(bins, i, "nmalloc"),
			      figure_at(bins, i, "ndalloc"), figure_at(bins, i, "nrequests"), live,
			      figure_at(bins, i, "curslabs"), figure_at(bins, i, "nonfull_slabs"),
			      figure_at(bins, i, "nfills"), figure_at(bins, i, "nflushes"),
			      figure_at(bins, i, "nslabs"), figure_at(bins, i, "nreslabs"));
	}
}

static void print_large(const mw_printer_t *out, const char *prefix) {
	char large[96];
	mw_fmt(large, sizeof large, "%slextents.", prefix);
	mw_print_text(out, "large:          size ind    allocated      nmalloc      ndalloc  "
			   "curlextents\n");
	for (size_t i = 0; i < mw_print_figure("arenas.nlextents"); i++) {
		unsigned long size = figure_at("arenas.lextent.", i, "size");
		unsigned long live = figure_at(large, i, "curlextents");
		if (figure_at(large, i, "nmalloc") == 0)
			continue;
		mw_print_text(out, "%20lu %3zu %12lu %12lu %12lu %12lu\n", size, i, size * live,
			      figure_at(large, i, "nmalloc"), figure_at(large, i, "ndalloc"), live);
	}
}

static void print_extents(const mw_printer_t *out, const char *prefix) {
	char extents[96], name[128];
	mw_fmt(extents, sizeof extents, "%sextents.", prefix);
	mw_print_text(out, "extents:  ind       ndirty        dirty    nretained     retained\n");
	for (size_t i = 0;; i++) {
		uint64_t dirty;
		size_t length = sizeof dirty;
		mw_fmt(name, sizeof name, "%s%zu.ndirty", extents, i);
		if (mw_mallctl(name, &dirty, &length, NULL, 0) != 0)
			break;
		unsigned long retained = figure_at(extents, i, "nretained");
		if (dirty || retained)
			mw_print_text(out, "%13zu %12lu %12lu %12lu %12lu\n", i,
				      (unsigned long)dirty, figure_at(extents, i, "dirty_bytes"),
				      retained, figure_at(extents, i, "retained_bytes"));
	}
}

static void print_sizes(const mw_printer_t *out, const char *prefix, const char *kind) {
	char figures[96];
	mw_fmt(figures, sizeof figures, "%s%s.", prefix, kind);
	mw_print_text(out, "%s: %27lu %15lu %15lu %15lu %15lu %15lu\n", kind,
		      figure_in(figures, "allocated"), figure_in(figures, "nmalloc"),
		      figure_in(figures, "ndalloc"), figure_in(figures, "nrequests"),
		      figure_in(figures, "nfills"), figure_in(figures, "nflushes"));
}

static void print_arena(const mw_printer_t *out, size_t arena) {
	char prefix[64];
	mw_fmt(prefix, sizeof prefix, "stats.arenas.%zu.", arena);
	mw_print_text(out, "assigned threads: %lu\nuptime: %lu\n", figure_in(prefix, "nthreads"),
		      figure_in(prefix, "uptime"));
	mw_print_text(out, "decaying:  time       npages       sweeps     madvises       purged\n");
	mw_print_text(out, "   dirty: %5ld %12lu %12lu %12lu %12lu\n",
		      (long)figure_in(prefix, "dirty_decay_ms"), figure_in(prefix, "pdirty"),
		      figure_in(prefix, "dirty_npurge"), figure_in(prefix, "dirty_nmadvise"),
		      figure_in(prefix, "dirty_purged"));
	mw_print_text(out,
		      "                        allocated         nmalloc         ndalloc       "
		      "nrequests           nfill          nflush\n");
	print_sizes(out, prefix, "small");
	print_sizes(out, prefix, "large");
	static const char *const bytes[] = {"mapped",   "retained",     "base",
					    "internal", "metadata_thp", "resident"};
	mw_print_text(out, "active: %lu\n",
		      figure_in(prefix, "pactive") * (unsigned long)mw_print_figure("arenas.page"));
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
		mw_print_text(out, "%s: %lu\n", bytes[i], figure_in(prefix, bytes[i]));
	if (out->mutexes) {
		static const char *const locks[] = {"mutexes.large", "mutexes.extents_dirty",
						    "mutexes.base", "mutexes.tcache_list"};
		print_lock_heading(out);
		for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
			print_lock(out, prefix, locks[i]);
	}
	if (out->bins)
		print_bins(out, prefix);
	if (out->large)
		print_large(out, prefix);
	if (out->extents)
		print_extents(out, prefix);
}

void mw_print_tables(const mw_printer_t *out) {
	mw_print_text(out, "___ Begin jemalloc statistics ___\n");
	if (out->general)
		print_general(out);
	print_totals(out);
	uint64_t count = mw_print_figure("arenas.narenas");
	if (out->merged) {
		mw_print_text(out, "Merged arenas stats:\n");
		print_arena(out, MW_CTL_ARENAS_ALL);
	}
	/* One arena would be the same once more. */
	for (size_t i = 0; out->unmerged && i < count && (count > 1 || !out->merged); i++) {
		char name[48];
		mw_fmt(name, sizeof name, "arena.%zu.initialized", i);
		if (!mw_print_figure(name))
			continue;
		mw_print_text(out, "arenas[%zu]:\n", i);
		print_arena(out, i);
	}
	mw_print_text(out, "--- End jemalloc statistics ---\n");
}
