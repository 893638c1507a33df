/* SPDX-License-Identifier: MIT
 * test_directory.c -- a store in a directory: commands that are killed while they store a profile,
 * or drop a day, a full disk, an index that is missing, damaged or replaced, two writers at once.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_profile.h"
#include "store/backend.h"
#include "store/profile_store.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)
#define NOON_NS (INT64_C(20787) * 24 * HOUR_NS + 12 * HOUR_NS) /* 2026-11-30 */

static char root[64], url[80];
static mw_error_t error;

static void make_root(void) {
	strcpy(root, "/tmp/mallow-store-XXXXXX");
	CHECK(mkdtemp(root) != NULL);
	snprintf(url, sizeof(url), "dir://%s/store", root);
}

static void run(const char *format, const char *a, const char *b) {
	char command[400];
	snprintf(command, sizeof(command), format, a, b);
	CHECK(system(command) == 0);
}

static void remove_root(void) {
	run("rm -rf %s%s", root, "");
}

static mw_profile_t *profile_of(int64_t bytes) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	made_stack(p, "main;parse", (const int64_t[]){20, 20 * bytes, 2, bytes}, NULL);
	made_stack(p, "main;serve+reply", (const int64_t[]){3, 300, 1, 7}, NULL);
	return p;
}

static mw_put_t put_of(uint64_t number, const mw_profile_t *p) {
	static const mw_tag_t tags[] = {{"region", "r'1\"\n"}};
	return (mw_put_t){
		.identity = {.service = "web/1;DROP TABLE",
			     .instance = "host:1:1",
			     .host = "host",
			     .version = "1.2",
			     .build_id = "",
			     .tags = tags,
			     .tag_count = 1},
		.kind = MW_KIND_HEAP,
		.number = number,
		.time_ns = NOON_NS + (int64_t)number * 1000000000,
		.profile = p,
	};
}

static int put(uint64_t number, int64_t bytes) {
	mw_store_t *store;
	bool may_retry;
	int result = mw_store_open(url, NULL, true, &store, &error);
	if (result != 0)
		return result;
	mw_profile_t *p = profile_of(bytes);
	const mw_put_t what = put_of(number, p);
	result = mw_store_put(store, &what, &may_retry, &error);
	CHECK(result == 0 || may_retry || strstr(error.text, "no folder") != NULL);
	mw_profile_free(p);
	mw_store_close(store);
	return result;
}

static int drop(uint64_t number, int64_t bytes) {
	mw_store_t *store;
	(void)number;
	(void)bytes;
	CHECK(mw_store_open(url, NULL, true, &store, &error) == 0);
	int result = mw_store_drop_day(store, 20787, &error);
	mw_store_close(store);
	return result;
}

/* What the store counts of all profiles: live bytes added up, and how many there are. */
static int64_t live_bytes(uint64_t *profiles) {
	mw_store_t *store;
	void *self;
	CHECK(mw_store_open(url, NULL, false, &store, &error) == 0);
	const mw_backend_t *backend = mw_store_backend(store, &self);
	const mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};
	mw_batch_t *batch = mw_batch_new();
	mw_counted_t counted;
	int64_t other[MW_VALUES] = {0}, sum = 0;
	int result = backend->samples(self, &range, MW_SUM_ALL, MW_VALUE_NOW_AMOUNT, 1000, batch,
				      other, &counted, &error);
	/* A damaged index is found by the first question, and made anew for the second. */
	if (result != 0) {
		mw_batch_free(batch);
		batch = mw_batch_new();
		CHECK(backend->samples(self, &range, MW_SUM_ALL, MW_VALUE_NOW_AMOUNT, 1000, batch,
				       other, &counted, &error) == 0);
	}
	for (size_t i = 0; i < batch->sample_count; i++)
		sum += batch->samples[i].values[MW_VALUE_NOW_AMOUNT];
	CHECK_EQ(sum, counted.totals[MW_VALUE_NOW_AMOUNT]);
	*profiles = counted.profiles;
	mw_batch_free(batch);
	mw_store_close(store);
	return sum;
}

