/* SPDX-License-Identifier: MIT
 * disasm.c -- `disasm RE`: instructions of the matching functions with their values. */
#include <inttypes.h>
#include <string.h>

#include "model/text.h"
#include "report/text/names.h"
#include "symbol/workers/confine.h"
#include "view/code/assembly.h"
#include "view/code/listings.h"
#include "view/common/json.h"
#include "view/common/values.h"

/* Source position of an instruction.  A position that equals the last one is not printed. */
typedef struct place {
	const char *name, *file;
	int64_t line;
	bool is_inline;
} place_t;

static const char *base_name(const char *path) {
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	return slash != NULL ? slash + 1 : path;
}

static place_t place_of(const mw_assembly_t *a, uint64_t address) {
	mw_code_place_t places[MW_CODE_PLACES_MAX];
	size_t count = mw_code_places(a->code, address, places);
	if (count == 0)
		return (place_t){0};
	return (place_t){.name = places[0].name,
			 .file = base_name(places[0].file),
			 .line = places[0].line,
			 .is_inline = count > 1};
}

static bool is_same(const place_t *a, const place_t *b) {
	return a->name == b->name && a->line == b->line && a->is_inline == b->is_inline &&
	       strcmp(a->file != NULL ? a->file : "", b->file != NULL ? b->file : "") == 0;
}

/* Prints a position after `used` columns.  If there is no room for the function, only file and
 * line are printed. */
static void print_place(const mw_view_t *v, const place_t *place, size_t used) {
	char rest[512], line[32] = "";
	if (place->line != 0)
		snprintf(line, sizeof(line), ":%" PRId64, place->line);
	snprintf(rest, sizeof(rest), "%s%.400s%s%s", place->file != NULL ? " " : "",
		 place->file != NULL ? place->file : "", line, place->is_inline ? " (inline)" : "");
	fputc(';', v->out);
	mw_view_name(v, place->name, used + 1 + mw_text_width(rest));
	mw_text_print(v->out, rest);
	fputc('\n', v->out);
}

/* Prints an instruction, for example "callq 0x10b0 <std::map<...>::find>", after `used` columns.
 * The name of the target is shortened. */
static void print_text(const mw_view_t *v, const char *text, size_t used) {
	const char *symbol = strchr(text, '<');
	size_t length = symbol != NULL ? strlen(symbol) : 0;
	if (v->columns == 0 || used + mw_text_width(text) <= (size_t)v->columns || length < 2) {
		mw_text_print(v->out, text);
		return;
	}
	char name[2048], before[256];
	snprintf(name, sizeof(name), "%.*s", (int)length - 2, symbol + 1);
	snprintf(before, sizeof(before), "%.*s<", (int)(symbol - text), text);
	mw_text_print(v->out, before);
	used += mw_text_width(before);
	mw_view_name(v, name, used + 1);
	fputc('>', v->out);
}

/* Fewest columns of a terminal that has room for function, file and line after 74 columns, or
 * after 34. */
enum { PLACE_BESIDE_COLUMNS = 120, PLACE_INDENTED_COLUMNS = 72 };

/* Prints a row in pprof's columns. */
static void print_row(const mw_view_t *v, const mw_assembly_row_t *row, const place_t *place,
		      const char *unit) {
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES];
	const int text_columns = 40;
	/* If there is no room beside the instruction, the position gets a line above it. */
	bool has_room = v->columns == 0 || v->columns >= PLACE_BESIDE_COLUMNS;
	bool is_beside = has_room && strlen(row->text) < (size_t)text_columns;
	if (place != NULL && !is_beside) {
		int indent = has_room ? 74 : v->columns >= PLACE_INDENTED_COLUMNS ? 34 : 0;
		fprintf(v->out, "%*s", indent, "");
		print_place(v, place, (size_t)indent);
	}
	fprintf(v->out, "%10s %10s %10" PRIx64 ": ",
		row->flat != 0 ? mw_view_value(v, unit, row->flat, flat) : ".",
		row->cum != 0 ? mw_view_value(v, unit, row->cum, cum) : ".", row->address);
	print_text(v, row->text, 34);
	if (place != NULL && is_beside) {
		fprintf(v->out, "%*s", text_columns - (int)strlen(row->text), "");
		print_place(v, place, 74);
	} else {
		fputc('\n', v->out);
	}
}

static void print_function(const mw_view_t *v, const mw_assembly_t *a, const char *unit) {
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	place_t last = {0};
	mw_view_routine(v, a->range.name, mw_profile_string(v->profile, a->module));
	fprintf(v->out, "%10s %10s (flat, cum) %s of Total\n",
		mw_view_value(v, unit, a->flat, flat), mw_view_value(v, unit, a->cum, cum),
		mw_view_percent(a->cum, v->total, percent));
	for (size_t i = 0; i < a->row_count; i++) {
		place_t place = place_of(a, a->rows[i].address);
		bool is_new = place.name != NULL && !is_same(&place, &last);
		print_row(v, &a->rows[i], is_new ? &place : NULL, unit);
		last = place;
	}
}

static void add_json_row(mw_json_t *j, const mw_assembly_t *a, const mw_assembly_row_t *row) {
	place_t place = place_of(a, row->address);
	mw_json_open(j, NULL, '{');
	mw_json_add_hex(j, "address", row->address);
	mw_json_add_number(j, "flat", row->flat);
	mw_json_add_number(j, "cum", row->cum);
	mw_json_add_text(j, "text", row->text);
	if (place.name != NULL)
		mw_json_add_text(j, "name", place.name);
	if (place.file != NULL)
		mw_json_add_text(j, "file", place.file);
	if (place.line != 0)
		mw_json_add_number(j, "line", place.line);
	mw_json_add_flag(j, "inline", place.is_inline);
	mw_json_close(j);
}

static void print_json(const mw_view_t *v, const mw_assemblies_t *found) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_open(&j, "functions", '[');
	for (size_t i = 0; i < found->count; i++) {
		const mw_assembly_t *a = &found->functions[i];
		mw_json_open(&j, NULL, '{');
		mw_json_add_text(&j, "name", a->range.name);
		mw_json_add_text(&j, "file", mw_profile_string(v->profile, a->module));
		mw_json_add_number(&j, "flat", a->flat);
		mw_json_add_number(&j, "cum", a->cum);
		mw_json_open(&j, "instructions", '[');
		for (size_t k = 0; k < a->row_count; k++)
			add_json_row(&j, a, &a->rows[k]);
		mw_json_close(&j);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

static int print(const void *context, FILE *out, mw_error_t *error) {
	mw_view_t v = *(const mw_view_t *)context;
	mw_assemblies_t found;
	v.out = out;
	int result = mw_assemblies_make(&v, MW_ASSEMBLY_OF_SYMBOLS, &found, error);
	if (result == 0 && v.json) {
		print_json(&v, &found);
	} else if (result == 0) {
		const char *unit = mw_view_unit(&v, NULL);
		mw_view_header(&v, NULL, unit);
		for (size_t i = 0; i < found.count; i++)
			print_function(&v, &found.functions[i], unit);
	}
	mw_assemblies_release(&found);
	return result;
}

int mw_view_disasm(const mw_view_t *v, mw_error_t *error) {
	return mw_confine(print, v, v->name, v->out, error);
}
