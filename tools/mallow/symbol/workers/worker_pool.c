/* SPDX-License-Identifier: MIT
 * worker_pool.c -- starts and supervises workers.
 * One worker does the jobs in order.  At a file with thousands of locations it asks for help.
 * For each further processor one more worker then starts, which does the small files and
 * afterwards a part of the large one. */
#include "symbol/workers/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/memory.h"
#include "symbol/cache/symbol_cache.h"
#include "symbol/workers/confine.h"

/* Milliseconds without a message after which a worker counts as hanging.  Reading the index of
 * the largest known debug files (several GiB) takes some ten seconds. */
#define SILENCE_MS 120000
/* Fewest locations for one more worker: opening a file takes as long as some hundred lookups. */
#define LOCATIONS_A_WORKER_MIN 1000

typedef struct worker {
	pid_t pid; /* 0 = no worker */
	mw_answers_t answers;
} worker_t;

typedef struct pool {
	mw_session_t *session;
	_Atomic bool *taken; /* taken[i]: a worker has taken job i; shared with the workers */
	worker_t workers[MW_QUEUE_WORKERS_MAX];
	bool gave_up;
} pool_t;

/* Most processes that have closed their pipes and were not waited for yet. */
enum { LEAVING_MAX = 64 };
static pid_t leaving[LEAVING_MAX];
static size_t leaving_count;

static bool wait_for(pid_t pid) {
	int status = 1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void mw_worker_pool_finish(void) {
	while (leaving_count > 0)
		wait_for(leaving[--leaving_count]);
}

static void let_go(pid_t pid) {
	static bool is_registered;
	if (!is_registered)
		is_registered = atexit(mw_worker_pool_finish) == 0;
	if (leaving_count == LEAVING_MAX)
		wait_for(leaving[--leaving_count]);
	leaving[leaving_count++] = pid;
}

/* Returns the most workers: one for each processor, if there is enough work. */
static size_t worker_limit(const mw_session_t *s, size_t locations) {
	cpu_set_t processors;
	size_t wanted = 1 + locations / LOCATIONS_A_WORKER_MIN;
	size_t most = sched_getaffinity(0, sizeof(processors), &processors) == 0
			      ? (size_t)CPU_COUNT(&processors)
			      : 1;
	/* Downloads run one by one, so that the progress line names the current one. */
	if (s->options->debuginfod)
		most = 1;
	most = most < MW_QUEUE_WORKERS_MAX ? most : MW_QUEUE_WORKERS_MAX;
	return wanted < most ? wanted : most;
}

static _Noreturn void be_worker(const pool_t *pool, const mw_symbol_job_t *helped, int fd) {
	for (size_t i = 0; i < MW_QUEUE_WORKERS_MAX; i++)
		if (pool->workers[i].pid != 0)
			close(pool->workers[i].answers.fd);
	const mw_session_t *s = pool->session;
	const mw_worker_input_t input = {.profile = s->profile,
					 .jobs = s->jobs,
					 .job_count = s->job_count,
					 .options = s->options,
					 .taken = pool->taken,
					 .helped = helped};
	mw_symbol_worker(&input, fd);
}

static bool start_worker(pool_t *pool, worker_t *worker, const mw_symbol_job_t *helped) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fflush(NULL); /* otherwise both processes would write the buffered output */
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_worker(pool, helped, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return false;
	}
	worker->pid = pid;
	worker->answers.session = pool->session;
	worker->answers.fd = ends[0];
	worker->answers.helped = helped;
	return true;
}

static void start_helpers(pool_t *pool, worker_t *asking) {
	size_t limit = worker_limit(pool->session, asking->answers.wants_help);
	asking->answers.wants_help = 0;
	const mw_symbol_job_t *job = asking->answers.current;
	if (job == NULL || job->queue == NULL)
		return;
	for (size_t i = 0; i < limit; i++)
		if (pool->workers[i].pid == 0 && !start_worker(pool, &pool->workers[i], job))
			return;
}

/* Gives up the job that a worker died of.  Names that other workers find in the file are kept. */
static void give_up(pool_t *pool, const mw_answers_t *a) {
	mw_session_t *s = pool->session;
	mw_symbol_job_t *job = a->current;
	pool->gave_up = true;
	if (job->is_whole) {
		char text[600];
		snprintf(text, sizeof(text),
			 "%.400s: its debug information is damaged, or takes more than 4 GiB to "
			 "read; some functions have no names",
			 mw_profile_string(s->profile, s->profile->mappings[job->mapping].path));
		if (s->options->note != NULL)
			s->options->note(s->options->context, text);
	}
	job->is_whole = false;
	if (job == a->helped)
		return;
	mw_session_end_job(s, job);
	if (job->queue != NULL)
		mw_queue_abandon(job->queue);
}

