/* SPDX-License-Identifier: MIT
 * mapping_call.h -- a call of the program that maps memory, as the program's hooks see it.
 * Layer: prof/mappings. */
#ifndef MW_PROF_MAPPINGS_MAPPING_CALL_H
#define MW_PROF_MAPPINGS_MAPPING_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mw_mapping_function {
	MW_CALL_MMAP,
	MW_CALL_MUNMAP,
	MW_CALL_MREMAP,
	MW_CALL_SBRK,
	MW_CALL_SHMAT,
	MW_CALL_SHMDT,
} mw_mapping_function_t;

/* Arguments have the names of the function's manual page; what a function lacks is 0. */
typedef struct mw_mapping_call {
	mw_mapping_function_t function;
	bool is_before;      /* true: the system call comes afterwards, and `result` is unknown */
	const void *address; /* of mremap: old_address; of shmat and shmdt: shmaddr */
	size_t length;       /* of mremap: old_size */
	int protection, flags, file;
	int64_t offset; /* of sbrk: increment */
	size_t new_length;
	const void *new_address;
	const void *result; /* MAP_FAILED, also of sbrk and shmat: refused */
} mw_mapping_call_t;

/* Called before and after each call, by the thread that makes it, also in signal handlers. */
typedef void mw_on_mapping_call_t(const mw_mapping_call_t *call);

#endif
