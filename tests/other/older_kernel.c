/* SPDX-License-Identifier: MIT
 * older_kernel.c NAME[,NAME...] PROGRAM [ARGUMENT...] -- runs a program for which system calls that
 * Linux got after 3.10 fail as they do on a kernel without them. `all`: every one of them; `list`
 * prints the names. */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#define EVERY UINT32_MAX
#define RULES_MAX 64

/* A call, or one value of an argument, and the error of kernels that do not know it. `by_bits`: the
 * argument has this bit. */
static const struct rule {
	const char *name;
	uint32_t call, argument, value;
	int error;
	int by_bits;
} rules[] = {
	{"madv_free", __NR_madvise, 2, MADV_FREE, EINVAL, 0},
	{"madv_wipeonfork", __NR_madvise, 2, MADV_WIPEONFORK, EINVAL, 0},
	{"madv_populate", __NR_madvise, 2, MADV_POPULATE_READ, EINVAL, 0},
	{"madv_populate", __NR_madvise, 2, MADV_POPULATE_WRITE, EINVAL, 0},
	{"madv_guard", __NR_madvise, 2, MADV_GUARD_INSTALL, EINVAL, 0},
	{"madv_guard", __NR_madvise, 2, MADV_GUARD_REMOVE, EINVAL, 0},
	{"mremap_dontunmap", __NR_mremap, 3, MREMAP_DONTUNMAP, EINVAL, 1},
	{"ofd_lock", __NR_fcntl, 1, F_OFD_SETLK, EINVAL, 0},
	{"ofd_lock", __NR_fcntl, 1, F_OFD_GETLK, EINVAL, 0},
	{"thp_prctl", __NR_prctl, 0, PR_GET_THP_DISABLE, EINVAL, 0},
	{"getrandom_insecure", __NR_getrandom, 2, 4, EINVAL, 1},
	{"getrandom", __NR_getrandom, EVERY, 0, ENOSYS, 0},
	{"memfd_create", __NR_memfd_create, EVERY, 0, ENOSYS, 0},
	{"renameat2", __NR_renameat2, EVERY, 0, ENOSYS, 0},
	{"futex_waitv", __NR_futex_waitv, EVERY, 0, ENOSYS, 0},
	{"close_range", __NR_close_range, EVERY, 0, ENOSYS, 0},
	{"statx", __NR_statx, EVERY, 0, ENOSYS, 0},
	{"membarrier", __NR_membarrier, EVERY, 0, ENOSYS, 0},
	{"rseq", __NR_rseq, EVERY, 0, ENOSYS, 0},
	{"clone3", __NR_clone3, EVERY, 0, ENOSYS, 0},
	{"openat2", __NR_openat2, EVERY, 0, ENOSYS, 0},
	{"faccessat2", __NR_faccessat2, EVERY, 0, ENOSYS, 0},
	{"copy_file_range", __NR_copy_file_range, EVERY, 0, ENOSYS, 0},
	{"pidfd", __NR_pidfd_open, EVERY, 0, ENOSYS, 0},
	{"pidfd", __NR_pidfd_send_signal, EVERY, 0, ENOSYS, 0},
	{"pidfd", __NR_pidfd_getfd, EVERY, 0, ENOSYS, 0},
	{"process_madvise", __NR_process_madvise, EVERY, 0, ENOSYS, 0},
	{"process_mrelease", __NR_process_mrelease, EVERY, 0, ENOSYS, 0},
	{"perf_event_open", __NR_perf_event_open, EVERY, 0, ENOSYS, 0},
	{"preadv2", __NR_preadv2, EVERY, 0, ENOSYS, 0},
};
#define RULES (sizeof rules / sizeof *rules)

/* Returns whether the list, divided by commas, has the name. */
static int is_wanted(const char *list, const char *name) {
	size_t length = strlen(name);
	if (strcmp(list, "all") == 0)
		return 1;
	for (const char *at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return 1;
	return 0;
}

/* Appends the rule: five instructions. */
static void append(struct sock_filter *code, unsigned short *length, const struct rule *rule) {
	uint32_t argument = offsetof(struct seccomp_data, args) + rule->argument * 8;
	unsigned short test = rule->by_bits ? BPF_JSET : BPF_JEQ;
	struct sock_filter all[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
		BPF_JUMP(BPF_JMP | test | BPF_K, rule->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)rule->error),
	};
	if (rule->argument == EVERY) { /* a test that always holds, of the number itself */
		all[2].k = offsetof(struct seccomp_data, nr);
		all[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0, 1);
	}
	memcpy(code + *length, all, sizeof all);
	*length = (unsigned short)(*length + sizeof all / sizeof *all);
}

int main(int count, char **arguments) {
	struct sock_filter code[5 * RULES_MAX];
	struct sock_fprog filter = {.filter = code};
	_Static_assert(RULES < RULES_MAX, "room for all rules");
	for (size_t i = 0; i < RULES && count == 2; i++)
		if (i == 0 || strcmp(rules[i].name, rules[i - 1].name) != 0)
			puts(rules[i].name);
	if (count < 3)
		return 0;
	for (size_t i = 0; i < RULES; i++)
		if (is_wanted(arguments[1], rules[i].name))
			append(code, &filter.len, &rules[i]);
	if (filter.len == 0) {
		fprintf(stderr, "older_kernel: no such call: %s\n", arguments[1]);
		return 2;
	}
	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("older_kernel: the kernel has no filters of system calls");
		return 77;
	}
	execvp(arguments[2], arguments + 2);
	perror(arguments[2]);
	return 127;
}
