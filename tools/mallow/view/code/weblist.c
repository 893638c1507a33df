/* SPDX-License-Identifier: MIT
 * weblist.c -- `weblist RE`: source lines with their instructions, as a web page. */
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/workers/confine.h"
#include "view/code/assembly.h"
#include "view/code/listing.h"
#include "view/code/listings.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/web_page.h"

/* A function that contains an instruction.  Functions that the instruction was inlined into have
 * a place each. */
typedef struct place {
	const char *name, *file; /* demangled name; file name without directories */
	int64_t line;
	const mw_assembly_row_t *row;
	size_t innermost; /* index of the instruction's first place */
} place_t;

typedef struct places {
	place_t *places; /* places by instruction, innermost first */
	size_t count, capacity;
} places_t;

static const char *base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static void add_places(places_t *all, const mw_assembly_t *a) {
	mw_code_place_t found[MW_CODE_PLACES_MAX];
	for (size_t i = 0; i < a->row_count; i++) {
		size_t innermost = all->count;
		size_t count = mw_code_places(a->code, a->rows[i].address, found);
		for (size_t k = 0; k < count; k++) {
			all->places = mw_grow(all->places, &all->capacity, all->count + 1,
					      sizeof(place_t));
			all->places[all->count++] = (place_t){
				.name = found[k].name,
				.file = base_name(found[k].file != NULL ? found[k].file : ""),
				.line = found[k].line,
				.row = &a->rows[i],
				.innermost = innermost,
			};
		}
	}
}

/* Chooses the places of one function, the outermost at each instruction, ordered by line. */
static size_t choose(const mw_view_t *v, const places_t *all, const mw_listed_function_t *f,
		     const place_t **chosen) {
	const char *name = mw_profile_string(v->profile, f->name);
	const char *file = base_name(mw_profile_string(v->profile, f->file));
	size_t count = 0;
	for (size_t i = 0; i < all->count; i++) {
		const place_t *place = &all->places[i];
		if (strcmp(place->name, name) != 0 || strcmp(place->file, file) != 0)
			continue;
		bool is_recursive = count > 0 && chosen[count - 1]->innermost == place->innermost;
		chosen[is_recursive ? count - 1 : count] = place;
		count += !is_recursive;
	}
	return count;
}

static int compare_lines(const void *left, const void *right) {
	const place_t *a = *(const place_t *const *)left, *b = *(const place_t *const *)right;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->row->address > b->row->address) - (a->row->address < b->row->address);
}

static void add_instruction(mw_json_t *j, const places_t *all, const place_t *place) {
	const place_t *inner = &all->places[place->innermost];
	mw_json_open(j, NULL, '{');
	mw_json_add_hex(j, "address", place->row->address);
	mw_json_add_number(j, "flat", place->row->flat);
	mw_json_add_number(j, "cum", place->row->cum);
	mw_json_add_text(j, "text", place->row->text);
	if (inner != place) {
		mw_json_add_text(j, "name", inner->name);
		mw_json_add_text(j, "file", inner->file);
		mw_json_add_number(j, "line", inner->line);
		mw_json_add_flag(j, "inline", true);
	}
	mw_json_close(j);
}

/* Writes the lines of the listing with the instructions of `chosen`.  Both are ordered by line. */
static void add_lines(mw_json_t *j, const places_t *all, const mw_listed_function_t *f,
		      const place_t **chosen, size_t count) {
	size_t next = 0;
	mw_json_open(j, "lines", '[');
	for (size_t i = 0; i < f->line_count; i++) {
		const mw_listed_line_t *line = &f->lines[i];
		mw_json_open(j, NULL, '{');
		mw_json_add_number(j, "line", line->number);
		mw_json_add_number(j, "flat", line->flat);
		mw_json_add_number(j, "cum", line->cum);
		if (line->text != NULL)
			mw_json_add_text(j, "text", line->text);
		while (next < count && chosen[next]->line < line->number)
			next++;
		mw_json_open(j, "instructions", '[');
		for (; next < count && chosen[next]->line == line->number; next++)
			add_instruction(j, all, chosen[next]);
		mw_json_close(j);
		mw_json_close(j);
	}
	mw_json_close(j);
}

static void print_data(const mw_view_t *v, const mw_listing_t *listing, const places_t *all,
		       const char *note) {
	mw_json_t j;
	const place_t **chosen = mw_xcalloc(all->count + 1, sizeof(const place_t *));
	mw_json_begin(&j, v);
	if (*note != '\0')
		mw_json_add_text(&j, "note", note);
	mw_json_open(&j, "functions", '[');
	for (size_t i = 0; i < listing->count; i++) {
		const mw_listed_function_t *f = &listing->functions[i];
		size_t count = choose(v, all, f, chosen);
		qsort(chosen, count, sizeof(const place_t *), compare_lines);
		mw_json_open(&j, NULL, '{');
		mw_json_add_text(&j, "name", mw_profile_string(v->profile, f->name));
		mw_json_add_text(&j, "file", mw_profile_string(v->profile, f->file));
		mw_json_add_number(&j, "flat", f->flat);
		mw_json_add_number(&j, "cum", f->cum);
		add_lines(&j, all, f, chosen, count);
		mw_json_close(&j);
	}
	mw_json_end(&j);
	free(chosen);
}

/* If the program's files are missing, the page has source only. */
static int print(const void *context, FILE *out, mw_error_t *error) {
	mw_view_t v = *(const mw_view_t *)context;
	mw_listing_t listing;
	mw_assemblies_t found;
	mw_error_t note = {.text = ""};
	places_t all = {0};
	v.out = out;
	if (mw_listing_make(&v, &listing, error) != 0)
		return -1;
	if (mw_assemblies_make(&v, MW_ASSEMBLY_OF_LINES, &found, &note) == 0)
		for (size_t i = 0; i < found.count; i++)
			add_places(&all, &found.functions[i]);
	int result = v.json ? 0 : mw_web_page_begin(MW_WEB_PAGE_WEBLIST, out, error);
	if (result == 0) {
		print_data(&v, &listing, &all, note.text);
		if (!v.json)
			mw_web_page_end(MW_WEB_PAGE_WEBLIST, out);
	}
	free(all.places);
	mw_assemblies_release(&found);
	mw_listing_release(&listing);
	return result;
}

int mw_view_weblist(const mw_view_t *v, mw_error_t *error) {
	return mw_confine(print, v, v->name, v->out, error);
}
