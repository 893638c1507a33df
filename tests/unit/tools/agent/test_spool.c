/* SPDX-License-Identifier: MIT
 * test_spool.c -- the agent's spool and its memory of ended processes: order, bound, a kill and a
 * full disk at each step, two agents, damaged files. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/spool/ended.h"
#include "agent/spool/folder.h"
#include "agent/spool/spool.h"
#include "test.h"

static char top[] = "/tmp/mallow-spool.XXXXXX";
static char path[128];

static void fresh_folder(void) {
	static int number;
	snprintf(path, sizeof(path), "%s/%d", top, ++number);
}

static mw_agent_folder_t open_folder(void) {
	mw_agent_folder_t folder;
	mw_error_t error;
	if (mw_agent_folder_open(&folder, path, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return folder;
}

static mw_spool_t open_spool(const mw_agent_folder_t *folder, uint64_t limit) {
	mw_spool_t spool;
	mw_error_t error;
	CHECK_EQ(mw_spool_open(&spool, folder, limit, &error), 0);
	return spool;
}

/* As a worker writes an entry. */
static void write_new(const mw_spool_t *spool, uint64_t key, size_t bytes) {
	char name[512];
	mw_spool_new_path(spool, key, name, sizeof(name));
	FILE *file = fopen(name, "w");
	CHECK(file != NULL);
	for (size_t i = 0; i < bytes; i++)
		fputc((int)(key & 0x7f), file);
	CHECK_EQ(fclose(file), 0);
}

static int put(mw_spool_t *spool, uint64_t key, uint64_t now, mw_spool_loss_t *loss) {
	mw_error_t error;
	write_new(spool, key, 1000);
	return mw_spool_commit(spool, key, key >= 100, now, loss, &error);
}

/* Checks that the spool holds these keys in this order, each whole. */
static void holds(mw_spool_t *spool, size_t count, const uint64_t *keys) {
	size_t found;
	mw_spool_entry_t *entries = mw_spool_list(spool, &found);
	CHECK_EQ(found, count);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(entries[i].key, keys[i]);
		CHECK_EQ(entries[i].bytes, 1000);
		CHECK_EQ(entries[i].is_last, keys[i] >= 100);
	}
	CHECK_EQ(spool->bytes, 1000 * count);
	free(entries);
}

