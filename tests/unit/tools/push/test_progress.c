/* SPDX-License-Identifier: MIT
 * test_progress.c -- counts since the last push: differences, resets, stacks that are given up; the
 * files that keep them; waits between attempts; secrets. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "push/delta.h"
#include "push/progress.h"
#include "push/retry.h"
#include "push/secret.h"
#include "test.h"

static char folder[] = "/tmp/mallow-test-push.XXXXXX";
static mw_error_t error;

/* A heap of three stacks; values are bytes allocated, all of them one object. */
static mw_profile_t *heap_of(int64_t a, int64_t b, int64_t c, int64_t time_ns) {
	const int64_t bytes[] = {a, b, c};
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_profile_add_type(p, "peak_space", "bytes");
	const mw_mapping_t mapping = {
		.start = 0x1000, .limit = 0x9000, .path = mw_profile_intern(p, "/bin/a")};
	uint32_t number = mw_profile_add_mapping(p, &mapping);
	const mw_label_t label = {.key = mw_profile_intern(p, "bytes"), .number = 16};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t frame = mw_profile_add_location(p, number, 0x2000 + 16 * i, false);
		/* Two samples of a stack, with a label and without. */
		const int64_t values[] = {1, bytes[i] - 5, 1, 7, 1000};
		const int64_t rest[] = {0, 5, 0, 0, 0};
		if (bytes[i] == 0)
			continue;
		mw_profile_add_sample(p, &frame, 1, values, NULL, 0);
		mw_profile_add_sample(p, &frame, 1, rest, &label, 1);
	}
	p->time_ns = time_ns;
	p->duration_ns = time_ns - 1000;
	CHECK(mw_delta_prepare(p, MW_KIND_HEAP));
	return p;
}

static int64_t total(const mw_profile_t *p, const char *type) {
	int found = mw_profile_find_type(p, type);
	return found >= 0 ? mw_profile_total(p, (size_t)found) : -1;
}

static void what_is_prepared_has_the_kinds_types_only(void) {
	mw_profile_t *p = heap_of(100, 200, 0, 5000);
	CHECK_EQ(p->type_count, 4);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(total(p, "alloc_space"), 300);
	CHECK(!mw_delta_prepare(p, MW_KIND_CPU));
	CHECK_EQ(p->type_count, 4);
	mw_profile_free(p);
}

/* Checks the allocated bytes of `now` since `base`, and that nothing is negative. */
static void expect_since(mw_profile_t *now, mw_profile_t *base, int64_t bytes, int64_t duration) {
	int64_t in_use = total(now, "inuse_space");
	mw_delta_subtract(now, base);
	CHECK_EQ(total(now, "alloc_space"), bytes);
	CHECK_EQ(total(now, "inuse_space"), in_use);
	CHECK_EQ(now->duration_ns, duration);
	for (size_t i = 0; i < now->sample_count * now->type_count; i++)
		CHECK(now->values[i] >= 0);
	mw_profile_free(now);
	mw_profile_free(base);
}

static void counts_since_the_last_push(void) {
	expect_since(heap_of(150, 200, 30, 5000), heap_of(100, 200, 0, 3000), 80, 2000);
	expect_since(heap_of(100, 200, 0, 5000), heap_of(100, 200, 0, 3000), 0, 2000);
	/* The second stack was given up: the first has its counts now. */
	expect_since(heap_of(320, 0, 30, 5000), heap_of(100, 200, 0, 3000), 50, 2000);
	/* The sum has fallen: counters were set to zero. */
	expect_since(heap_of(40, 0, 10, 5000), heap_of(100, 200, 0, 3000), 50, 2000);
	/* The clock was set back. */
	mw_profile_t *earlier = heap_of(100, 200, 0, 8000);
	earlier->duration_ns = 7000;
	expect_since(heap_of(150, 200, 30, 5000), earlier, 80, 0);
	/* They count from another time on, and have grown beyond the former sum since. */
	mw_profile_t *now = heap_of(400, 0, 0, 5000);
	now->duration_ns = 500;
	expect_since(now, heap_of(100, 200, 0, 3000), 400, 500);
}

static mw_progress_t *opened(const char *process) {
	mw_progress_t *progress;
	if (mw_progress_open(folder, "otlp+http://a", process, &progress, &error) != 0)
		CHECK_STR(error.text, "");
	return progress;
}

