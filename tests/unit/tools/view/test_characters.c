/* SPDX-License-Identifier: MIT
 * test_characters.c -- which characters of hostile text reach a terminal. */
#include <stdlib.h>
#include <string.h>

#include "model/text.h"
#include "test.h"

static void cleans(const char *text, const char *kept, const char *want) {
	char copy[256], *printed = NULL;
	size_t length;
	snprintf(copy, sizeof(copy), "%s", text);
	CHECK_STR(mw_text_clean(copy, kept), want);
	if (*kept != '\0')
		return;
	FILE *out = open_memstream(&printed, &length);
	CHECK(out != NULL);
	mw_text_print(out, text);
	fclose(out);
	CHECK_STR(printed, want);
	free(printed);
}

static void controls_become_question_marks(void) {
	cleans("", "", "");
	cleans("a\033[2Jb\ac", "", "a?[2Jb?c");
	cleans("\x7f\t\n\r", "", "????");
	cleans("C1: \xc2\x80\xc2\x9b\xc2\x9f", "", "C1: ???");
	cleans("tab\tnew\nline\033", "\t\n", "tab\tnew\nline?");
}

/* Each of these reorders what a terminal or browser shows behind it. */
static void characters_that_turn_a_line_become_question_marks(void) {
	cleans("arabic \xd8\x9c, marks \xe2\x80\x8e\xe2\x80\x8f", "", "arabic ?, marks ??");
	cleans("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80"
	       "\xae",
	       "", "???????");
	cleans("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9\xe2\x81\xaa\xe2\x81\xaf", "",
	       "??????");
	/* Their neighbours stay: zero-width joiner, hyphen, narrow space, word joiner, digit. */
	static const char neighbours[] = "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf"
					 "\xe2\x81\xa0\xe2\x81\xa5\xe2\x81\xb0";
	cleans(neighbours, "", neighbours);
}

static void other_characters_stay(void) {
	cleans(" ~\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", "",
	       " ~\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
}

/* Terminals take single bytes from 0x80 to 0x9f for C1, and some decode overlong forms. */
static void bytes_that_are_not_utf8_become_question_marks(void) {
	cleans("\x9b"
	       "31m",
	       "", "?31m");
	cleans("\xc2", "", "?");
	cleans("\xc1\x9b", "", "??");
	cleans("\xe0\x82\x9b", "", "???");
	cleans("\xed\xa0\x80", "", "???");
	cleans("\xf4\x90\x80\x80", "", "????");
	cleans("\xf8\x80\x80\x80\x80", "", "?????");
	cleans("\xe2\x82x", "", "??x");
}

int main(void) {
	RUN(controls_become_question_marks);
	RUN(characters_that_turn_a_line_become_question_marks);
	RUN(other_characters_stay);
	RUN(bytes_that_are_not_utf8_become_question_marks);
	return 0;
}