static void end_worker(pool_t *pool, worker_t *worker, bool is_good) {
	mw_answers_t *a = &worker->answers;
	close(a->fd);
	if (is_good && a->is_done) {
		let_go(worker->pid);
	} else {
		kill(worker->pid, SIGKILL);
		wait_for(worker->pid);
		if (a->current != NULL)
			give_up(pool, a);
	}
	mw_answers_release(a);
	*worker = (worker_t){0};
}

/* Waits for messages of the workers and takes them.  False: no worker runs. */
static bool listen_to(pool_t *pool) {
	struct pollfd waits[MW_QUEUE_WORKERS_MAX];
	worker_t *whose[MW_QUEUE_WORKERS_MAX];
	nfds_t count = 0;
	for (size_t i = 0; i < MW_QUEUE_WORKERS_MAX; i++) {
		if (pool->workers[i].pid == 0)
			continue;
		waits[count] = (struct pollfd){.fd = pool->workers[i].answers.fd, .events = POLLIN};
		whose[count++] = &pool->workers[i];
	}
	/* A download has no time limit here; libdebuginfod has its own. */
	int ready =
		count > 0 ? poll(waits, count, pool->session->options->debuginfod ? -1 : SILENCE_MS)
			  : 0;
	if (ready < 0 && errno == EINTR)
		return true;
	for (nfds_t i = 0; i < count; i++) {
		int result = ready > 0 ? 1 : -1; /* no worker sent anything: all hang */
		if (ready > 0 && waits[i].revents != 0)
			result = mw_answers_take(&whose[i]->answers);
		if (result == 1 && whose[i]->answers.wants_help > 0)
			start_helpers(pool, whose[i]);
		if (result != 1)
			end_worker(pool, whose[i], result == 0);
	}
	return count > 0;
}

int mw_worker_pool_run(mw_session_t *s) {
	pool_t *pool = mw_xcalloc(1, sizeof(*pool));
	size_t bytes = s->job_count * sizeof(_Atomic bool);
	pool->session = s;
	pool->taken = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int result = -2;
	if (pool->taken != MAP_FAILED) {
		if (start_worker(pool, &pool->workers[0], NULL)) {
			while (listen_to(pool))
				continue;
			result = 0;
		}
		munmap(pool->taken, bytes);
	}
	for (size_t i = 0; i < s->job_count && result == 0; i++)
		if (!s->jobs[i].is_done)
			result = pool->gave_up ? -1 : -2;
	free(pool);
	return result;
}

static void keep(const mw_session_t *s, const mw_symbol_job_t *job) {
	const mw_profile_t *p = s->profile;
	const mw_mapping_t *mapping = &p->mappings[job->mapping];
	const char *build_id = mw_profile_string(p, mapping->build_id);
	if (build_id[0] == '\0')
		build_id = job->build_id;
	const mw_symbol_cache_file_t file = {.path = mw_profile_string(p, mapping->path),
					     .build_id = build_id,
					     .identity = job->identity};
	mw_symbol_cache_t *cache = mw_symbol_cache_open(s->options->cache_directory, &file);
	for (size_t i = 0; i < job->count; i++)
		mw_symbol_cache_add(cache, p->locations[job->locations[i]].address - mapping->bias,
				    p, job->locations[i]);
	mw_symbol_cache_close(cache);
}

/* Closes the standard streams, so that a program that reads the command's output does not wait
 * for this process. */
static void leave_terminal(void) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
}

void mw_worker_pool_fill_cache(const mw_session_t *s) {
	bool has_news = false;
	for (size_t i = 0; i < s->job_count; i++)
		has_news = has_news || (s->jobs[i].has_news && s->jobs[i].has_debug);
	if (!has_news || s->options->cache_directory == NULL)
		return;
	fflush(NULL);
	pid_t pid = fork();
	if (pid > 0)
		let_go(pid);
	if (pid != 0)
		return;
	leave_terminal();
	mw_confine_memory(MW_CONFINED_BYTES);
	for (size_t i = 0; i < s->job_count; i++) {
		const mw_symbol_job_t *job = &s->jobs[i];
		if (job->has_news && job->has_debug && job->is_whole && job->is_done)
			keep(s, job);
	}
	_exit(0);
}
