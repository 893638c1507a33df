/* SPDX-License-Identifier: MIT
 * advised.cc -- programs with one fault each that `mallow advise` finds, and one without: the
 * argument chooses.  Prints "ready" when the fault can be seen, and waits until its input ends. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static const size_t MIB = (size_t)1 << 20;

/* ---- Grows by copying ---- */

static NOINLINE void collect_rows(int count) {
	std::vector<long> rows;
	for (int i = 0; i < count; i++)
		rows.push_back(i);
	KEEP(rows.data());
}

static NOINLINE void join_words(int count) {
	std::string text;
	for (int i = 0; i < count; i++)
		text += "a word and another ";
	KEEP(text.data());
}

static NOINLINE void append_lines(int count) {
	char *lines = nullptr;
	size_t capacity = 0, used = 0;
	for (int i = 0; i < count; i++, used += 16) {
		if (used + 16 > capacity)
			lines = (char *)realloc(lines, capacity = capacity ? 2 * capacity : 64);
		memset(lines + used, i, 16);
	}
	KEEP(lines);
	free(lines);
}

/* ---- Temporaries, and blocks for another thread ---- */

static NOINLINE void format_key(int number) {
	char *key = (char *)malloc(48);
	snprintf(key, 48, "key:%d", number);
	KEEP(key);
	free(key);
}

static const int JOBS = 256;
static void *volatile jobs[JOBS];
static sem_t jobs_free, jobs_made;

static NOINLINE void *make_job(void) {
	return memset(malloc(200), 1, 200);
}

/* Jobs are handed over 32 at a time: what a semaphore costs differs between machines. */
static const int BATCH = 32;

static void *do_jobs(void *) {
	for (int i = 0;; i = (i + 1) % JOBS) {
		if (i % BATCH == 0)
			sem_wait(&jobs_made);
		free(jobs[i]);
		if (i % BATCH == BATCH - 1)
			sem_post(&jobs_free);
	}
}

static void send_jobs(int count) {
	static pthread_t thread;
	if (!thread && (sem_init(&jobs_free, 0, JOBS / BATCH) || sem_init(&jobs_made, 0, 0) ||
			pthread_create(&thread, nullptr, do_jobs, nullptr)))
		abort();
	static int next;
	for (int i = 0; i < count; i++) {
		if (next % BATCH == 0)
			sem_wait(&jobs_free);
		jobs[next] = make_job();
		next = (next + 1) % JOBS;
		if (next % BATCH == 0)
			sem_post(&jobs_made);
	}
}

/* ---- Memory that is held ---- */

static NOINLINE void *open_session(void) {
	return memset(malloc(100), 1, 100);
}

static void scatter_sessions(void) {
	std::vector<void *> sessions(400000);
	for (void *&session : sessions)
		session = open_session();
	for (size_t i = 0; i < sessions.size(); i++)
		if (i % 20 != 0)
			free(sessions[i]);
}

struct entry {
	entry *next;
	char text[500];
};
static entry *cache;

static NOINLINE void remember(void) {
	entry *made = (entry *)calloc(1, sizeof(entry));
	made->next = cache;
	cache = made;
}

/* One of ten accounts is never closed. */
static NOINLINE void *open_account(void) {
	return memset(malloc(800), 1, 800);
}

static void serve_accounts(void) {
	for (int i = 0; i < 200; i++) {
		void *account = open_account();
		if (i % 10 != 0)
			free(account);
		else
			KEEP(account);
	}
}

static NOINLINE void map_buffers(void) {
	void *memory =
		mmap(nullptr, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	memset(memory, 1, 64 * MIB);
}

static NOINLINE void *reserve_pool(void) {
	char *pool = (char *)malloc(64 * MIB);
	pool[0] = 1;
	return pool;
}

static NOINLINE void *make_node(void) {
	return memset(malloc(1032), 1, 1032);
}

static NOINLINE void *load_table(int kind) {
	unsigned char *table = (unsigned char *)malloc(MIB);
	for (size_t i = 0; i < MIB; i++)
		table[i] = (unsigned char)(i * 31 + i / 251 + (size_t)kind);
	return table;
}

static sem_t is_deep;

static NOINLINE void use_deeply(void) {
	char buffer[3 << 20];
	memset(buffer, 1, sizeof(buffer));
	KEEP(buffer);
}

static void *serve_deeply(void *) {
	prctl(PR_SET_NAME, "server");
	void *volatile block = malloc(100);
	use_deeply();
	sem_post(&is_deep);
	pause();
	return block;
}

static void start_threads(int count) {
	pthread_t thread;
	sem_init(&is_deep, 0, 0);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, nullptr, serve_deeply, nullptr) || sem_wait(&is_deep))
			abort();
}

static void free_all(void) {
	std::vector<void *> blocks(4000);
	for (void *&block : blocks)
		block = memset(malloc(8000), 1, 8000);
	for (void *block : blocks)
		free(block);
}

/* ---- No fault ---- */

/* Fixed tables, records of many sizes that come and go, and one buffer for all lines. */
static NOINLINE void work_well(void) {
	std::vector<std::string> records;
	records.reserve(20000);
	static unsigned seed = 1;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		records.emplace_back(20 + seed / 65536 % 400, 'x');
	}
	unsigned long sum = 0;
	for (int round = 0; round < 40; round++)
		for (const std::string &record : records)
			for (char letter : record)
				sum = sum * 31 + (unsigned char)letter;
	KEEP(sum);
	static std::vector<std::string> kept;
	if (kept.empty())
		kept.swap(records);
}

static bool is_over(int wait_ms) {
	struct pollfd input = {0, POLLIN, 0};
	return poll(&input, 1, wait_ms) > 0;
}

/* Does the work of one turn; false: there is nothing more to do. */
static bool work(const char *fault) {
	if (!strcmp(fault, "vector"))
		collect_rows(100000);
	else if (!strcmp(fault, "string"))
		join_words(50000);
	else if (!strcmp(fault, "realloc"))
		append_lines(50000);
	else if (!strcmp(fault, "temporaries"))
		for (int i = 0; i < 100000; i++)
			format_key(i);
	else if (!strcmp(fault, "jobs"))
		send_jobs(100000);
	else if (!strcmp(fault, "sessions"))
		return scatter_sessions(), false;
	else if (!strcmp(fault, "cache"))
		for (int i = 0; i < 200; i++)
			remember();
	else if (!strcmp(fault, "accounts"))
		serve_accounts();
	else if (!strcmp(fault, "mapped"))
		map_buffers();
	else if (!strcmp(fault, "pool"))
		for (int i = 0; i < 3; i++)
			KEEP(reserve_pool());
	else if (!strcmp(fault, "nodes"))
		for (int i = 0; i < 30000; i++)
			KEEP(make_node());
	else if (!strcmp(fault, "tables"))
		for (int i = 0; i < 20; i++)
			KEEP(load_table(i % 2));
	else if (!strcmp(fault, "stacks"))
		start_threads(8);
	else if (!strcmp(fault, "idle"))
		free_all();
	else
		return work_well(), true;
	static const char *const once[] = {"pool", "nodes", "tables", "stacks", "idle", "mapped"};
	for (const char *one : once)
		if (!strcmp(fault, one))
			return false;
	return true;
}

int main(int, char **arguments) {
	bool goes_on = true;
	for (int turn = 0; !is_over(turn < 6 ? 0 : goes_on ? 20 : -1); turn++) {
		goes_on = goes_on && work(arguments[1]);
		if (turn == 5) {
			puts("ready");
			fflush(stdout);
		}
	}
	return 0;
}
