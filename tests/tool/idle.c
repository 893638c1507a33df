/* SPDX-License-Identifier: MIT
 * idle.c [old-kernel] -- allocates, then sleeps in all its threads: nobody comes by who could see
 * a request.  "old-kernel": futex_waitv(2) is refused, as before Linux 5.16. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 3000, BLOCK_BYTES = 1000 };

static void *volatile blocks[BLOCKS]; /* or the compiler leaves them out */

static int refuse_waitv(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex_waitv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	/* Past the library's prctl(): the program forbids itself nothing else. */
	return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *sleep_for_ever(void *unused) {
	void *volatile block = malloc(100);
	free(block);
	if (write(1, "ready\n", 6) != 6)
		return unused;
	for (;;)
		pause();
}

int main(int argc, char **argv) {
	pthread_t thread;
	if (argc > 1 && strcmp(argv[1], "old-kernel") == 0 && refuse_waitv() != 0)
		return 1;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BLOCK_BYTES);
	if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
