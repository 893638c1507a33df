/* SPDX-License-Identifier: MIT
 * jemalloc_stats.c -- malloc_stats_print(), as text for people and, with option J, as JSON with
 * jemalloc's keys.  Every figure is read by its control name. */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "api/jemalloc.h"
#include "api/start.h"
#include "base/check.h"
#include "base/fmt.h"
#include "ctl/mallctl.h"

/* Sections that letters leave out, as jemalloc's. */
typedef struct printer {
	void (*write)(void *context, const char *text);
	void *context;
	bool json, general, merged, unmerged, bins;
	bool first; /* of the object or array that is open */
	unsigned depth;
} printer_t;

static void to_stderr(void *context, const char *text) {
	(void)context;
	size_t length = strlen(text);
	if (length > 0 && text[length - 1] == '\n')
		length--;
	mw_print_line("%.*s", (int)length, text);
}

static MW_PRINTF(2, 3) void put(printer_t *out, const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	out->write(out->context, text);
}

/* ---- JSON ---- */

/* A line of its own: what goes to stderr is written line by line. */
static MW_PRINTF(2, 3) void item(printer_t *out, const char *format, ...) {
	char text[512];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	put(out, "%s%.*s%s\n", out->first ? "" : ",", (int)out->depth, "\t\t\t\t\t\t\t\t", text);
	out->first = false;
}

static void begin(printer_t *out, const char *key, char bracket) {
	if (key)
		item(out, "\"%s\": %c", key, bracket);
	else
		item(out, "%c", bracket);
	out->depth++;
	out->first = true;
}

static void end(printer_t *out, char bracket) {
	out->depth--;
	out->first = true; /* no comma before it */
	item(out, "%c", bracket);
}

/* ---- figures ---- */

static uint64_t figure(const char *name) {
	uint64_t value = 0;
	for (size_t length = 8; length >= 1; length /= 2) {
		size_t room = length;
		if (mw_mallctl(name, &value, &room, NULL, 0) == 0)
			return value;
		value = 0;
	}
	return 0;
}

static uint64_t figure_at(const char *prefix, size_t index, const char *name) {
	char whole[128];
	mw_fmt(whole, sizeof whole, "%s%zu.%s", prefix, index, name);
	return figure(whole);
}

static const char *words(const char *name) {
	const char *text = "";
	size_t length = sizeof text;
	return mw_mallctl(name, &text, &length, NULL, 0) == 0 && text ? text : "";
}

static void number(printer_t *out, const char *prefix, const char *key) {
	char name[128];
	mw_fmt(name, sizeof name, "%s%s", prefix, key);
	item(out, "\"%s\": %lu", key, (unsigned long)figure(name));
}

