/* SPDX-License-Identifier: MIT
 * confined.c -- programs that forbid themselves system calls after the start, under pain of death,
 * and allocate on: with samples, in old threads and new ones.  The filter lets through what
 * doc/reference/state-file.md lists, and what the program itself needs. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <mallow/mallow.h>

#include "programs.h"

#pragma weak mallow_status

/* What malloc may call (doc/reference/state-file.md). */
#define MALLOC_CALLS                                                                               \
	SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_sched_yield,   \
		SYS_write
/* Of this program: the end, the vdso's fall-back and new threads. */
#define OTHER_CALLS                                                                                \
	SYS_exit_group, SYS_exit, SYS_clock_gettime, SYS_clone3, SYS_clone, SYS_set_robust_list,   \
		SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigreturn

static void allow_only(const int *calls, size_t count, bool by_seccomp) {
	struct sock_filter filter[2 * 40 + 2];
	unsigned n = 0;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned)calls[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul) == 0);
	if (by_seccomp)
		MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	else
		MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0ul, 0ul) == 0);
}

enum { SLOTS = 3000 };

static void *work(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	unsigned char **blocks = calloc(SLOTS, sizeof *blocks);
	MUST(blocks != NULL);
	for (int i = 0; i < 300000; i++) {
		unsigned r = (unsigned)rand_r(&seed), slot = r % SLOTS;
		size_t bytes = r % 97 == 0 ? r % 3000000 : r % 3001;
		if (r % 7 == 0) {
			blocks[slot] = realloc(blocks[slot], bytes + 1);
		} else {
			free(blocks[slot]);
			blocks[slot] = malloc(bytes + 1);
		}
		MUST(blocks[slot] != NULL);
		blocks[slot][bytes] = 1;
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
	free(blocks);
	return NULL;
}

/* Deeper than the stack has been. */
static int work_deep(int depth) {
	volatile char room[10000];
	room[0] = (char)depth;
	if (depth == 0)
		work((void *)7);
	else
		work_deep(depth - 1);
	return room[0];
}

static uint64_t samples(void) {
	mallow_status_t status = {.size = sizeof status};
	MUST(mallow_status(&status) == 0);
	return status.samples;
}

_Noreturn static void run(bool by_seccomp, bool with_threads) {
	static const int calls[] = {MALLOC_CALLS, OTHER_CALLS};
	const char *options = getenv("MALLOW_CONF");
	bool is_sampled = !options || !strstr(options, "prof:false");
	pthread_t early;
	if (with_threads)
		MUST(pthread_create(&early, NULL, work, (void *)1) == 0 &&
		     pthread_join(early, NULL) == 0);
	free(malloc(100));
	allow_only(calls, sizeof calls / sizeof *calls, by_seccomp);
	uint64_t before = samples();
	work_deep(30);
	if (with_threads) {
		pthread_t threads[3];
		for (size_t i = 0; i < 3; i++)
			MUST(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
		for (int i = 0; i < 3; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
	}
	MUST(!is_sampled || samples() > before);
	exit(0);
}

int main(void) {
	must_be_mallow();
	for (int way = 0; way < 4; way++) {
		fflush(NULL);
		pid_t child = fork();
		MUST(child >= 0);
		if (child == 0)
			run(way & 1, way & 2);
		int status;
		MUST(waitpid(child, &status, 0) == child);
		if (status != 0)
			fprintf(stderr, "way %d: status %#x\n", way, status);
		MUST(status == 0);
	}
	return 0;
}
