/* SPDX-License-Identifier: MIT
 * unwind_file.h -- the first rules of large objects of program start, read from their files.
 * Layer: prof.  Where a process reads a byte of a mapped file the kernel maps the 64 KiB around it,
 * and they count as the process's memory: of libc's unwind tables two times that, for the frames
 * in which every stack ends.  So the first few rules are read by pread(2), whose pages stay the
 * kernel's (doc/adr/0014-resident-first.md).  Async-signal-safe; no locks. */
#ifndef MW_PROF_UNWIND_FILE_H
#define MW_PROF_UNWIND_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/object.h"
#include "prof/unwind_rule.h"

/* Of a process: one that meets more places in code is not small, and reading one from the file
 * takes some 4 microseconds. */
#define MW_CFI_FILE_RULES 16u
/* What is not larger is mapped whole at its first byte. */
#define MW_CFI_FILE_MIN_BYTES 65536u

extern _Atomic uint32_t mw_cfi_file_rules;

static inline bool mw_cfi_file_wanted(const mw_os_object_t *object) {
	/* Relaxed: a few more or less. */
	return object->path && object->data_hi - object->data_lo > MW_CFI_FILE_MIN_BYTES &&
	       atomic_load_explicit(&mw_cfi_file_rules, memory_order_relaxed) < MW_CFI_FILE_RULES;
}

/* The rule that the object's tables have for `pc`.  False: they must be read where they are mapped,
 * because the file is gone or another one, or there is no plain answer. */
bool mw_cfi_file_rule(const mw_os_object_t *object, uintptr_t pc, mw_rule_t *rule);

#endif
