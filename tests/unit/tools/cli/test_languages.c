/* SPDX-License-Identifier: MIT
 * test_languages.c -- `mallow help` in Chinese: each text has a translation, and no translation is
 * of a text that is gone; and which language a locale asks for. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <locale.h>

#include "cli/help/help.h"
#include "cli/help/languages.h"
#include "cmd/command.h"
#include "test.h"

enum { COLUMNS = 79 };

/* Keeps one printed text in memory. */
static char *printed(void (*print)(FILE *out)) {
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	CHECK(out);
	print(out);
	fclose(out);
	return text;
}

static void search(FILE *out) {
	CHECK(mw_help_search(out, "leak"));
}

/* Calls `look` with each text of the table of subcommands that the help prints. */
static void each_text(void (*look)(const char *text)) {
	const mw_command_table_t *table = mw_commands();
	for (size_t i = 0; i < table->subcommand_count; i++)
		look(table->subcommands[i].summary);
	for (size_t i = 0; i < table->group_count; i++)
		look(table->groups[i].title);
	for (const mw_help_topic_t *topic = table->topics; topic->words != NULL; topic++)
		look(topic->meaning);
}

static void is_translated(const char *text) {
	if (strcmp(mw_say(text), text) == 0)
		fprintf(stderr, "not translated: %s\n", text);
	CHECK(strcmp(mw_say(text), text) != 0);
}

static void test_each_text_is_translated(void) {
	mw_language_set(MW_LANGUAGE_CHINESE);
	each_text(is_translated);
	char *all = printed(mw_help_print_all);
	CHECK(strstr(all, "Usage") == NULL && strstr(all, "TARGET") == NULL);
	free(all);
	mw_language_set(MW_LANGUAGE_ENGLISH);
	CHECK_STR(mw_say("Compare"), "Compare");
}

static const char *wanted;
static bool is_found;

static void compare(const char *text) {
	is_found |= strcmp(text, wanted) == 0;
}

static void test_no_translation_is_left_over(void) {
	char *all = printed(mw_help_print_all), *about = printed(search);
	for (size_t i = 0; (wanted = mw_language_key(i)) != NULL; i++) {
		is_found = strstr(all, wanted) != NULL || strstr(about, wanted) != NULL;
		each_text(compare);
		if (!is_found)
			fprintf(stderr, "nothing prints: %s\n", wanted);
		CHECK(is_found);
	}
	free(all);
	free(about);
}

/* In both languages.  A character of Chinese takes two columns. */
static void test_lines_fit(void) {
	wchar_t wide[1024];
	for (int language = MW_LANGUAGE_ENGLISH; language <= MW_LANGUAGE_CHINESE; language++) {
		mw_language_set((mw_language_t)language);
		char *all = printed(mw_help_print_all), *rest = all, *line;
		while ((line = strsep(&rest, "\n")) != NULL) {
			size_t length = mbstowcs(wide, line, sizeof(wide) / sizeof(wide[0]));
			CHECK(length != (size_t)-1 && wcswidth(wide, length) <= COLUMNS);
		}
		free(all);
	}
	mw_language_set(MW_LANGUAGE_ENGLISH);
}

/* The values of LC_ALL, LC_MESSAGES, LANG and LANGUAGE; NULL: not set. */
static mw_language_t language_of(const char *all, const char *messages, const char *lang,
				 const char *languages) {
	static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"};
	const char *const values[] = {all, messages, lang, languages};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (values[i] == NULL)
			unsetenv(names[i]);
		else
			setenv(names[i], values[i], 1);
	return mw_language_of_environment();
}

static void test_language_of_locale(void) {
	const mw_language_t chinese = MW_LANGUAGE_CHINESE, english = MW_LANGUAGE_ENGLISH;
	CHECK(language_of(NULL, NULL, NULL, NULL) == english);
	CHECK(language_of(NULL, NULL, "zh_CN.UTF-8", NULL) == chinese);
	CHECK(language_of(NULL, NULL, "zh_CN.utf8", NULL) == chinese);
	CHECK(language_of(NULL, NULL, "zh_SG.UTF-8@pinyin", NULL) == chinese);
	/* Other characters, and other encodings. */
	CHECK(language_of(NULL, NULL, "zh_TW.UTF-8", NULL) == english);
	CHECK(language_of(NULL, NULL, "zh_CN.GB18030", NULL) == english);
	CHECK(language_of(NULL, NULL, "zha.UTF-8", NULL) == english);
	CHECK(language_of(NULL, "en_US.UTF-8", "zh_CN.UTF-8", NULL) == english);
	CHECK(language_of("zh_CN.UTF-8", "en_US.UTF-8", "en_US.UTF-8", NULL) == chinese);
	CHECK(language_of("", "", "zh_CN.UTF-8", "") == chinese);
	CHECK(language_of(NULL, NULL, "en_US.UTF-8", "zh_CN:en") == chinese);
	CHECK(language_of(NULL, NULL, "zh_CN.UTF-8", "en:zh_CN") == english);
	CHECK(language_of("C.UTF-8", NULL, "zh_CN.UTF-8", "zh_CN") == english);
}

int main(void) {
	CHECK(setlocale(LC_CTYPE, "C.UTF-8"));
	mw_commands_register(&mw_command_table);
	RUN(test_each_text_is_translated);
	RUN(test_no_translation_is_left_over);
	RUN(test_lines_fit);
	RUN(test_language_of_locale);
	return 0;
}
