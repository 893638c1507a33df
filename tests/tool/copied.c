/* SPDX-License-Identifier: MIT
 * copied.c MIB [reaper|strict] -- a program of MIB MiB of small blocks, of which 100 are leaked,
 * that sleeps and allocates nothing while leak_copy.sh has it checked for leaks. It closes
 * descriptor 9 when standard input has a 'c'. At the end of its input it exits with 0 if it has got
 * no SIGCHLD and wait(2) knows of no child. "reaper": processes whose parent has ended become its
 * children. "strict": its thread may not wait for processes. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t children;
static void **volatile kept;

static void on_child(int number) {
	(void)number;
	children++;
}

static int filter_waits(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

__attribute__((noinline)) static void lose(void) {
	for (int i = 0; i < 100; i++)
		memset(malloc(48), 'x', 48);
}

int main(int argc, char **argv) {
	const char *how = argc > 2 ? argv[2] : "";
	long blocks = atol(argv[1]) << 15;
	/* Not of children that are stopped, as the test stops the copy. */
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
	sigaction(SIGCHLD, &action, NULL);
	if (strcmp(how, "reaper") == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return 2;
	kept = malloc((size_t)blocks * sizeof(*kept));
	for (long i = 0; i < blocks; i++)
		kept[i] = memset(malloc(32), 'x', 32);
	lose();
	if (strcmp(how, "strict") == 0 && filter_waits() != 0)
		return 2;
	if (write(1, "ready\n", 6) != 6)
		return 2;
	for (char byte; read(0, &byte, 1) == 1;)
		if (byte == 'c')
			close(9);
	if (strcmp(how, "strict") != 0 && (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)) {
		puts("wait(2) knows of a child");
		return 1;
	}
	if (children != 0)
		puts("there was a SIGCHLD");
	return children != 0;
}
