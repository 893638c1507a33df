/* SPDX-License-Identifier: MIT
 * test_host.c -- the agent's children (limits, faults, messages), the list of a search as a file,
 * damaged or not, and the table of processes between two searches. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/children.h"
#include "agent/host/host_search.h"
#include "agent/host/process_table.h"
#include "model/memory.h"
#include "test.h"

#define NEVER UINT64_MAX

/* ---- children ---- */

static int talk(void *context) {
	fprintf(stderr, "mallow: %s\n", (const char *)context);
	printf("out\n");
	return 12;
}

static int fault(void *context) {
	(void)context;
	/* A sanitizer has a handler. */
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	return 0;
}

static int hang(void *context) {
	const int *pipe_to_test = context;
	/* A grandchild in the same group, as workers that look names up. */
	if (fork() == 0) {
		for (;;)
			pause();
	}
	if (write(pipe_to_test[1], "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static int chatter(void *context) {
	(void)context;
	for (int i = 0; i < 100000; i++)
		fputs("a long line of a child that does not stop to talk\n", stderr);
	return 0;
}

static mw_child_end_t end_of(mw_child_t *child, uint64_t now) {
	mw_child_end_t end;
	while (!mw_child_has_ended(child, now, &end)) {
		const struct timespec nap = {.tv_nsec = 1000000};
		nanosleep(&nap, NULL);
	}
	CHECK_EQ(child->pid, 0);
	return end;
}

static void start(mw_child_t *child, mw_child_work_t *work, void *context, uint64_t until) {
	mw_error_t error;
	sigset_t none;
	sigemptyset(&none);
	CHECK_EQ(mw_child_start(child, work, context, until, &none, &error), 0);
}

static void test_children(void) {
	mw_child_t child;
	char words[] = "why it failed";
	start(&child, talk, words, NEVER);
	mw_child_end_t end = end_of(&child, 0);
	CHECK(end.has_exited && !end.is_late);
	CHECK_EQ(end.status, 12);
	CHECK_STR(end.words, "mallow: why it failed\nout\n");
	CHECK(!mw_child_has_ended(&child, 0, &end));
	start(&child, fault, NULL, NEVER);
	end = end_of(&child, 0);
	CHECK(!end.has_exited);
	CHECK_EQ(end.status, SIGSEGV);
	start(&child, chatter, NULL, NEVER);
	end = end_of(&child, 0);
	CHECK_EQ(strlen(end.words), MW_CHILD_WORDS_BYTES - 1);
}

/* A pipe ends when all of the child's group have ended. */
static void test_late(bool is_killed_by_agent) {
	mw_child_t child;
	char byte;
	int to_test[2];
	CHECK_EQ(pipe(to_test), 0);
	start(&child, hang, to_test, 1000);
	close(to_test[1]);
	CHECK_EQ(read(to_test[0], &byte, 1), 1);
	if (is_killed_by_agent) {
		mw_child_kill(&child);
		CHECK_EQ(child.pid, 0);
	} else {
		mw_child_end_t end;
		CHECK(!mw_child_has_ended(&child, 999, &end));
		end = end_of(&child, 1000);
		CHECK(end.is_late && !end.has_exited);
	}
	CHECK_EQ(read(to_test[0], &byte, 1), 0);
	close(to_test[0]);
}

/* ---- the list of a search ---- */

static int fresh_file(void) {
	int file = memfd_create("test", 0);
	CHECK(file >= 0);
	return file;
}

static void test_search(void) {
	mw_search_list_t list;
	mw_error_t error;
	int file = fresh_file();
	CHECK_EQ(mw_host_search(dup(file)), 0);
	CHECK_EQ(mw_host_search_read(file, &list, &error), 0);
	for (size_t i = 1; i < list.count; i++)
		CHECK(list.items[i - 1].key < list.items[i].key);
	mw_host_search_release(&list);
	/* Each length that a child which was killed may have left. */
	off_t whole = lseek(file, 0, SEEK_END);
	CHECK(whole > 0);
	for (off_t length = 0; length < whole && length < 3000; length += 7) {
		int part = fresh_file();
		char bytes[3000];
		CHECK(pread(file, bytes, (size_t)length, 0) == length);
		CHECK(write(part, bytes, (size_t)length) == length);
		if (mw_host_search_read(part, &list, &error) == 0)
			mw_host_search_release(&list);
		close(part);
	}
	close(file);
	file = fresh_file();
	CHECK_EQ(ftruncate(file, (off_t)1 << 40), 0);
	CHECK(mw_host_search_read(file, &list, &error) != 0);
	close(file);
	file = fresh_file();
	memset(&list, 0xff, sizeof(list));
	CHECK(write(file, &list, sizeof(list)) == sizeof(list));
	CHECK(mw_host_search_read(file, &list, &error) != 0);
	close(file);
}

static void test_keys(void) {
	uint64_t key = mw_host_search_key("boot-1", 5, 7);
	CHECK(key == mw_host_search_key("boot-1", 5, 7));
	CHECK(key != mw_host_search_key("boot-2", 5, 7));
	CHECK(key != mw_host_search_key("boot-1", 6, 7));
	CHECK(key != mw_host_search_key("boot-1", 5, 8));
	CHECK(key != mw_host_search_key("boot-1", 7, 5));
}

/* ---- the table ---- */

static mw_search_list_t list_of(size_t count, const uint64_t *keys, int pid) {
	mw_search_list_t list = {.items = mw_xcalloc(count + 1, sizeof(*list.items)),
				 .count = count};
	for (size_t i = 0; i < count; i++) {
		list.items[i].key = keys[i];
		list.items[i].place = (mw_place_t){.path = mw_xstrdup("path"),
						   .shown = mw_xstrdup("shown"),
						   .pid = pid,
						   .alive = true};
	}
	return list;
}

static void has_keys(const mw_agent_processes_t *processes, size_t count, const uint64_t *keys) {
	CHECK_EQ(processes->count, count);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(processes->items[i].found.key, keys[i]);
		CHECK(mw_processes_find(processes, keys[i]) == &processes->items[i]);
	}
}

static void merge(mw_agent_processes_t *processes, size_t count, const uint64_t *keys, int pid) {
	mw_search_list_t list = list_of(count, keys, pid);
	mw_processes_merge(processes, &list);
	CHECK_EQ(list.count, 0);
}

static void test_table(void) {
	mw_agent_processes_t processes = {0};
	merge(&processes, 3, (const uint64_t[]){2, 5, 9}, 1);
	has_keys(&processes, 3, (const uint64_t[]){2, 5, 9});
	processes.items[1].is_named = true;
	processes.items[2].is_busy = true;
	/* 2 and 9 are gone, but 9 is busy; 5 is found with another pid; 1 and 7 are new. */
	merge(&processes, 3, (const uint64_t[]){1, 5, 7}, 2);
	has_keys(&processes, 4, (const uint64_t[]){1, 5, 7, 9});
	CHECK_EQ(processes.gone_count, 1);
	CHECK_EQ(processes.gone[0], 2);
	CHECK(processes.items[1].is_named && !processes.items[0].is_named);
	CHECK_EQ(processes.items[1].found.place.pid, 2);
	CHECK_EQ(processes.items[3].found.place.pid, 1);
	CHECK(mw_processes_find(&processes, 2) == NULL);
	processes.items[3].is_busy = false;
	merge(&processes, 0, NULL, 0);
	CHECK_EQ(processes.count, 0);
	CHECK_EQ(processes.gone_count, 4);
	merge(&processes, 1, (const uint64_t[]){UINT64_MAX}, 0);
	has_keys(&processes, 1, (const uint64_t[]){UINT64_MAX});
	CHECK(mw_processes_is_news(&processes.items[0], "broken"));
	CHECK(!mw_processes_is_news(&processes.items[0], "broken"));
	CHECK(mw_processes_is_news(&processes.items[0], ""));
	mw_processes_release(&processes);
}

int main(void) {
	test_children();
	test_late(false);
	test_late(true);
	test_search();
	test_keys();
	test_table();
	return 0;
}
