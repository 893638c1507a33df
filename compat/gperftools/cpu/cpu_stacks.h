/* SPDX-License-Identifier: MIT
 * cpu_stacks.h -- counts of samples by stack. Lock-free: signal handlers of many threads add at the
 * same time. Memory is reserved as a whole and becomes resident as stacks are added. */
#ifndef MW_COMPAT_GPERFTOOLS_CPU_STACKS_H
#define MW_COMPAT_GPERFTOOLS_CPU_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Maps the memory, or forgets all stacks. false: the kernel refused. Not in signal handlers, and
 * not while other functions of this header run. */
bool mw_gpc_stacks_start(void);
/* Adds `samples` to the stack's count. false: there is no room for one more stack. */
bool mw_gpc_stacks_add(const uint64_t *pcs, unsigned depth, uint64_t samples);
/* Visits each stack. Async-signal-safe. */
typedef void mw_gpc_visit_t(void *context, const uint64_t *pcs, unsigned depth, uint64_t samples);
void mw_gpc_stacks_visit(mw_gpc_visit_t *visit, void *context);

#endif
