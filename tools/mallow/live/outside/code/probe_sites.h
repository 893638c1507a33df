/* SPDX-License-Identifier: MIT
 * probe_sites.h -- finds the instruction of a function where a probe costs least.
 * Layer: live/outside/code.  At a probe the kernel either does what the instruction does itself, or
 * has the thread run a copy of it with a trap behind: 0.7 us or 10 us in a virtual machine.  So the
 * probe stands at the first instruction that the kernel emulates, if everything before that leaves
 * the arguments and the stack pointer as they were at the call. */
#ifndef MW_TOOL_LIVE_OUTSIDE_CODE_PROBE_SITES_H
#define MW_TOOL_LIVE_OUTSIDE_CODE_PROBE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments of a call in registers, as a mask: rdi, rsi, rdx. */
enum { MW_ARGUMENT_1 = 1, MW_ARGUMENT_2 = 2, MW_ARGUMENT_3 = 4 };

typedef struct mw_probe_site {
	uint32_t offset;  /* bytes behind the first instruction */
	bool is_emulated; /* false: offset is 0, and the kernel runs a copy */
} mw_probe_site_t;

/* Looks at the first instructions of a function of x86-64.  `arguments`: those that have to be as
 * they were. `skips_null`: the site may lie behind a test of the first argument for NULL, so that
 * calls with NULL do not come there (free). */
mw_probe_site_t mw_probe_site_find(const uint8_t *code, size_t bytes, unsigned arguments,
				   bool skips_null);

#endif
