/* SPDX-License-Identifier: MIT
 * test_sender.c -- what the sender of the agent does with each answer of a receiver and with
 * damaged entries; the names of processes that are remembered, and names that one profile gives
 * another. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sender.h"
#include "agent/spool/known_names.h"
#include "cmd/agent/names_of.h"
#include "formats/write.h"
#include "test.h"

static char top[] = "/tmp/mallow-sender.XXXXXX";
static mw_agent_folder_t folder;
static mw_spool_t spool;
static mw_metrics_t *metrics;

static void put(uint64_t key, bool has_identity) {
	char path[512];
	mw_error_t error;
	mw_spool_loss_t loss = {0};
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	const uint32_t location = mw_profile_add_location(p, 0, 0x1000 + key, false);
	mw_profile_add_sample(p, &location, 1, (const int64_t[]){1, 2, 3, (int64_t)key}, NULL, 0);
	const mw_identity_t identity = {"shop", "h:1:2", "h", "", "", NULL, 0};
	if (has_identity)
		mw_identity_write(p, &identity);
	mw_spool_new_path(&spool, key, path, sizeof(path));
	CHECK_EQ(mw_write_profile(p, path, MW_FORMAT_PROTO, MW_GZIP_ON, &error), 0);
	mw_profile_free(p);
	CHECK_EQ(mw_spool_commit(&spool, key, false, key, &loss, &error), 0);
}

/* A receiver that gives these answers, one after the other. */
static mw_sent_t answers[8];
static uint64_t got[8];
static unsigned calls;

static mw_sent_t answer(void *context, const mw_spool_entry_t *entry, const mw_identity_t *identity,
			mw_profile_t *profile, mw_error_t *error) {
	CHECK(context == answers);
	CHECK_STR(identity->service, "shop");
	CHECK_STR(identity->instance, "h:1:2");
	CHECK_EQ(profile->sample_count, 1);
	CHECK_EQ(mw_profile_total(profile, 3), (int64_t)entry->key);
	mw_error_set(error, "answer %u", calls);
	got[calls] = entry->key;
	return answers[calls++];
}

static int run(void) {
	calls = 0;
	return mw_sender_run(&spool, answer, answers, metrics);
}

static size_t left(void) {
	size_t count;
	free(mw_spool_list(&spool, &count));
	return count;
}

static void test_answers(void) {
	for (uint64_t key = 1; key <= 4; key++)
		put(key, true);
	answers[0] = MW_SENT_DONE;
	answers[1] = MW_SENT_LATER;
	CHECK_EQ(run(), MW_SENDER_LATER);
	CHECK_EQ(calls, 2);
	CHECK_EQ(left(), 3);
	/* The next run begins with the one that waits. */
	answers[0] = answers[1] = answers[2] = MW_SENT_DONE;
	CHECK_EQ(run(), MW_SENDER_EMPTY);
	CHECK_EQ(calls, 3);
	CHECK_EQ(got[0], 2);
	CHECK_EQ(left(), 0);
}

