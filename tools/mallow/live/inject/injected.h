/* SPDX-License-Identifier: MIT
 * injected.h -- code that the command writes into the unused end of a page of code.
 * Layer: live/inject.  A thread that is pointed to it (live/enter/thread_entry.h) maps memory, or
 * enters the code that was written there since (state/attach.h), and then restores its registers
 * and signals by itself.  It calls nothing of the process, so it does not matter where the thread
 * was stopped. */
#ifndef MW_TOOL_LIVE_INJECT_INJECTED_H
#define MW_TOOL_LIVE_INJECT_INJECTED_H

#include <stddef.h>
#include <stdint.h>

/* What the thread does; written to its stack. */
typedef struct mw_injected_order {
	uint64_t address, bytes; /* of the memory */
	uint64_t code_bytes;     /* of which so many hold code */
	/* Entry code in the memory; 0: the memory is to be mapped. */
	uint64_t entry;
	/* Where an int32_t goes if the kernel refuses execution: the negative errno. */
	uint64_t result;
} mw_injected_order_t;

/* The first words of memory that was mapped and holds nothing yet. */
typedef struct mw_injected_head {
	uint64_t magic, bytes;
} mw_injected_head_t;
#define MW_INJECTED_MAGIC UINT64_C(0x31706d7761746d77)

/* The code, which runs at any address; no bytes on processors for which there is none. */
const uint8_t *mw_injected_code(size_t *bytes);
/* Where a thread enters it. */
size_t mw_injected_entry_offset(void);

#endif