static void check_live(int64_t bytes, uint64_t profiles) {
	uint64_t count;
	CHECK_EQ(live_bytes(&count), bytes);
	CHECK_EQ(count, profiles);
}

static size_t files_in(const char *folder) {
	char command[200];
	unsigned count = 0;
	snprintf(command, sizeof(command), "find %s/store/%s -name '*.pb.gz' | wc -l", root,
		 folder);
	FILE *out = popen(command, "r");
	CHECK(out != NULL && fscanf(out, "%u", &count) == 1);
	pclose(out);
	return count;
}

static void stores_once(void) {
	make_root();
	CHECK(put(1, 100) == 0);
	CHECK(put(2, 1000) == 0);
	check_live(1114, 2);
	CHECK(put(2, 1000) == 0);
	check_live(1114, 2);
	CHECK_EQ(files_in("profiles"), 2);
	CHECK_EQ(files_in("incoming"), 0);
	remove_root();
}

/* A command of a store: puts a profile with the number, or drops its day. */
typedef int command_t(uint64_t number, int64_t bytes);

/* Runs the command in a process that is killed at system call `at`.  True: it was killed. */
static bool is_killed_at(unsigned at, command_t *command, uint64_t number, int64_t bytes) {
	int status;
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(3);
		raise(SIGSTOP);
		_exit(command(number, bytes) == 0 ? 0 : 4);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	for (unsigned i = 0; i < at; i++) {
		CHECK(ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0);
		CHECK(waitpid(child, &status, 0) == child);
		if (WIFEXITED(status)) {
			CHECK_EQ(WEXITSTATUS(status), 0);
			return false;
		}
	}
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	return true;
}

/* Files of killed commands would be removed after an hour. */
static void empty_incoming(void) {
	char path[100];
	snprintf(path, sizeof(path), "%s/store/incoming", root);
	int folder = open(path, O_RDONLY | O_DIRECTORY);
	DIR *entries = fdopendir(folder);
	CHECK(entries != NULL);
	for (struct dirent *e; (e = readdir(entries)) != NULL;)
		unlinkat(folder, e->d_name, 0);
	closedir(entries);
}

/* MALLOW_TEST_KILL_STEP=1 kills at the entry and the exit of every system call.  After every second
 * kill the profile is stored again, as a caller does who does not know whether it was counted. */
static void killed_at_each_step(void) {
	const char *text = getenv("MALLOW_TEST_KILL_STEP");
	unsigned step = text != NULL ? (unsigned)atoi(text) : 17, kills = 0;
	uint64_t number = 1, stored = 1, count;
	int64_t want = 107;
	make_root();
	CHECK(put(number, 100) == 0);
	for (unsigned at = 1;; at += step) {
		bool killed = is_killed_at(at, put, ++number, 1000);
		bool is_counted = live_bytes(&count) == want + 1007;
		CHECK_EQ(count, stored + is_counted);
		if (kills % 2 == 0 && !is_counted) {
			CHECK(put(number, 1000) == 0);
			is_counted = true;
		}
		CHECK(put(++number, 1) == 0);
		stored += 1 + is_counted;
		want += 8 + (is_counted ? 1007 : 0);
		check_live(want, stored);
		empty_incoming();
		if (!killed)
			break;
		kills++;
	}
	CHECK(kills >= 10);
	CHECK_EQ(files_in("profiles"), stored);
	run("rm %s/store/index.sqlite%s", root, "");
	check_live(want, stored);
	remove_root();
}

/* A limit of a file's size stands for a full disk. */
static void full_disk(void) {
	unsigned failed = 0;
	uint64_t number = 1, count;
	int64_t want = 107;
	signal(SIGXFSZ, SIG_IGN);
	make_root();
	CHECK(put(1, 100) == 0);
	for (rlim_t limit = 64; limit < 400000; limit = limit * 3 / 2) {
		struct rlimit old, small;
		CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
		small = old;
		small.rlim_cur = limit;
		CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
		int result = put(++number, 1000);
		CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
		failed += result != 0;
		if (result == 0)
			want += 1007;
		else
			number--;
		CHECK_EQ(live_bytes(&count), want);
		CHECK_EQ(count, number);
	}
	CHECK(failed >= 3 && number > 1);
	CHECK_EQ(files_in("incoming"), 0);
	remove_root();
}

