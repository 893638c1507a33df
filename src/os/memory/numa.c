/* SPDX-License-Identifier: MIT
 * numa.c -- NUMA nodes by system calls. */
#include "os/memory/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <unistd.h>

#include "os/platform/system_call.h"

/* Largest number of nodes of a kernel (CONFIG_NODES_SHIFT = 10). */
#define NODES_MAX 1024u
#define WORD_BITS (8 * sizeof(unsigned long))

bool mw_os_numa_several;

#ifdef MW_TESTING
static unsigned (*fake_here)(void);
static void (*fake_prefer)(void *base, size_t bytes, unsigned node);

void mw_os_numa_set_fake(unsigned (*here)(void),
			 void (*prefer)(void *base, size_t bytes, unsigned node)) {
	fake_here = here;
	fake_prefer = prefer;
	mw_os_numa_several = here != NULL;
}
#endif

void mw_os_numa_start(void) {
	int saved_errno = errno, mode = MPOL_DEFAULT;
	unsigned long allowed[NODES_MAX / WORD_BITS] = {0};
	unsigned count = 0;
	/* A kernel without NUMA refuses the call. */
	if (mw_system_call(SYS_get_mempolicy, NULL, allowed, (unsigned long)NODES_MAX, NULL,
			   MPOL_F_MEMS_ALLOWED) == 0)
		for (unsigned i = 0; i < NODES_MAX / WORD_BITS; i++)
			count += (unsigned)__builtin_popcountl(allowed[i]);
	if (count > 1 && mw_system_call(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) != 0)
		count = 1;
	mw_os_numa_several = count > 1 && mode == MPOL_DEFAULT;
	errno = saved_errno;
}

unsigned mw_os_numa_here_slow(void) {
#ifdef MW_TESTING
	if (fake_here)
		return fake_here();
#endif
	int saved_errno = errno;
	unsigned processor, node = MW_OS_NUMA_ANY;
	if (mw_system_call(SYS_getcpu, &processor, &node, NULL) != 0 || node > MW_OS_NUMA_ANY)
		node = MW_OS_NUMA_ANY;
	errno = saved_errno;
	return node;
}

void mw_os_numa_prefer(void *base, size_t bytes, unsigned node) {
	if (node == MW_OS_NUMA_ANY)
		return;
#ifdef MW_TESTING
	if (fake_prefer) {
		fake_prefer(base, bytes, node);
		return;
	}
#endif
	int saved_errno = errno;
	unsigned long nodes[(MW_OS_NUMA_ANY + WORD_BITS) / WORD_BITS] = {0};
	nodes[node / WORD_BITS] = 1ul << node % WORD_BITS;
	/* If the kernel refuses, memory comes from the node that touches it first, which is mostly
	 * this one. The kernel uses one bit fewer than the given number. */
	mw_system_call(SYS_mbind, base, bytes, MPOL_PREFERRED, nodes, 8 * sizeof nodes + 1, 0);
	errno = saved_errno;
}