static void a_batch_is_repeated_until_it_is_committed(void) {
	mw_progress_t *progress = opened("1.2.3.heap");
	mw_pending_t batch, again;
	mw_profile_t *now = heap_of(100, 200, 0, 3000);
	CHECK_EQ(mw_progress_resume(progress, &batch, &error), 0);
	CHECK_EQ(mw_progress_begin(progress, now, &batch, &error), 0);
	CHECK_EQ(total(batch.profile, "alloc_space"), 300);
	CHECK_EQ(mw_progress_resume(progress, &again, &error), 1);
	CHECK_EQ(again.number, batch.number);
	CHECK_EQ(total(again.profile, "alloc_space"), 300);
	mw_profile_free(again.profile);
	mw_profile_free(batch.profile);
	CHECK_EQ(mw_progress_commit(progress, &error), 0);
	CHECK_EQ(mw_progress_resume(progress, &again, &error), 0);
	mw_profile_free(now);
	/* The next one; killed, and begun again by another push. */
	now = heap_of(160, 200, 5, 4000);
	CHECK_EQ(mw_progress_begin(progress, now, &batch, &error), 0);
	CHECK_EQ(total(batch.profile, "alloc_space"), 65);
	mw_progress_close(progress);
	progress = opened("1.2.3.heap");
	CHECK_EQ(mw_progress_resume(progress, &again, &error), 1);
	CHECK(again.number == batch.number && again.number != 0);
	CHECK_EQ(total(again.profile, "alloc_space"), 65);
	CHECK_EQ(again.profile->duration_ns, 1000);
	mw_profile_free(batch.profile);
	mw_profile_free(again.profile);
	/* It is refused: the next one has its counts, too. */
	mw_progress_drop(progress);
	CHECK_EQ(mw_progress_resume(progress, &again, &error), 0);
	CHECK_EQ(mw_progress_begin(progress, now, &batch, &error), 0);
	CHECK_EQ(total(batch.profile, "alloc_space"), 65);
	mw_profile_free(batch.profile);
	mw_profile_free(now);
	mw_progress_close(progress);
	/* Another process begins with nothing. */
	progress = opened("1.9.3.heap");
	CHECK_EQ(mw_progress_resume(progress, &again, &error), 0);
	mw_progress_close(progress);
}

static void put_file(const char *name, const char *text) {
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
	chmod(path, 0600);
}

static void set_age(const char *name, time_t seconds) {
	char path[256];
	const struct timespec then[2] = {{.tv_sec = time(NULL) - seconds},
					 {.tv_sec = time(NULL) - seconds}};
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(utimensat(AT_FDCWD, path, then, 0), 0);
}

/* Puts an old file into the folder.  Returns whether a push leaves it there. */
static bool stays(void) {
	char path[256];
	put_file("old.base.pb.gz", "x");
	set_age("old.base.pb.gz", 15 * 86400);
	mw_progress_close(opened("1.2.3.heap"));
	snprintf(path, sizeof(path), "%s/old.base.pb.gz", folder);
	return access(path, F_OK) == 0;
}

/* A host with many processes pushes each of them every few minutes. */
static void old_files_are_looked_for_once_a_day(void) {
	mw_progress_close(opened("1.2.3.heap"));
	CHECK(stays());
	set_age(".looked", 86401);
	CHECK(!stays());
	set_age(".looked", -86401); /* the clock was ahead */
	CHECK(!stays());
	CHECK(stays());
}

static void damaged_files_are_named(void) {
	mw_progress_t *progress = opened("7.7.7.heap");
	mw_pending_t batch;
	mw_profile_t *now = heap_of(100, 200, 0, 3000);
	CHECK_EQ(mw_progress_begin(progress, now, &batch, &error), 0);
	mw_profile_free(batch.profile);
	CHECK_EQ(mw_progress_commit(progress, &error), 0);
	char command[512];
	snprintf(command, sizeof(command),
		 "for f in %s/*7.7.7.heap.base.pb.gz; do echo x >$f; done", folder);
	CHECK_EQ(system(command), 0);
	CHECK_EQ(mw_progress_begin(progress, now, &batch, &error), -1);
	CHECK(strstr(error.text, "7.7.7.heap.base.pb.gz") != NULL);
	CHECK(strstr(error.text, "if you remove the file") != NULL);
	CHECK(batch.profile == NULL);
	mw_progress_close(progress);
	mw_profile_free(now);
	/* Others may not write there. */
	chmod(folder, 0777);
	CHECK_EQ(mw_progress_open(folder, "x", "1", &progress, &error), -1);
	CHECK(strstr(error.text, "other users can write there") != NULL);
	chmod(folder, 0700);
}

