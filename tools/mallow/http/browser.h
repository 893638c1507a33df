/* SPDX-License-Identifier: MIT
 * browser.h -- opens the user's browser at an address that has a secret.
 * Layer: http.  Every user of the machine can read command lines.  The command that opens the
 * browser is therefore given a file, mode 600 in a folder of mode 700, that leads to the address.
 */
#ifndef MW_TOOL_HTTP_BROWSER_H
#define MW_TOOL_HTTP_BROWSER_H

#include <stdbool.h>

#include "model/error.h"

/* Whether there is a desktop. */
bool mw_browser_is_there(void);
/* Writes the file, and starts xdg-open with it in a session of its own; what xdg-open prints is not
 * shown.  -1 with an error: no browser opens, and there is no file.  One at a time. */
int mw_browser_open(const char *address, mw_error_t *error);
/* After SIGCHLD: collects the command's exit status if it has ended. */
void mw_browser_collect(void);
/* Removes the file, if there is one.  Any thread may call this. */
void mw_browser_remove_file(void);

#endif
