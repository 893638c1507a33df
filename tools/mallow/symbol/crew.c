/* SPDX-License-Identifier: MIT
 * crew.c -- one worker goes through the jobs; where a file has thousands of locations it asks for
 * help, and one for each other processor takes the small files and then a part of that one. */
#include "symbol/crew.h"

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

#include "model/alloc.h"
#include "symbol/confine.h"
#include "symbol/known.h"

/* A worker that says nothing for so long hangs.  The index of the largest debug files there are
 * (several GiB) takes some ten seconds to read. */
#define SILENCE_MS 120000
/* Opening a file once more costs what some hundred look-ups do. */
#define LOCATIONS_A_WORKER_MIN 1000

typedef struct worker {
	pid_t pid; /* 0: none */
	mw_answers_t answers;
} worker_t;

typedef struct crew {
	const mw_session_t *session;
	_Atomic bool *taken; /* of each job, shared with the workers */
	worker_t workers[MW_QUEUE_WORKERS_MAX];
	bool gave_up;
} crew_t;

/* Processes that have nothing more to say. */
enum { LEAVING_MAX = 64 };
static pid_t leaving[LEAVING_MAX];
static size_t leaving_count;

static bool wait_for(pid_t pid) {
	int status = 1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void mw_symbolize_finish(void) {
	while (leaving_count > 0)
		wait_for(leaving[--leaving_count]);
}

static void let_go(pid_t pid) {
	static bool is_registered;
	if (!is_registered)
		is_registered = atexit(mw_symbolize_finish) == 0;
	if (leaving_count == LEAVING_MAX)
		wait_for(leaving[--leaving_count]);
	leaving[leaving_count++] = pid;
}

/* As many as there are processors, where there is work for them. */
static size_t worker_limit(const mw_session_t *s, size_t locations) {
	cpu_set_t processors;
	size_t wanted = 1 + locations / LOCATIONS_A_WORKER_MIN;
	size_t most = sched_getaffinity(0, sizeof(processors), &processors) == 0
			      ? (size_t)CPU_COUNT(&processors)
			      : 1;
	if (s->options->debuginfod) /* downloads come one by one, so that one sees which */
		most = 1;
	most = most < MW_QUEUE_WORKERS_MAX ? most : MW_QUEUE_WORKERS_MAX;
	return wanted < most ? wanted : most;
}

static _Noreturn void be_worker(const crew_t *crew, const mw_symbol_job_t *helped, int fd) {
	for (size_t i = 0; i < MW_QUEUE_WORKERS_MAX; i++)
		if (crew->workers[i].pid != 0)
			close(crew->workers[i].answers.fd);
	const mw_session_t *s = crew->session;
	const mw_shift_t shift = {.profile = s->profile,
				  .jobs = s->jobs,
				  .job_count = s->job_count,
				  .options = s->options,
				  .taken = crew->taken,
				  .helped = helped};
	mw_symbol_worker(&shift, fd);
}

static bool start_worker(crew_t *crew, worker_t *worker, const mw_symbol_job_t *helped) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fflush(NULL); /* nothing buffered twice */
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_worker(crew, helped, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return false;
	}
	worker->pid = pid;
	worker->answers.session = crew->session;
	worker->answers.fd = ends[0];
	worker->answers.helped = helped;
	return true;
}

static void start_helpers(crew_t *crew, worker_t *asking) {
	size_t limit = worker_limit(crew->session, asking->answers.wants_help);
	asking->answers.wants_help = 0;
	const mw_symbol_job_t *job = asking->answers.current;
	if (job == NULL || job->queue == NULL)
		return;
	for (size_t i = 0; i < limit; i++)
		if (crew->workers[i].pid == 0 && !start_worker(crew, &crew->workers[i], job))
			return;
}

/* What a worker has died of is given up, but for what others find of it. */
static void give_up(crew_t *crew, const mw_answers_t *a) {
	const mw_session_t *s = crew->session;
	mw_symbol_job_t *job = a->current;
	crew->gave_up = true;
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
	job->is_done = true;
	if (job->queue != NULL)
		mw_queue_abandon(job->queue);
}

static void end_worker(crew_t *crew, worker_t *worker, bool is_good) {
	mw_answers_t *a = &worker->answers;
	close(a->fd);
	if (is_good && a->is_done) {
		let_go(worker->pid);
	} else {
		kill(worker->pid, SIGKILL);
		wait_for(worker->pid);
		if (a->current != NULL)
			give_up(crew, a);
	}
	mw_answers_release(a);
	*worker = (worker_t){0};
}

/* Waits for a worker to say something, and takes it.  False: there is none. */
static bool listen_to(crew_t *crew) {
	struct pollfd waits[MW_QUEUE_WORKERS_MAX];
	worker_t *whose[MW_QUEUE_WORKERS_MAX];
	nfds_t count = 0;
	for (size_t i = 0; i < MW_QUEUE_WORKERS_MAX; i++) {
		if (crew->workers[i].pid == 0)
			continue;
		waits[count] = (struct pollfd){.fd = crew->workers[i].answers.fd, .events = POLLIN};
		whose[count++] = &crew->workers[i];
	}
	/* A download takes as long as it takes; libdebuginfod has time limits of its own. */
	int ready =
		count > 0 ? poll(waits, count, crew->session->options->debuginfod ? -1 : SILENCE_MS)
			  : 0;
	if (ready < 0 && errno == EINTR)
		return true;
	for (nfds_t i = 0; i < count; i++) {
		int result = ready > 0 ? 1 : -1; /* nothing for too long: all hang */
		if (ready > 0 && waits[i].revents != 0)
			result = mw_answers_take(&whose[i]->answers);
		if (result == 1 && whose[i]->answers.wants_help > 0)
			start_helpers(crew, whose[i]);
		if (result != 1)
			end_worker(crew, whose[i], result == 0);
	}
	return count > 0;
}

int mw_crew_run(const mw_session_t *s) {
	crew_t *crew = mw_xcalloc(1, sizeof(*crew));
	size_t bytes = s->job_count * sizeof(_Atomic bool);
	crew->session = s;
	crew->taken = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int result = -2;
	if (crew->taken != MAP_FAILED) {
		if (start_worker(crew, &crew->workers[0], NULL)) {
			while (listen_to(crew))
				continue;
			result = 0;
		}
		munmap(crew->taken, bytes);
	}
	for (size_t i = 0; i < s->job_count && result == 0; i++)
		if (!s->jobs[i].is_done)
			result = crew->gave_up ? -1 : -2;
	free(crew);
	return result;
}

static void keep(const mw_session_t *s, const mw_symbol_job_t *job) {
	const mw_profile_t *p = s->profile;
	const mw_mapping_t *mapping = &p->mappings[job->mapping];
	const char *build_id = mw_profile_string(p, mapping->build_id);
	if (build_id[0] == '\0')
		build_id = job->build_id;
	mw_known_t *known = mw_known_open(s->options->cache_directory, build_id);
	for (size_t i = 0; i < job->count; i++)
		mw_known_take(known, p->locations[job->locations[i]].address - mapping->bias, p,
			      job->locations[i]);
	mw_known_close(known);
}

/* Whatever reads our output does not wait for this process, too. */
static void leave_terminal(void) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
}

void mw_crew_keep(const mw_session_t *s) {
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
