/* SPDX-License-Identifier: MIT
 * languages.c -- looks texts up by their English words. */
#include "cli/help/languages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct message {
	const char *english, *chinese;
} message_t;

static const message_t messages[] = {
#define MESSAGE(english, chinese) {english, chinese},
#include "cli/help/chinese.def"
#undef MESSAGE
};
enum { MESSAGES = sizeof(messages) / sizeof(messages[0]) };

static mw_language_t language = MW_LANGUAGE_ENGLISH;

static const char *variable(const char *name) {
	const char *value = getenv(name);
	return value != NULL && *value != '\0' ? value : NULL;
}

/* Returns whether a locale's name begins with this one: "zh" fits "zh.UTF-8" and "zh:en". */
static bool is_locale(const char *name, const char *wanted) {
	size_t length = strlen(wanted);
	return strncmp(name, wanted, length) == 0 && strchr(".@:", name[length]) != NULL;
}

mw_language_t mw_language_of_environment(void) {
	const char *locale = variable("LC_ALL");
	locale = locale != NULL ? locale : variable("LC_MESSAGES");
	locale = locale != NULL ? locale : variable("LANG");
	if (locale == NULL ||
	    (strcasestr(locale, ".utf-8") == NULL && strcasestr(locale, ".utf8") == NULL))
		return MW_LANGUAGE_ENGLISH;
	/* Messages of the locale C are English, whatever LANGUAGE says. */
	const char *wanted = is_locale(locale, "C") ? NULL : variable("LANGUAGE");
	wanted = wanted != NULL ? wanted : locale;
	bool is_chinese =
		is_locale(wanted, "zh") || is_locale(wanted, "zh_CN") || is_locale(wanted, "zh_SG");
	return is_chinese ? MW_LANGUAGE_CHINESE : MW_LANGUAGE_ENGLISH;
}

void mw_language_set(mw_language_t chosen) {
	language = chosen;
}

const char *mw_say(const char *english) {
	for (size_t i = 0; i < MESSAGES && language == MW_LANGUAGE_CHINESE; i++)
		if (strcmp(messages[i].english, english) == 0)
			return messages[i].chinese;
	return english;
}

const char *mw_language_key(size_t n) {
	return n < MESSAGES ? messages[n].english : NULL;
}
