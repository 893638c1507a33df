/* SPDX-License-Identifier: MIT
 * error.h -- the library's result codes: 0, or a negative code of this list. Layer: base. */
#ifndef MW_BASE_ERROR_H
#define MW_BASE_ERROR_H

typedef enum mw_result {
	MW_OK = 0,
	MW_ERR_NO_MEMORY = -1,   /* the kernel refused memory, or a table of fixed size is full */
	MW_ERR_IO = -2,          /* a file could not be opened, read, written or mapped */
	MW_ERR_FORBIDDEN = -3,   /* wrong owner, a symbolic link, or a set-uid process */
	MW_ERR_BAD_VALUE = -4,   /* a value is out of range or malformed */
	MW_ERR_UNSUPPORTED = -5, /* the kernel is too old for the request */
	MW_ERR_NOT_FOUND = -6,
} mw_result_t;

#endif
