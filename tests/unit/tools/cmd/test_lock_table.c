/* SPDX-License-Identifier: MIT
 * test_lock_table.c -- the table of locks on waits and samples written down by hand, against a
 * golden file; its JSON has the same numbers. */
#include <string.h>

#include "cmd/cpu/lock_table.h"
#include "golden.h"
#include "made_profile.h"
#include "test.h"

static const mw_lock_wait_t waits[] = {
	/* Seen again at later looks with another holder, and one look that does not count. */
	{.lock = 0x500010, .waiter = 12, .holder = 11, .looks = 30},
	{.lock = 0x500010, .waiter = 13, .holder = 11, .looks = 60},
	{.lock = 0x500010, .waiter = 13, .holder = 12, .looks = 10},
	{.lock = 0x7f0000001000, .waiter = 14, .holder = 0, .looks = 200},
	{.lock = 0x7f0000002000, .waiter = 14, .holder = 0, .looks = 0},
};

/* A sample of a thread, from the outermost function to the innermost. */
static void add_sample(mw_profile_t *p, int thread, const char *name, const char *stack) {
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(p, MW_LABEL_THREAD), .text = mw_profile_intern(p, name)},
		{.key = mw_profile_intern(p, MW_LABEL_THREAD_ID), .number = thread},
	};
	made_labelled(p, stack, (const int64_t[]){10000000}, labels, 2);
}

static mw_profile_t *make_profile(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "wall", "nanoseconds");
	p->origin.program = mw_profile_intern(p, "server");
	p->origin.pid = 11;
	for (int i = 0; i < 3; i++) {
		add_sample(p, 13, "reader-2",
			   "main;answer;look_up;std::mutex::lock;pthread_mutex_lock");
		add_sample(p, 11, "refresher", "main;refresh_cache;read_rows");
	}
	add_sample(p, 13, "reader-2", "main;answer;write_log;pthread_mutex_lock");
	add_sample(p, 11, "refresher", "main;begin;pthread_mutex_lock");
	return p;
}

static void name_lock(mw_profile_t *p, uint64_t address, const char *name) {
	mw_function_t function = {.name = mw_profile_intern(p, name)};
	mw_line_t line = {mw_profile_add_function(p, &function), 0};
	mw_profile_set_lines(p, mw_profile_add_location(p, 1, address, true), &line, 1);
}

static char *printed(const mw_lock_table_t *table) {
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CHECK(out != NULL);
	mw_lock_table_print(out, table);
	fclose(out);
	return text;
}

static void table_and_json(void) {
	mw_lock_table_t table;
	mw_profile_t *p = make_profile();
	mw_lock_table_make(&table, waits, sizeof(waits) / sizeof(waits[0]), p);
	name_lock(p, 0x500010, "cache_lock");
	mw_lock_table_name(&table, p);
	table.looks = 200;
	table.seconds = 2;
	char *text = printed(&table);
	check_golden("locks", text);
	free(text);

	json_t *json = mw_lock_table_json(&table, p);
	const json_t *cache = json_array_get(json_object_get(json, "locks"), 1);
	const json_t *waiter = json_array_get(json_object_get(cache, "waiters"), 0);
	CHECK_EQ(json_array_size(json_object_get(json, "locks")), 2);
	CHECK_STR(json_string_value(json_object_get(cache, "name")), "cache_lock");
	CHECK_STR(json_string_value(json_object_get(cache, "address")), "0x500010");
	CHECK_NEAR(json_real_value(json_object_get(cache, "seconds")), 1.0, 1e-9);
	CHECK_STR(json_string_value(json_object_get(waiter, "thread")), "reader-2");
	CHECK_STR(json_string_value(json_object_get(waiter, "function")), "look_up");
	CHECK_NEAR(json_real_value(json_object_get(waiter, "seconds")), 0.7, 1e-9);
	json_decref(json);
	mw_lock_table_release(&table);
	mw_profile_free(p);
}

static void no_locks(void) {
	mw_lock_table_t table;
	mw_profile_t *p = make_profile();
	/* Only the look that does not count. */
	mw_lock_table_make(&table, &waits[4], 1, p);
	mw_lock_table_name(&table, p);
	table.looks = 7;
	table.seconds = 0.25;
	char *text = printed(&table);
	CHECK_STR(text, "no thread waited for a lock in 250 ms (7 looks)\n");
	free(text);
	json_t *json = mw_lock_table_json(&table, p);
	CHECK_EQ(json_array_size(json_object_get(json, "locks")), 0);
	json_decref(json);
	mw_lock_table_release(&table);
	mw_profile_free(p);
}

int main(void) {
	RUN(table_and_json);
	RUN(no_locks);
	CHECK(!golden_failed);
	return 0;
}
