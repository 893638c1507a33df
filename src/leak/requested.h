/* SPDX-License-Identifier: MIT
 * requested.h -- leak checks that a tool requests through the state file.
 * Layer: leak. Defines the hooks mw_control_leaks_*() of prof/control/control.h. The copy of the
 * process writes the result into the file; no thread waits for it. */
#ifndef MW_LEAK_REQUESTED_H
#define MW_LEAK_REQUESTED_H

#include <stdint.h>

#include "leak/leak.h"
#include "os/process/stop.h"
#include "state/leak_check.h"

/* Longest time of a search, waiting for the processor included. */
#define MW_LEAK_LIMIT_NS UINT64_C(600000000000)

/* Checks, waits, and stores the result in the state file if there is one. Fills in the sums, and
 * how many stacks the sampled leaks have; 0: not known. The caller holds no lock. */
mw_leak_error_t mw_leak_check_and_store(const mw_os_stopped_t *self, mw_leak_sums_t *sums,
					uint64_t *stacks);

#endif
