/* SPDX-License-Identifier: MIT
 * percent.h -- texts whose special characters are written as %XX, as in URLs.
 * Layer: store. */
#ifndef MW_TOOL_STORE_PERCENT_H
#define MW_TOOL_STORE_PERCENT_H

#include <stdbool.h>

/* Returns `text` with control characters, '%', and each character of `special` as %XX.  The caller
 * frees it. */
char *mw_percent_encode(const char *text, const char *special);
/* Decodes in place.  False: a '%' without two hexadecimal digits, or %00. */
bool mw_percent_decode(char *text);

#endif