/* A drop is what makes room: its files go although the index cannot be changed. */
static void drop_on_a_full_disk(void) {
	struct rlimit old, small;
	uint64_t count;
	make_root();
	CHECK(put(1, 100) == 0);
	CHECK(put(100000, 1000) == 0);
	CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
	small = old;
	small.rlim_cur = 1;
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	CHECK(drop(0, 0) == -1);
	CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
	CHECK_EQ(files_in("profiles"), 1);
	live_bytes(&count);
	CHECK_EQ(count, 2); /* a later drop finds the day */
	CHECK(drop(0, 0) == 0);
	check_live(1007, 1);
	remove_root();
}

static void damage(off_t at, unsigned char with, size_t length) {
	char path[100], bytes[4096];
	memset(bytes, with, sizeof(bytes));
	snprintf(path, sizeof(path), "%s/store/index.sqlite", root);
	int fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && pwrite(fd, bytes, length, at) == (ssize_t)length);
	close(fd);
}

static void damaged_index(void) {
	static const off_t places[] = {0, 18, 100, 4096, 8192, 3 * 4096 + 8, 5 * 4096, 9 * 4096};
	make_root();
	for (uint64_t i = 1; i <= 5; i++)
		CHECK(put(i, 100) == 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		damage(places[i], 0xff, 64);
		check_live(5 * 107, 5);
		damage(places[i], 0xff, 4096);
		CHECK(put(5, 100) == 0);
		check_live(5 * 107, 5);
	}
	run("truncate -s 5000 %s/store/index.sqlite%s", root, "");
	check_live(5 * 107, 5);
	run("truncate -s 0 %s/store/index.sqlite%s", root, "");
	check_live(5 * 107, 5);
	run("rm %s/store/index.sqlite%s", root, "");
	CHECK(put(6, 100) == 0);
	check_live(6 * 107, 6);
	remove_root();
}

/* Another command makes the index anew while this one has it open. */
static void replaced_index(void) {
	mw_store_t *store;
	bool may_retry;
	make_root();
	CHECK(put(1, 100) == 0);
	mw_profile_t *p = profile_of(1000);
	const mw_put_t what = put_of(2, p);
	CHECK(mw_store_open(url, NULL, true, &store, &error) == 0);
	run("rm %s/store/index.sqlite%s", root, "");
	check_live(107, 1);
	CHECK(mw_store_put(store, &what, &may_retry, &error) == 0);
	check_live(1114, 2);
	run("rm %s/store/index.sqlite%s", root, "");
	CHECK(mw_store_drop_day(store, 20787, &error) == 0);
	mw_store_close(store);
	mw_profile_free(p);
	check_live(0, 0);
	remove_root();
}

/* SQLite would wait for the writer of a pipe. */
static void irregular_index(void) {
	mw_store_t *store;
	make_root();
	CHECK(put(1, 100) == 0);
	run("cd %s/store && mkfifo index.sqlite-journal%s", root, "");
	check_live(107, 1);
	run("cd %s/store && rm -f index.sqlite && mkfifo index.sqlite%s", root, "");
	CHECK(mw_store_open(url, NULL, false, &store, &error) == -1);
	CHECK(strstr(error.text, "index.sqlite: this is no regular file") != NULL);
	run("cd %s/store && rm index.sqlite && mkdir index.sqlite%s", root, "");
	CHECK(put(2, 100) == -1);
	CHECK(strstr(error.text, "index.sqlite: this is no regular file") != NULL);
	remove_root();
}

