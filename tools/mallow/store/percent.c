/* SPDX-License-Identifier: MIT
 * percent.c -- writes and reads %XX. */
#include "store/percent.h"

#include <stdio.h>
#include <string.h>

#include "model/memory.h"

char *mw_percent_encode(const char *text, const char *special) {
	char *out = mw_xcalloc(strlen(text) + 1, 3);
	char *to = out;
	for (const char *at = text; *at != '\0'; at++) {
		unsigned char c = (unsigned char)*at;
		if (c < 0x20 || c == 0x7f || c == '%' || strchr(special, c) != NULL)
			to += sprintf(to, "%%%02X", c);
		else
			*to++ = *at;
	}
	return out;
}

/* -1: no hexadecimal digit. */
static int digit(char c) {
	static const char digits[] = "0123456789abcdef";
	const char *found = strchr(digits, c | 0x20);
	if (c >= '0' && c <= '9')
		return c - '0';
	return c != '\0' && found != NULL && c >= 'A' ? (int)(found - digits) : -1;
}

bool mw_percent_decode(char *text) {
	char *to = text;
	for (const char *at = text; *at != '\0'; at++) {
		if (*at != '%') {
			*to++ = *at;
			continue;
		}
		int high = digit(at[1]);
		int low = high >= 0 ? digit(at[2]) : -1;
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(16 * high + low);
		at += 2;
	}
	*to = '\0';
	return true;
}