static void json_general(printer_t *out) {
	item(out, "\"version\": \"%s\"", words("version"));
	begin(out, "config", '{');
	item(out, "\"prof\": true");
	item(out, "\"debug\": false");
	item(out, "\"stats\": true");
	end(out, '}');
	begin(out, "opt", '{');
	static const char *const flags[] = {"abort_conf", "confirm_conf", "background_thread",
					    "prof",       "prof_active",  "prof_gdump",
					    "prof_final", "prof_leak",    "prof_leak_error"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		char name[64];
		mw_fmt(name, sizeof name, "opt.%s", flags[i]);
		item(out, "\"%s\": %s", flags[i], figure(name) ? "true" : "false");
	}
	item(out, "\"thp\": \"%s\"", words("opt.thp"));
	item(out, "\"dirty_decay_ms\": %ld", (long)figure("opt.dirty_decay_ms"));
	item(out, "\"lg_prof_sample\": %ld", (long)figure("opt.lg_prof_sample"));
	item(out, "\"lg_prof_interval\": %ld", (long)figure("opt.lg_prof_interval"));
	end(out, '}');
	begin(out, "arenas", '{');
	static const char *const keys[] = {"narenas", "dirty_decay_ms", "quantum",   "page",
					   "nbins",   "nhbins",         "nlextents", "tcache_max"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		number(out, "arenas.", keys[i]);
	if (out->bins) {
		begin(out, "bin", '[');
		for (size_t i = 0; i < figure("arenas.nbins"); i++)
			item(out, "{\"size\": %lu, \"nregs\": %lu, \"slab_size\": %lu}",
			     (unsigned long)figure_at("arenas.bin.", i, "size"),
			     (unsigned long)figure_at("arenas.bin.", i, "nregs"),
			     (unsigned long)figure_at("arenas.bin.", i, "slab_size"));
		end(out, ']');
	}
	end(out, '}');
}

static void json_arena(printer_t *out, const char *key, size_t arena) {
	char prefix[64];
	mw_fmt(prefix, sizeof prefix, "stats.arenas.%zu.", arena);
	begin(out, key, '{');
	static const char *const keys[] = {
		"nthreads",     "uptime",       "pactive",     "pdirty",   "pmuzzy",
		"mapped",       "retained",     "base",        "internal", "resident",
		"tcache_bytes", "dirty_npurge", "dirty_purged"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		number(out, prefix, keys[i]);
	static const char *const kinds[] = {"small", "large"};
	static const char *const counts[] = {"allocated", "nmalloc", "ndalloc", "nrequests"};
	for (size_t k = 0; k < 2; k++) {
		char inner[96];
		mw_fmt(inner, sizeof inner, "%s%s.", prefix, kinds[k]);
		begin(out, kinds[k], '{');
		for (size_t i = 0; i < 4; i++)
			number(out, inner, counts[i]);
		end(out, '}');
	}
	if (out->bins) {
		char inner[96];
		mw_fmt(inner, sizeof inner, "%sbins.", prefix);
		begin(out, "bins", '[');
		for (size_t i = 0; i < figure("arenas.nbins"); i++)
			item(out,
			     "{\"nmalloc\": %lu, \"ndalloc\": %lu, \"curregs\": %lu, "
			     "\"nrequests\": %lu, \"curslabs\": %lu}",
			     (unsigned long)figure_at(inner, i, "nmalloc"),
			     (unsigned long)figure_at(inner, i, "ndalloc"),
			     (unsigned long)figure_at(inner, i, "curregs"),
			     (unsigned long)figure_at(inner, i, "nrequests"),
			     (unsigned long)figure_at(inner, i, "curslabs"));
		end(out, ']');
	}
	end(out, '}');
}

static const char *const totals[] = {"allocated", "active", "metadata", "metadata_thp",
				     "resident",  "mapped", "retained"};
enum { TOTALS = sizeof totals / sizeof *totals };

static void json(printer_t *out) {
	out->first = true;
	item(out, "{");
	out->depth++;
	out->first = true;
	begin(out, "jemalloc", '{');
	if (out->general)
		json_general(out);
	begin(out, "stats", '{');
	for (size_t i = 0; i < TOTALS; i++)
		number(out, "stats.", totals[i]);
	begin(out, "background_thread", '{');
	number(out, "stats.background_thread.", "num_threads");
	end(out, '}');
	end(out, '}');
	if (out->merged || out->unmerged) {
		begin(out, "stats.arenas", '{');
		if (out->merged)
			json_arena(out, "merged", MW_CTL_ARENAS_ALL);
		if (out->unmerged)
			json_arena(out, "0", 0);
		end(out, '}');
	}
	end(out, '}');
	end(out, '}');
}

/* ---- text ---- */

static void text_bins(printer_t *out) {
	put(out, "bins:           size ind      allocated        nmalloc        ndalloc      "
		 "curregs     curslabs\n");
	for (size_t i = 0; i < figure("arenas.nbins"); i++) {
		uint64_t size = figure_at("arenas.bin.", i, "size");
		uint64_t live = figure_at("stats.arenas.0.bins.", i, "curregs");
		uint64_t slabs = figure_at("stats.arenas.0.bins.", i, "curslabs");
		if (live == 0 && slabs == 0)
			continue;
		put(out, "%20lu %3zu %14lu %14lu %14lu %12lu %12lu\n", (unsigned long)size, i,
		    (unsigned long)(size * live),
		    (unsigned long)figure_at("stats.arenas.0.bins.", i, "nmalloc"),
		    (unsigned long)figure_at("stats.arenas.0.bins.", i, "ndalloc"),
		    (unsigned long)live, (unsigned long)slabs);
	}
}

static void text(printer_t *out) {
	put(out, "___ Begin jemalloc statistics ___\n");
	if (out->general) {
		put(out, "Version: \"%s\"\n", words("version"));
		put(out, "Arenas: %lu\n", (unsigned long)figure("arenas.narenas"));
		put(out, "Quantum size: %lu\n", (unsigned long)figure("arenas.quantum"));
		put(out, "Page size: %lu\n", (unsigned long)figure("arenas.page"));
	}
	put(out,
	    "Allocated: %lu, active: %lu, metadata: %lu (n_thp %lu), resident: %lu, mapped: %lu, "
	    "retained: %lu\n",
	    (unsigned long)figure("stats.allocated"), (unsigned long)figure("stats.active"),
	    (unsigned long)figure("stats.metadata"), (unsigned long)figure("stats.metadata_thp"),
	    (unsigned long)figure("stats.resident"), (unsigned long)figure("stats.mapped"),
	    (unsigned long)figure("stats.retained"));
	if (out->merged || out->unmerged) {
		put(out, "Merged arenas stats:\nassigned threads: %lu\n",
		    (unsigned long)figure("stats.arenas.0.nthreads"));
		static const char *const kinds[] = {"small", "large"};
		for (size_t k = 0; k < 2; k++) {
			put(out, "%s: allocated %lu\n", kinds[k],
			    (unsigned long)figure(k ? "stats.arenas.0.large.allocated"
						    : "stats.arenas.0.small.allocated"));
		}
		if (out->bins)
			text_bins(out);
	}
	put(out, "--- End jemalloc statistics ---\n");
}

void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options) {
	if (!mw_api_started)
		mw_api_start();
	printer_t out = {.write = write            ? write
				  : malloc_message ? malloc_message
						   : to_stderr,
			 .context = context,
			 .general = true,
			 .merged = true,
			 .unmerged = true,
			 .bins = true};
	for (const char *o = options ? options : ""; *o; o++) {
		out.json |= *o == 'J';
		out.general &= *o != 'g';
		out.merged &= *o != 'm';
		out.unmerged &= *o != 'a';
		out.bins &= *o != 'b';
	}
	mw_mallctl_refresh();
	if (out.json)
		json(&out);
	else
		text(&out);
}