static void put_number(unsigned char *to, uint32_t number) {
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* Writes the undo log of a change that several databases share: SQLite removes the file that it
 * names when it has undone the change. */
static void plant_undo_log(const char *path, off_t pages, const char *named) {
	static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	unsigned char bytes[1024] = {0}, *at = bytes + 512;
	uint32_t length = (uint32_t)strlen(named), sum = 0;
	memcpy(bytes, magic, sizeof(magic));
	put_number(bytes + 16, (uint32_t)pages);
	put_number(bytes + 20, 512);
	put_number(bytes + 24, 4096);
	put_number(at, 0x40000000 / 4096 + 1); /* the page that no database has */
	memcpy(at + 4, named, length);
	for (uint32_t i = 0; i < length; i++)
		sum += (unsigned char)named[i];
	put_number(at + 4 + length, length);
	put_number(at + 8 + length, sum);
	memcpy(at + 12 + length, magic, sizeof(magic));
	FILE *out = fopen(path, "w");
	CHECK(out != NULL && fwrite(bytes, 1, 532 + length, out) == 532 + length);
	fclose(out);
}

static off_t index_pages(void) {
	char path[100];
	struct stat info;
	snprintf(path, sizeof(path), "%s/store/index.sqlite", root);
	CHECK(stat(path, &info) == 0);
	return info.st_size / 4096;
}

static void undo_log_of_another_user(void) {
	char undo_log[120], named[120];
	if (geteuid() != 0) /* nobody else can give a file away */
		return;
	make_root();
	snprintf(undo_log, sizeof(undo_log), "%s/store/index.sqlite-journal", root);
	snprintf(named, sizeof(named), "%s/other", root);
	CHECK(put(1, 100) == 0);
	run("echo something > %s%s", named, "");
	plant_undo_log(undo_log, index_pages(), named);
	CHECK(chown(undo_log, 65534, 65534) == 0);
	CHECK(put(2, 100) == 0);
	CHECK(access(named, F_OK) == 0 && access(undo_log, F_OK) != 0);
	check_live(2 * 107, 2);
	/* One of its own is played back: that is what the planted one would have done. */
	plant_undo_log(undo_log, index_pages(), named);
	check_live(2 * 107, 2);
	CHECK(access(named, F_OK) != 0);
	remove_root();
}

static void temporaries_of_killed_commands(void) {
	make_root();
	CHECK(put(1, 100) == 0);
	run("cd %s/store && mkdir symbols && touch index.sqlite.77.tmp index.sqlite.77.tmp-journal"
	    " incoming/new.pb.gz.77.tmp && touch -d '2 hours ago' symbols/ab.pb.gz.77.tmp"
	    " incoming/old.pb.gz.77.tmp && rm index.sqlite%s",
	    root, "");
	CHECK(put(2, 100) == 0);
	run("test \"$(cd %s/store && find . -name '*.tmp*')\" = ./incoming/new.pb.gz.77.tmp%s",
	    root, "");
	remove_root();
}

static void other_files_are_left_out(void) {
	make_root();
	CHECK(put(1, 100) == 0);
	run("cd %s/store/profiles/2026-11-30 && echo hello > note.txt && gzip -c note.txt >"
	    " 01795824000000000000-heap-00000000000000aa.pb.gz && ln -s /etc/passwd"
	    " 01795824000000000000-heap-00000000000000bb.pb.gz && rm ../../index.sqlite%s",
	    root, "");
	check_live(107, 1);
	remove_root();
}

/* Links that another user has made in a folder that he may write into. */
static void links_are_refused(void) {
	static const char *const names[] = {"index.sqlite", "profiles", "incoming", "symbols"};
	make_root();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(put(1, 100) == 0);
		run("cd %s && mkdir -p target && rm -rf store/%s", root, names[i]);
		run("cd %s && ln -s ../target/made store/%s", root, names[i]);
		CHECK(put(2, 100) != 0);
		CHECK(strstr(error.text, "it is a link") != NULL ||
		      strstr(error.text, "cannot make the folder") != NULL ||
		      strstr(error.text, "no store there") != NULL);
		run("cd %s && rmdir target && rm -rf store%s", root, "");
	}
	CHECK(put(1, 100) == 0);
	run("cd %s && mv store/profiles/2026-11-30 elsewhere && ln -s ../../elsewhere"
	    " store/profiles/2026-11-30%s",
	    root, "");
	CHECK(put(2, 100) == -1);
	CHECK(strstr(error.text, "2026-11-30: this is no folder") != NULL);
	CHECK(drop(0, 0) == 0);
	run("test \"$(ls %s/elsewhere | wc -l)\" = 1%s", root, "");
	remove_root();
}

