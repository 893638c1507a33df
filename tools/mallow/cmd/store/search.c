/* SPDX-License-Identifier: MIT
 * search.c -- `mallow search`: which services have a function in their stacks. */
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cmd/store/question.h"
#include "cmd/store/store_commands.h"
#include "model/memory.h"
#include "report/text/style.h"
#include "report/text/units.h"
#include "view/select/pattern.h"

typedef struct search {
	const mw_question_t *question;
	const mw_backend_t *backend;
	void *self;
	mw_pattern_t *pattern;
	uint64_t *locations;
	size_t location_count, location_capacity;
	const char **functions; /* different ones that match */
	size_t function_count, function_capacity;
	mw_service_row_t *services;
	size_t service_count;
} search_t;

static void note_function(search_t *s, const char *name) {
	for (size_t i = 0; i < s->function_count; i++)
		if (strcmp(s->functions[i], name) == 0)
			return;
	s->functions = mw_grow(s->functions, &s->function_capacity, s->function_count + 1,
			       sizeof(*s->functions));
	s->functions[s->function_count++] = name;
}

static void match_locations(search_t *s, const mw_batch_t *batch) {
	for (size_t i = 0; i < batch->location_count; i++) {
		const mw_row_location_t *l = &batch->locations[i];
		bool matches = false;
		for (uint32_t k = 0; k < l->line_count; k++) {
			const char *name = batch->lines[l->line_first + k].function;
			if (!mw_pattern_matches(s->pattern, name))
				continue;
			matches = true;
			note_function(s, name);
		}
		if (!matches)
			continue;
		s->locations = mw_grow(s->locations, &s->location_capacity, s->location_count + 1,
				       sizeof(*s->locations));
		s->locations[s->location_count++] = l->id;
	}
}

static int compare_services(const void *a, const void *b) {
	const mw_service_row_t *x = a, *y = b;
	int64_t p = x->totals[MW_VALUE_NOW_AMOUNT], q = y->totals[MW_VALUE_NOW_AMOUNT];
	if (p == q) {
		p = x->totals[MW_VALUE_SINCE_AMOUNT];
		q = y->totals[MW_VALUE_SINCE_AMOUNT];
	}
	return p != q ? (p > q ? -1 : 1) : strcmp(x->service, y->service);
}

static int run(search_t *s, mw_batch_t *batch, mw_error_t *error) {
	if (s->backend->names(s->self, batch, error) != 0)
		return -1;
	match_locations(s, batch);
	if (s->location_count == 0)
		return 0;
	if (s->backend->holders(s->self, &s->question->range, s->locations, s->location_count,
				&s->services, &s->service_count, error) != 0)
		return -1;
	if (s->service_count > 1)
		qsort(s->services, s->service_count, sizeof(*s->services), compare_services);
	return 0;
}

static void print_table(const search_t *s, const mw_arguments_t *arguments) {
	const mw_kind_values_t *kind = mw_kind_values(s->question->range.kind);
	int value = kind->standard;
	bool has_now = value == MW_VALUE_NOW_AMOUNT;
	mw_pager_begin(arguments);
	printf("%s%12s %6s %9s  SERVICE%s\n", mw_style(MW_STYLE_HEAD), has_now ? "LIVE" : "TIME",
	       "HOSTS", "PROCESSES", mw_style(MW_STYLE_PLAIN));
	for (size_t i = 0; i < s->service_count; i++) {
		const mw_service_row_t *row = &s->services[i];
		char amount[MW_SHOW_BYTES], name[512];
		printf("%12s %6llu %9llu  %s\n",
		       has_now ? mw_format_bytes(row->totals[value], amount, sizeof(amount))
			       : mw_format_nanoseconds(row->totals[value], amount, sizeof(amount)),
		       (unsigned long long)row->hosts, (unsigned long long)row->instances,
		       mw_show_text(row->service, name, sizeof(name)));
	}
	mw_pager_end();
}

static int print_json(const search_t *s) {
	json_t *functions = json_array(), *services = json_array();
	const mw_kind_values_t *kind = mw_kind_values(s->question->range.kind);
	for (size_t i = 0; i < s->function_count; i++)
		json_array_append_new(functions, mw_json_text(s->functions[i]));
	for (size_t i = 0; i < s->service_count; i++) {
		const mw_service_row_t *row = &s->services[i];
		json_t *value = json_object();
		json_object_set_new(value, "service", mw_json_text(row->service));
		for (int k = 0; k < MW_VALUES; k++)
			if (kind->values[k].type != NULL)
				json_object_set_new(value, kind->values[k].type,
						    json_integer(row->totals[k]));
		json_object_set_new(value, "hosts", json_integer((json_int_t)row->hosts));
		json_object_set_new(value, "processes", json_integer((json_int_t)row->instances));
		json_array_append_new(services, value);
	}
	json_t *value = json_object();
	json_object_set_new(value, "functions", functions);
	json_object_set_new(value, "services", services);
	return mw_print_json(value);
}

static int show(const search_t *s, const mw_arguments_t *arguments) {
	if (arguments->options.json.given)
		return print_json(s);
	if (s->function_count == 0) {
		mw_complain("%s: no function's name matches '%s'", s->question->store,
			    arguments->operands[0]);
		return MW_EXIT_TROUBLE;
	}
	if (s->service_count == 0) {
		mw_complain("%s: no service has %s in a stack in that time; ask with at=TIME or "
			    "within=TIME",
			    s->question->store, s->functions[0]);
		return MW_EXIT_TROUBLE;
	}
	print_table(s, arguments);
	return MW_EXIT_FINE;
}

static int search_in(const mw_question_t *q, const mw_arguments_t *arguments, mw_error_t *error) {
	search_t s = {.question = q};
	mw_store_t *store;
	int status = -1;
	if (mw_pattern_make("FUNCTION", arguments->operands[0], &s.pattern, error) != 0)
		return -1;
	if (s.pattern == NULL)
		return mw_error_set(error, "search: FUNCTION is empty");
	if (mw_question_open(q, false, &store, error) == 0) {
		mw_batch_t *batch = mw_batch_new();
		s.backend = mw_store_backend(store, &s.self);
		if (run(&s, batch, error) == 0)
			status = show(&s, arguments);
		mw_batch_free(batch);
		mw_store_close(store);
	}
	for (size_t i = 0; i < s.service_count; i++)
		free(s.services[i].service);
	free(s.services);
	free(s.functions);
	free(s.locations);
	mw_pattern_free(s.pattern);
	return status;
}

int mw_cmd_search(const mw_arguments_t *arguments) {
	mw_question_t q;
	mw_error_t error;
	const char *text = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
	int status = mw_question_parse_store(text, (int64_t)mw_now_ns(), &q, &error);
	if (status == 0) {
		status = search_in(&q, arguments, &error);
		mw_question_free(&q);
	}
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
