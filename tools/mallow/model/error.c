/* SPDX-License-Identifier: MIT
 * error.c -- formats errors; control characters never reach a terminal. */
#include "model/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "model/text.h"

int mw_error_set(mw_error_t *error, const char *format, ...) {
	if (error == NULL)
		return -1;
	va_list args;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	mw_text_clean(error->text, "");
	return -1;
}