static void waits_double_within_the_limit(void) {
	mw_retry_t retry = mw_retry_begin(1000);
	double seconds, longest = 0.5, sum = 0;
	for (int i = 0; i < 12; i++) {
		CHECK(mw_retry_next(&retry, -1, &seconds));
		CHECK(seconds >= longest / 2 && seconds <= longest);
		longest = longest * 2 < 30 ? longest * 2 : 30;
		sum += seconds;
	}
	CHECK_NEAR(retry.waited_seconds, sum, 1e-9);
	/* What the receiver asks for, and a little more; not beyond the limit. */
	retry = mw_retry_begin(60);
	CHECK(mw_retry_next(&retry, 20, &seconds));
	CHECK(seconds >= 20 && seconds < 21);
	CHECK(!mw_retry_next(&retry, 3600, &seconds));
	CHECK_EQ(retry.waits, 1);
	retry = mw_retry_begin(0);
	CHECK(!mw_retry_next(&retry, -1, &seconds));
	/* Two hosts do not wait alike. */
	double other;
	mw_retry_t a = mw_retry_begin(9), b = mw_retry_begin(9);
	CHECK(mw_retry_next(&a, -1, &seconds) && mw_retry_next(&b, -1, &other));
	CHECK(seconds < other || seconds > other);
}

static int read_token(const char *name, mw_secrets_t *secrets) {
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return mw_secrets_read(path, NULL, secrets, &error);
}

static void secrets_from_files_and_variables(void) {
	mw_secrets_t secrets;
	char path[256];
	unsetenv("MALLOW_PUSH_TOKEN");
	unsetenv("MALLOW_PUSH_PASSWORD");
	CHECK_EQ(mw_secrets_read(NULL, NULL, &secrets, &error), 0);
	CHECK(secrets.token == NULL && secrets.password == NULL);
	setenv("MALLOW_PUSH_PASSWORD", "from variable", 1);
	CHECK_EQ(mw_secrets_read(NULL, NULL, &secrets, &error), 0);
	CHECK(secrets.token == NULL);
	CHECK_STR(secrets.password, "from variable");
	mw_secrets_free(&secrets);
	put_file("good", "from file\r\nnext line\n");
	CHECK_EQ(read_token("good", &secrets), 0);
	CHECK_STR(secrets.token, "from file");
	mw_secrets_free(&secrets);
	put_file("empty", "\nsecond\n");
	CHECK_EQ(read_token("empty", &secrets), -1);
	put_file("odd", "a\x1b[1mb\n");
	CHECK_EQ(read_token("odd", &secrets), -1);
	CHECK(strchr(error.text, '\x1b') == NULL);
	CHECK_EQ(read_token("missing", &secrets), -1);
	snprintf(path, sizeof(path), "%s/good", folder);
	CHECK(mw_secrets_read(path, path, &secrets, &error) == 0);
	mw_secrets_free(&secrets);
	chmod(path, 0640);
	CHECK_EQ(read_token("good", &secrets), -1);
	CHECK(strstr(error.text, "chmod 600") != NULL);
	CHECK(secrets.token == NULL && secrets.password == NULL);
	/* One that cannot be read, beside one that can. */
	setenv("MALLOW_PUSH_TOKEN", "from variable", 1);
	CHECK_EQ(mw_secrets_read(NULL, path, &secrets, &error), -1);
	CHECK(secrets.token == NULL && secrets.password == NULL);
}

int main(void) {
	CHECK(mkdtemp(folder) != NULL);
	RUN(what_is_prepared_has_the_kinds_types_only);
	RUN(counts_since_the_last_push);
	RUN(a_batch_is_repeated_until_it_is_committed);
	RUN(old_files_are_looked_for_once_a_day);
	RUN(damaged_files_are_named);
	RUN(waits_double_within_the_limit);
	RUN(secrets_from_files_and_variables);
	char command[256];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) != 0;
}