static void test_order_and_counts(void) {
	for (uint64_t key = 1; key <= 3; key++)
		put(key, true);
	answers[0] = MW_SENT_DONE;
	answers[1] = MW_SENT_REFUSED;
	answers[2] = MW_SENT_DONE;
	uint64_t sent = metrics->sent_total, refused = metrics->refused_total;
	CHECK_EQ(run(), MW_SENDER_EMPTY);
	CHECK_EQ(calls, 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(got[i], i + 1);
	CHECK_EQ(metrics->sent_total - sent, 2);
	CHECK_EQ(metrics->refused_total - refused, 1);
	CHECK(metrics->last_sent_time_seconds > 0);
	CHECK_EQ(left(), 0);
}

/* Trouble with one entry keeps neither those behind it nor the entry itself. */
static void test_skipped(void) {
	for (uint64_t key = 1; key <= 3; key++)
		put(key, true);
	answers[0] = MW_SENT_DONE;
	answers[1] = MW_SENT_SKIPPED;
	answers[2] = MW_SENT_DONE;
	CHECK_EQ(run(), MW_SENDER_LATER);
	CHECK_EQ(calls, 3);
	CHECK_EQ(left(), 1);
	answers[0] = MW_SENT_DONE;
	CHECK_EQ(run(), MW_SENDER_EMPTY);
	CHECK_EQ(got[0], 2);
	CHECK_EQ(left(), 0);
}

/* Entries without an identity, or that are no profile, are given up; those behind them are sent. */
static void test_damaged(void) {
	char path[512];
	mw_error_t error;
	mw_spool_loss_t loss = {0};
	put(1, false);
	mw_spool_new_path(&spool, 2, path, sizeof(path));
	FILE *file = fopen(path, "w");
	CHECK(file != NULL);
	CHECK(fputs("nonsense", file) >= 0);
	fclose(file);
	CHECK_EQ(mw_spool_commit(&spool, 2, false, 2, &loss, &error), 0);
	mw_spool_new_path(&spool, 3, path, sizeof(path));
	fclose(fopen(path, "w"));
	CHECK_EQ(mw_spool_commit(&spool, 3, false, 3, &loss, &error), 0);
	put(4, true);
	answers[0] = MW_SENT_DONE;
	uint64_t refused = metrics->refused_total;
	CHECK_EQ(run(), MW_SENDER_EMPTY);
	CHECK_EQ(calls, 1);
	CHECK_EQ(got[0], 4);
	CHECK_EQ(metrics->refused_total - refused, 3);
	CHECK_EQ(left(), 0);
}

/* ---- names that are remembered ---- */

static void test_known(void) {
	mw_error_t error;
	CHECK_EQ(mw_known_open(&folder, &error), 0);
	mw_known_t known = {.name = {.service = strdup("a=b c"),
				     .version = strdup(""),
				     .labels = {{strdup("env"), strdup("x=y")}},
				     .label_count = 1},
			    .instance = strdup("h:1:2"),
			    .rules = 0x1234567890abcdefu};
	mw_known_t read;
	CHECK(!mw_known_load(&folder, 7, &read));
	CHECK_EQ(mw_known_save(&folder, 7, &known), 0);
	CHECK_EQ(mw_known_save(&folder, 8, &known), 0);
	CHECK(mw_known_load(&folder, 7, &read));
	CHECK_STR(read.name.service, "a=b c");
	CHECK_STR(read.name.version, "");
	CHECK_STR(read.instance, "h:1:2");
	CHECK_EQ(read.name.label_count, 1);
	CHECK_STR(read.name.labels[0].key, "env");
	CHECK_STR(read.name.labels[0].value, "x=y");
	CHECK(read.rules == known.rules && !read.name.is_ignored);
	mw_known_release(&read);
	mw_known_keep_only(&folder, (const uint64_t[]){8, 9}, 2);
	CHECK(!mw_known_load(&folder, 7, &read));
	CHECK(mw_known_load(&folder, 8, &read));
	mw_known_release(&read);
	mw_known_forget(&folder, 8);
	CHECK(!mw_known_load(&folder, 8, &read));
	/* Damaged: no instance. */
	CHECK_EQ(mw_agent_folder_write(&folder, "known/0000000000000009",
				       "service=a\nversion=\n=\n", 21),
		 0);
	CHECK(!mw_known_load(&folder, 9, &read));
	mw_known_release(&known);
}

/* ---- names of functions ---- */

static mw_profile_t *two_locations(uint64_t second) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	const mw_mapping_t file = {
		.start = 0x1000, .limit = 0x9000, .path = mw_profile_intern(p, "/bin/server")};
	const mw_mapping_t script = {
		.start = 0, .limit = 0, .path = mw_profile_intern(p, "[python]")};
	const uint32_t mapping = mw_profile_add_mapping(p, &file);
	const uint32_t python = mw_profile_add_mapping(p, &script);
	const uint32_t locations[] = {mw_profile_add_location(p, mapping, 0x1100, false),
				      mw_profile_add_location(p, mapping, second, false),
				      mw_profile_add_location(p, python, 1, false)};
	mw_profile_add_sample(p, locations, 3, (const int64_t[]){1, 2, 3, 4}, NULL, 0);
	return p;
}

static void name(mw_profile_t *p, uint32_t location, const char *text, int64_t number) {
	const mw_function_t function = {.name = mw_profile_intern(p, text),
					.file = mw_profile_intern(p, "server.c")};
	const mw_line_t line = {.function = mw_profile_add_function(p, &function), .line = number};
	mw_profile_set_lines(p, location, &line, 1);
}

static const char *name_of(const mw_profile_t *p, uint32_t location) {
	const mw_line_t *line = mw_location_line(p, &p->locations[location], 0);
	return line != NULL ? mw_profile_string(p, p->functions[line->function].name) : "";
}

static void test_names(void) {
	mw_profile_t *named = two_locations(0x1200), *p = two_locations(0x1300);
	name(named, 1, "serve", 10);
	name(named, 2, "answer", 20);
	name(named, 3, "script", 30);
	name(p, 3, "own", 5);
	mw_names_take(p, named);
	CHECK_STR(name_of(p, 1), "serve");
	CHECK_STR(name_of(p, 2), "");
	CHECK_STR(name_of(p, 3), "own");
	CHECK_EQ(mw_location_line(p, &p->locations[1], 0)->line, 10);
	mw_names_forget(named);
	CHECK_STR(name_of(named, 1), "");
	CHECK_STR(name_of(named, 3), "script");
	mw_profile_free(named);
	mw_profile_free(p);
}

int main(void) {
	char command[300];
	mw_error_t error;
	CHECK(mkdtemp(top) != NULL);
	snprintf(command, sizeof(command), "%s/folder", top);
	CHECK_EQ(mw_agent_folder_open(&folder, command, &error), 0);
	CHECK_EQ(mw_spool_open(&spool, &folder, 1 << 20, &error), 0);
	metrics = mw_metrics_map(&error);
	CHECK(metrics != NULL);
	test_answers();
	test_order_and_counts();
	test_skipped();
	test_damaged();
	test_known();
	test_names();
	mw_spool_close(&spool);
	mw_agent_folder_close(&folder);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	CHECK_EQ(system(command), 0);
	return 0;
}
