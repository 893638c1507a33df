/* SPDX-License-Identifier: MIT
 * debug_report.h -- messages about misuse: the stacks that are known, then one line that says what
 * was wrong.  No function returns.  No lock is held by the callers. */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_REPORT_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_REPORT_H

#include "base/compiler.h"
#include "compat/gperftools/debug/debug_blocks.h"
#include "compat/gperftools/debug/debug_heap.h"

/* Returns the thread's number in the kernel. */
uint32_t mw_gpd_thread_id(void);

/* The block was allocated by a function of another kind. */
_Noreturn MW_COLD void mw_gpd_report_kind(const mw_gpd_call_t *call, const mw_gpd_block_t *block);
_Noreturn MW_COLD void mw_gpd_report_freed(const mw_gpd_call_t *call, const mw_gpd_block_t *block);
_Noreturn MW_COLD void mw_gpd_report_size(const mw_gpd_call_t *call, const mw_gpd_block_t *block,
					  size_t claimed_bytes);
/* `function`: the function that found the changed byte, or NULL at exit. */
_Noreturn MW_COLD void mw_gpd_report_damage(const char *function, const mw_gpd_block_t *block,
					    const char *changed);
_Noreturn MW_COLD void mw_gpd_report_written(const mw_gpd_block_t *block, const char *changed);
/* Prints what is known of an access that the page fence stopped, and returns.  In a signal handler
 * that interrupted the instruction at `pc`. */
MW_COLD void mw_gpd_report_access(const mw_gpd_block_t *block, const char *address, void *pc);

#endif
