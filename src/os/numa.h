/* SPDX-License-Identifier: MIT
 * numa.h -- nodes of memory, by system calls alone (get_mempolicy(2), getcpu(2), mbind(2)).
 * Layer: os.  Started before threads exist; errno kept.  On a machine with one node, and where the
 * program was given a policy of its own (numactl(8)), everything here answers "one node". */
#ifndef MW_OS_NUMA_H
#define MW_OS_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/* Any node, or not known. */
#define MW_OS_NUMA_ANY 255u

extern bool mw_os_numa_several;

/* Finds out how many nodes this process may use. */
void mw_os_numa_start(void);
unsigned mw_os_numa_here_slow(void);
/* The node of the processor that runs this thread; MW_OS_NUMA_ANY where there is one. */
static inline unsigned mw_os_numa_here(void) {
	return __builtin_expect(mw_os_numa_several, 0) ? mw_os_numa_here_slow() : MW_OS_NUMA_ANY;
}
/* Memory that is not touched yet comes from that node as long as it has any. */
void mw_os_numa_prefer(void *base, size_t bytes, unsigned node);

#ifdef MW_TESTING
/* A machine with several nodes: `here` says where the caller runs, `prefer` is told of each call.
 * NULL: the system's own again, after mw_os_numa_start(). */
void mw_os_numa_set_fake(unsigned (*here)(void),
			 void (*prefer)(void *base, size_t bytes, unsigned node));
#endif

#endif
