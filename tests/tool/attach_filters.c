/* SPDX-License-Identifier: MIT
 * attach_filters.c before|thread|later|copied -- for `mallow attach`: filters of system calls
 * (seccomp(2)) that allow little more than libc's malloc needs, and end the program at any other
 * call. before  the program sets one before it says "ready" thread  a second thread sets one before
 * the program says "ready", and allocates all the while later   at the end of its input the program
 * sets one, and allocates copied  the same, through addresses of malloc and free that it copies
 * before At the end of its input the program ends with status 0. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number)                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                                         \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void set_filter(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_exit),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
	/* By syscall(2), as libseccomp does. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
		perror("seccomp");
		_exit(1);
	}
}

static void *(*volatile copied_malloc)(size_t);
static void (*volatile copied_free)(void *);
/* The compiler reads both from slots, like the calls of other programs. */
static void copy_functions(void) {
	copied_malloc = malloc;
	copied_free = free;
}

static void churn(void) {
	for (size_t i = 0; i < 30000; i++) {
		free(malloc(i % 5000));
		free(calloc(1, i % 300));
		if (copied_malloc != NULL)
			copied_free(copied_malloc(i % 5000));
	}
}

static atomic_bool is_set;
static void *allocate_confined(void *unused) {
	set_filter();
	is_set = true;
	for (;;)
		churn();
	return unused;
}

int main(int argc, char **argv) {
	char byte;
	pthread_t thread;
	bool has_thread = argc > 1 && strcmp(argv[1], "thread") == 0;
	if (has_thread && pthread_create(&thread, NULL, allocate_confined, NULL) != 0)
		return 1;
	while (has_thread && !is_set)
		usleep(1000);
	bool has_filter = argc > 1 && strcmp(argv[1], "before") == 0;
	setvbuf(stdout, NULL, _IONBF, 0); /* the filter forbids to ask for the kind of file */
	if (has_filter)
		set_filter();
	puts("ready");
	while (read(0, &byte, 1) > 0)
		free(malloc(100000));
	if (argc > 1 && strcmp(argv[1], "copied") == 0)
		copy_functions();
	if (!has_thread && !has_filter) {
		churn();
		set_filter();
		churn();
	}
	_exit(0);
}