static void test_order(void) {
	fresh_folder();
	mw_agent_folder_t folder = open_folder();
	mw_spool_t spool = open_spool(&folder, 1 << 20);
	mw_spool_loss_t loss = {0};
	mw_error_t error;
	CHECK_EQ(put(&spool, 5, 1000, &loss), 0);
	CHECK_EQ(put(&spool, 100, 2000, &loss), 0);
	/* The clock jumps back: later entries stay later. */
	CHECK_EQ(put(&spool, 1, 10, &loss), 0);
	CHECK_EQ(put(&spool, 5, 10, &loss), 0);
	holds(&spool, 4, (const uint64_t[]){5, 100, 1, 5});
	CHECK(mw_spool_commit(&spool, 77, false, 9999, &loss, &error) != 0);
	CHECK(strstr(error.text, "No such file") != NULL);
	write_new(&spool, 77, 10);
	mw_spool_discard(&spool, 77);
	CHECK(mw_spool_commit(&spool, 77, false, 9999, &loss, &error) != 0);
	/* Another agent goes on after the last entry; files of others are not touched. */
	write_new(&spool, 78, 10);
	CHECK_EQ(close(openat(spool.ready, "README", O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQ(symlinkat("/etc/passwd", spool.ready, "link"), 0);
	mw_spool_close(&spool);
	spool = open_spool(&folder, 1 << 20);
	CHECK(faccessat(spool.fresh, "000000000000004e.pb.gz", F_OK, 0) != 0);
	CHECK_EQ(put(&spool, 6, 11, &loss), 0);
	holds(&spool, 5, (const uint64_t[]){5, 100, 1, 5, 6});
	size_t count;
	mw_spool_entry_t *entries = mw_spool_list(&spool, &count);
	CHECK_EQ(mw_spool_remove(&spool, &entries[1]), 0);
	CHECK(mw_spool_remove(&spool, &entries[1]) != 0);
	free(entries);
	holds(&spool, 4, (const uint64_t[]){5, 1, 5, 6});
	CHECK_EQ(loss.count, 0);
	mw_spool_close(&spool);
	mw_agent_folder_close(&folder);
}

static void test_bound(void) {
	fresh_folder();
	mw_agent_folder_t folder = open_folder();
	mw_spool_t spool = open_spool(&folder, 3500);
	mw_spool_loss_t loss = {0};
	for (uint64_t key = 1; key <= 3; key++)
		CHECK_EQ(put(&spool, key, key * 10, &loss), 0);
	CHECK_EQ(loss.count, 0);
	CHECK_EQ(put(&spool, 4, 40, &loss), 0);
	CHECK_EQ(put(&spool, 5, 50, &loss), 0);
	holds(&spool, 3, (const uint64_t[]){3, 4, 5});
	CHECK_EQ(loss.count, 2);
	CHECK_EQ(loss.bytes, 2000);
	CHECK_EQ(loss.first_ns, 10);
	CHECK_EQ(loss.last_ns, 20);
	mw_spool_limit(&spool, 1500, &loss);
	CHECK_EQ(loss.count, 4);
	holds(&spool, 1, (const uint64_t[]){5});
	mw_spool_close(&spool);
	mw_agent_folder_close(&folder);
}

/* ---- a kill, and a full disk, at each step ---- */

static int steps, stop_at;
static bool kills;

static int count_step(void *context, const char *what) {
	(void)context, (void)what;
	if (++steps != stop_at)
		return 0;
	if (kills)
		_exit(42);
	return ENOSPC;
}

/* An agent that takes the last profile of a process (100), pushes it once, and takes those of live
 * ones (1, 2).  The spool has room for two.  Returns the number of entries that it committed. */
static unsigned work(mw_agent_folder_t *folder) {
	mw_error_t error;
	mw_spool_loss_t loss = {0};
	unsigned committed = 0;
	mw_spool_t spool = open_spool(folder, 2500);
	mw_ended_t ended;
	mw_ended_open(&ended, folder, &spool, 1);
	folder->step = count_step;
	if (!mw_ended_has(&ended, 100, 1) && put(&spool, 100, 10, &loss) == 0) {
		committed++;
		mw_ended_add(&ended, 100, 1);
	}
	mw_ended_save(&ended, 1, &error);
	committed += put(&spool, 1, 20, &loss) == 0;
	committed += put(&spool, 2, 30, &loss) == 0;
	mw_ended_save(&ended, 1, &error);
	folder->step = NULL;
	mw_ended_close(&ended);
	mw_spool_close(&spool);
	return committed;
}

/* What the next agent finds: whole entries in order, the ended process is known if its entry was
 * committed. */
static void check_after(bool was_pushed) {
	mw_agent_folder_t folder = open_folder();
	mw_spool_t spool = open_spool(&folder, 1 << 20);
	size_t count;
	mw_spool_entry_t *entries = mw_spool_list(&spool, &count);
	bool has_last = false;
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(entries[i].bytes, 1000);
		has_last |= entries[i].is_last;
	}
	CHECK(count <= 3);
	free(entries);
	mw_ended_t ended;
	mw_ended_open(&ended, &folder, &spool, 2);
	CHECK(!has_last || mw_ended_has(&ended, 100, 2));
	CHECK(!was_pushed || mw_ended_has(&ended, 100, 2));
	mw_ended_close(&ended);
	mw_spool_close(&spool);
	mw_agent_folder_close(&folder);
}

static void test_killed_at_each_step(void) {
	int status = 42 << 8;
	kills = true;
	for (stop_at = 1; status == 42 << 8; stop_at++) {
		fresh_folder();
		pid_t child = fork();
		if (child == 0) {
			mw_agent_folder_t folder = open_folder();
			steps = 0;
			_exit(work(&folder) == 3 ? 0 : 1);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(status == 42 << 8 || status == 0);
		check_after(status == 0);
	}
	CHECK(stop_at > 6);
}

static void test_full_disk_at_each_step(void) {
	kills = false;
	for (stop_at = 1;; stop_at++) {
		fresh_folder();
		mw_agent_folder_t folder = open_folder();
		steps = 0;
		unsigned committed = work(&folder);
		mw_agent_folder_close(&folder);
		if (steps < stop_at)
			break;
		CHECK(committed >= 2);
		check_after(false);
		/* The next agent has a disk with room: it pushes the ended process once. */
		folder = open_folder();
		stop_at = -stop_at;
		committed = work(&folder);
		stop_at = -stop_at;
		CHECK(committed >= 2);
		mw_agent_folder_close(&folder);
		check_after(true);
	}
	CHECK(stop_at > 6);
}

/* ---- the folder ---- */

static void test_two_agents(void) {
	char want[200];
	mw_error_t error;
	fresh_folder();
	mw_agent_folder_t first = open_folder(), second;
	CHECK(mw_agent_folder_open(&second, path, &error) != 0);
	snprintf(want, sizeof(want), "%s: another agent with the pid %d has this folder", path,
		 (int)getpid());
	CHECK(strncmp(error.text, want, strlen(want)) == 0);
	/* A process that the agent started has the lock for as long as it runs. */
	int to_child[2];
	CHECK_EQ(pipe(to_child), 0);
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(to_child[1]);
		_exit(read(to_child[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(to_child[0]);
	mw_agent_folder_close(&first);
	CHECK(mw_agent_folder_open(&second, path, &error) != 0);
	close(to_child[1]);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(mw_agent_folder_open(&second, path, &error), 0);
	mw_agent_folder_close(&second);
}

/* An agent was killed, and a child of its ends a moment later: the next agent waits for that. */
static void test_killed_agent(void) {
	int status, to_test[2], to_child[2];
	char byte;
	mw_error_t error;
	mw_agent_folder_t folder;
	fresh_folder();
	CHECK_EQ(pipe(to_test), 0);
	CHECK_EQ(pipe(to_child), 0);
	pid_t agent = fork();
	if (agent == 0) {
		folder = open_folder();
		close(to_child[1]);
		if (fork() == 0) {
			CHECK(write(to_test[1], "x", 1) == 1);
			/* Until the test is in mw_agent_folder_open(), or nearly. */
			_exit(read(to_child[0], &byte, 1) == 0 ? 0 : 1);
		}
		_exit(0);
	}
	CHECK_EQ(read(to_test[0], &byte, 1), 1);
	CHECK_EQ(waitpid(agent, &status, 0), agent);
	pid_t other = fork();
	if (other == 0) {
		close(to_child[1]);
		_exit(mw_agent_folder_open(&folder, path, &error) == 0 ? 0 : 1);
	}
	close(to_child[0]);
	close(to_child[1]);
	CHECK_EQ(waitpid(other, &status, 0), other);
	CHECK_EQ(status, 0);
}

static void test_folders_of_others(void) {
	mw_agent_folder_t folder;
	mw_error_t error;
	fresh_folder();
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(chmod(path, 0777), 0);
	CHECK(mw_agent_folder_open(&folder, path, &error) != 0);
	CHECK(strstr(error.text, "other users may write to it") != NULL);
	if (geteuid() == 0) {
		CHECK_EQ(chmod(path, 0700), 0);
		CHECK_EQ(chown(path, 12345, 12345), 0);
		CHECK(mw_agent_folder_open(&folder, path, &error) != 0);
		CHECK(strstr(error.text, "belongs to user 12345") != NULL);
	}
	CHECK(mw_agent_folder_open(&folder, "/proc/none/x", &error) != 0);
}

static void test_damaged_memory(void) {
	static const char text[] = "0000000000000007 100\nnonsense\n\n00000000000000080 5\n"
				   "0000000000000009 900000000\n000000000000000a\n";
	fresh_folder();
	mw_agent_folder_t folder = open_folder();
	mw_spool_t spool = open_spool(&folder, 1 << 20);
	mw_ended_t ended;
	mw_error_t error;
	CHECK_EQ(mw_agent_folder_write(&folder, "ended", text, sizeof(text) - 1), 0);
	mw_ended_open(&ended, &folder, &spool, 1000);
	CHECK(mw_ended_has(&ended, 7, 100));
	CHECK(mw_ended_has(&ended, 9, 900000000));
	CHECK(!mw_ended_has(&ended, 10, 1000));
	/* Two days later those that were not seen meanwhile are forgotten. */
	mw_ended_add(&ended, 11, 1000);
	mw_ended_has(&ended, 11, 200000);
	CHECK_EQ(mw_ended_save(&ended, 200000, &error), 0);
	mw_ended_close(&ended);
	mw_ended_open(&ended, &folder, &spool, 200000);
	CHECK(!mw_ended_has(&ended, 7, 200000));
	CHECK(mw_ended_has(&ended, 9, 200000));
	CHECK(mw_ended_has(&ended, 11, 200000));
	mw_ended_close(&ended);
	mw_spool_close(&spool);
	mw_agent_folder_close(&folder);
}

int main(void) {
	char command[200];
	CHECK(mkdtemp(top) != NULL);
	test_order();
	test_bound();
	test_killed_at_each_step();
	test_full_disk_at_each_step();
	test_two_agents();
	test_killed_agent();
	test_folders_of_others();
	test_damaged_memory();
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	CHECK_EQ(system(command), 0);
	return 0;
}