static void writers_at_once(void) {
	enum { WRITERS = 4, PUTS = 12 };
	make_root();
	for (unsigned w = 0; w < WRITERS; w++) {
		if (fork() != 0)
			continue;
		for (unsigned i = 1; i <= PUTS; i++)
			if (put(w * PUTS + i, 100) != 0)
				_exit(1);
		_exit(0);
	}
	for (unsigned w = 0; w < WRITERS; w++) {
		int status;
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	check_live(WRITERS * PUTS * 107, WRITERS * PUTS);
	CHECK_EQ(files_in("profiles"), WRITERS * PUTS);
	remove_root();
}

static void drops_a_day(void) {
	mw_store_t *store;
	make_root();
	CHECK(put(1, 100) == 0);
	CHECK(put(100000, 1000) == 0); /* the day after */
	check_live(1114, 2);
	CHECK(mw_store_open(url, NULL, true, &store, &error) == 0);
	CHECK(mw_store_drop_day(store, 20787, &error) == 0);
	CHECK(mw_store_drop_day(store, 20787, &error) == 0);
	mw_store_close(store);
	check_live(1007, 1);
	CHECK_EQ(files_in("profiles"), 1);
	remove_root();
}

/* As long as a file of the day is there the index has the day: a later command finds it. */
static void drop_that_is_killed(void) {
	unsigned kills = 0;
	uint64_t count;
	make_root();
	CHECK(put(100000, 1000) == 0);
	for (unsigned at = 1;; at += 11, kills++) {
		for (uint64_t i = 1; i <= 3; i++)
			CHECK(put(i, 100) == 0);
		bool killed = is_killed_at(at, drop, 0, 0);
		live_bytes(&count);
		CHECK(count == 4 || (count == 1 && files_in("profiles") == 1));
		CHECK(drop(0, 0) == 0);
		if (!killed)
			break;
	}
	CHECK(kills >= 10);
	run("rm %s/store/index.sqlite%s", root, "");
	check_live(1007, 1);
	remove_root();
}

static void refuses(void) {
	mw_store_t *store;
	bool may_retry;
	make_root();
	CHECK(mw_store_open("dir://relative", NULL, true, &store, &error) == -1);
	CHECK(strstr(error.text, "dir:///PATH") != NULL);
	CHECK(mw_store_open(url, NULL, false, &store, &error) == -1);
	CHECK(strstr(error.text, "no store there") != NULL);
	CHECK(mw_store_open(url, NULL, true, &store, &error) == 0);
	mw_profile_t *p = profile_of(1);
	mw_put_t what = put_of(1, p);
	char longer[2000];
	memset(longer, 'x', sizeof(longer));
	longer[1999] = '\0';
	what.identity.host = longer;
	CHECK(mw_store_put(store, &what, &may_retry, &error) == -1 && !may_retry);
	CHECK(strstr(error.text, "1999 bytes") != NULL);
	what = put_of(1, p);
	what.identity.service = "";
	CHECK(mw_store_put(store, &what, &may_retry, &error) == -1 && !may_retry);
	mw_store_close(store);
	mw_profile_free(p);
	remove_root();
}

int main(void) {
	RUN(stores_once);
	RUN(killed_at_each_step);
	RUN(full_disk);
	RUN(drop_on_a_full_disk);
	RUN(damaged_index);
	RUN(replaced_index);
	RUN(irregular_index);
	RUN(undo_log_of_another_user);
	RUN(temporaries_of_killed_commands);
	RUN(other_files_are_left_out);
	RUN(links_are_refused);
	RUN(writers_at_once);
	RUN(drops_a_day);
	RUN(drop_that_is_killed);
	RUN(refuses);
	return 0;
}
