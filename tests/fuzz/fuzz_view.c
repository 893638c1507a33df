/* SPDX-License-Identifier: MIT
 * fuzz_view.c -- libFuzzer target: any bytes as a profile, in any view, with any choice of options.
 * The choices follow from the bytes, so that seeds are profiles as they are and an input says all.
 */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/read.h"
#include "view/code/listings.h"
#include "view/common/view.h"
#include "view/picture/pictures.h"
#include "view/table/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Those that read the files a profile names, in a process of their own, are not for a fuzzer. */
static const struct {
	const char *name;
	mw_view_print_t *print;
} views[] = {
#define MW_VIEW(name, operands, min, max, print, ...) {#name, print},
#define MW_VIEW_LIVE MW_VIEW
#define MW_VIEW_DIFF MW_VIEW
#include "cmd/profile/views.def"
#undef MW_VIEW_DIFF
#undef MW_VIEW_LIVE
#undef MW_VIEW
};
#define VIEW_COUNT (sizeof(views) / sizeof(views[0]))

static uint64_t state;

/* SplitMix64, https://prng.di.unimi.it/splitmix64.c */
static uint64_t choose(uint64_t below) {
	uint64_t z = state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % below;
}

/* Mostly nothing; else a text of every kind that options take, or one of the profile's own. */
static const char *text(const mw_profile_t *p) {
	static const char *const texts[] = {
		"",        "a",         ".",         "(",          "[",
		"f|g",     "^main$",    "(?i)x",     "1kb:",       ":1mb",
		"1kb:4kb", "bytes=16:", "thread=.*", "bytes",      "thread,bytes",
		"*",       "0",         "/a:/b",     "MB,seconds", "minimum"};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	if (choose(4) != 0)
		return NULL;
	size_t chosen = choose(count + 8);
	return chosen < count
		       ? texts[chosen]
		       : mw_profile_string(p, (mw_string_t)choose(mw_profile_string_count(p)));
}

static mw_selection_t choose_selection(const mw_profile_t *p) {
	return (mw_selection_t){
		.focus = text(p),
		.ignore = text(p),
		.hide = text(p),
		.show = text(p),
		.show_from = text(p),
		.prune_from = text(p),
		.retain = text(p),
		.exclude = text(p),
		.tag_focus = text(p),
		.tag_ignore = text(p),
		.thread = text(p),
		.tag_show = text(p),
		.tag_hide = text(p),
		.tag_root = text(p),
		.tag_leaf = text(p),
		.trim_path = text(p),
		.source_path = text(p),
		.no_inlines = choose(2) != 0,
	};
}

static mw_graph_options_t choose_graph(size_t type) {
	return (mw_graph_options_t){
		.type = type,
		.granularity = (mw_granularity_t)choose(MW_BY_ADDRESS + 1),
		.sort_by_cum = choose(2) != 0,
		.call_tree = choose(2) != 0,
		.drop_negative = choose(2) != 0,
		.is_mean = choose(2) != 0,
		.is_picture = choose(2) != 0,
		.node_count = choose(3) == 0 ? choose(5) : 0,
		.node_fraction = (double)choose(3) / 100,
		.edge_fraction = (double)choose(3) / 100,
		.max_degree = choose(3),
	};
}

static void show(const uint8_t *bytes, size_t length, FILE *sink) {
	static const char *const units[] = {NULL, "auto", "minimum", "kB", "ms", "B"};
	mw_profile_t *p;
	mw_error_t error;
	if (mw_read_profile_bytes("fuzz", bytes, length, &p, &error) != 0)
		return;
	mw_selection_t selection = choose_selection(p);
	size_t view = choose(VIEW_COUNT), type = p->type_count > 0 ? choose(p->type_count) : 0;
	mw_view_t v = {
		.name = views[view].name,
		.profile = p,
		.out = sink,
		.type = type,
		.total = p->type_count > 0 ? mw_profile_total(p, type) : 0,
		.graph = choose_graph(type),
		.unit = units[choose(sizeof(units) / sizeof(units[0]))],
		.ratio = choose(2) == 0 ? 1 : 0.001,
		.pattern = choose(2) == 0 ? "." : text(p),
		.columns = (int)choose(120),
		.json = choose(2) != 0,
		.is_jeprof = choose(8) == 0,
	};
	if (v.pattern == NULL)
		v.pattern = "a";
	bool reads_files =
		views[view].print == mw_view_disasm || views[view].print == mw_view_weblist;
	if (p->type_count > 0 && mw_selection_apply(p, &selection, &error) == 0) {
		if (views[view].print == NULL)
			mw_profile_free(mw_view_top_profile(&v));
		else if (!reads_files)
			views[view].print(&v, &error);
	}
	mw_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	static FILE *sink;
	if (sink == NULL)
		sink = fopen("/dev/null", "w");
	/* FNV-1a */
	state = 0xcbf29ce484222325;
	for (size_t i = 0; i < length; i++)
		state = (state ^ bytes[i]) * 0x100000001b3;
	for (int i = 0; i < 3 && sink != NULL; i++)
		show(bytes, length, sink);
	return 0;
}
