/* SPDX-License-Identifier: MIT
 * requested.h -- leak checks that a tool requests through the state file.
 * Layer: leak. Defines the hooks mw_control_leaks_*() of prof/control/control.h. The copy of the
 * process writes the result into the file; no thread waits for it. */
#ifndef MW_LEAK_REQUESTED_H
#define MW_LEAK_REQUESTED_H

#include <stdint.h>

/* Longest time of a search, waiting for the processor included. */
#define MW_LEAK_LIMIT_NS UINT64_C(600000000000)

#endif
