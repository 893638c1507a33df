/* SPDX-License-Identifier: MIT
 * languages.h -- `mallow help` in the user's language.
 * Layer: cli/help.  English texts are the keys; chinese.def has the others.  The texts are part of
 * the command: it is unpacked and used without a folder of message catalogues. */
#ifndef MW_TOOL_CLI_HELP_LANGUAGES_H
#define MW_TOOL_CLI_HELP_LANGUAGES_H

#include <stddef.h>

typedef enum mw_language { MW_LANGUAGE_ENGLISH, MW_LANGUAGE_CHINESE } mw_language_t;

/* Returns the language that the variables of the locale name (locale(7)): LANGUAGE before LC_ALL,
 * LC_MESSAGES and LANG, as gettext(3) reads them.  Chinese in simplified characters, and only where
 * the locale's characters are UTF-8. */
mw_language_t mw_language_of_environment(void);
/* Sets the language of mw_say().  English before. */
void mw_language_set(mw_language_t language);
/* Returns the text in that language; where it has none, the text itself. */
const char *mw_say(const char *english);

/* For tests: the n-th English text that has a translation; NULL: there are no more. */
const char *mw_language_key(size_t n);

#endif
