/* SPDX-License-Identifier: MIT
 * numa.h -- NUMA nodes, by system calls only (get_mempolicy(2), getcpu(2), mbind(2)).
 * Layer: os/memory. Started before threads exist; errno kept. If the machine has one node, or the
 * process has a memory policy of its own (numactl(8)), all functions behave as on a machine with
 * one node. */
#ifndef MW_OS_NUMA_H
#define MW_OS_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/* Node number that means any node, or an unknown one. */
#define MW_OS_NUMA_ANY 255u

extern bool mw_os_numa_several;

/* Reads how many nodes this process may use. */
void mw_os_numa_start(void);
unsigned mw_os_numa_here_slow(void);
/* Returns the node of the processor that runs this thread; MW_OS_NUMA_ANY if there is only one. */
static inline unsigned mw_os_numa_here(void) {
	return __builtin_expect(mw_os_numa_several, 0) ? mw_os_numa_here_slow() : MW_OS_NUMA_ANY;
}
/* Asks the kernel to take untouched memory from this node while the node has free memory. */
void mw_os_numa_prefer(void *base, size_t bytes, unsigned node);

#ifdef MW_TESTING
/* For tests: pretends that the machine has several nodes. `here` returns the caller's node;
 * `prefer` receives each call of mw_os_numa_prefer(). NULL: the real machine, after
 * mw_os_numa_start(). */
void mw_os_numa_set_fake(unsigned (*here)(void),
			 void (*prefer)(void *base, size_t bytes, unsigned node));
#endif

#endif
