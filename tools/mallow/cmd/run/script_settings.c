/* SPDX-License-Identifier: MIT
 * script_settings.c -- a table of the settings, by interpreter. */
#include "cmd/run/script_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "live/files/interpreter.h"
#include "live/library.h"
#include "model/memory.h"

typedef enum purpose {
	FOR_SCRIPTS,
	FOR_OBJECTS,
} purpose_t;

static const struct {
	mw_interpreter_t interpreter;
	purpose_t purpose;
	const char *variable;
	/* A list of options, separated by blanks, which is added to that of the user; or a value,
	 * which the user's replaces. */
	bool is_list;
	const char *value;
} settings[] = {
	/* V8 writes a map of its functions for perf, and gives each interpreted function code of
	 * its own. With --perf-basic-prof it would also write a log into the current directory. */
	{MW_INTERPRETER_NODE, FOR_SCRIPTS, "NODE_OPTIONS", true,
	 "--perf-basic-prof-only-functions --interpreted-frames-native-stack"},
	/* HotSpot's compiled code keeps no frame pointer otherwise, and stacks end in its first
	 * frame. Machines before 17 do not know the map, and are told not to mind. */
	{MW_INTERPRETER_JAVA, FOR_SCRIPTS, "JAVA_TOOL_OPTIONS", true,
	 "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions "
	 "-XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit"},
	{MW_INTERPRETER_PYTHON, FOR_OBJECTS, "PYTHONMALLOC", false, "malloc"},
	{MW_INTERPRETER_PHP, FOR_OBJECTS, "USE_ZEND_ALLOC", false, "0"},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* Returns whether a list has the word. */
static bool has_word(const char *list, const char *word, size_t length) {
	for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
		bool begins = at == list || at[-1] == ' ';
		if (begins && (at[length] == '\0' || at[length] == ' '))
			return true;
	}
	return false;
}

/* Returns the options that the user's list lacks; the caller frees them. */
static char *missing_words(const char *ours, const char *theirs) {
	char *missing = mw_xcalloc(strlen(ours) + 1, 1), *words = mw_xstrdup(ours);
	for (char *rest = NULL, *word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (has_word(theirs, word, strlen(word)))
			continue;
		if (*missing != '\0')
			strcat(missing, " ");
		strcat(missing, word);
	}
	free(words);
	return missing;
}

/* Adds what is set to the line of text. */
static void set(size_t i, char *line, size_t size) {
	const char *theirs = getenv(settings[i].variable);
	size_t used = strlen(line);
	const char *comma = used > 0 ? ", " : "";
	if (!settings[i].is_list) {
		if (!theirs)
			setenv(settings[i].variable, settings[i].value, 1);
		snprintf(line + used, size - used, "%s%s=%.64s%s", comma, settings[i].variable,
			 theirs ? theirs : settings[i].value, theirs ? " as before" : "");
		return;
	}
	char *missing = missing_words(settings[i].value, theirs ? theirs : "");
	/* Of options that contradict each other the last one, the user's, is used. */
	mw_environment_join(settings[i].variable, missing, ' ', theirs ? theirs : "");
	if (*missing != '\0')
		snprintf(line + used, size - used, "%s%s='%s'%s", comma, settings[i].variable,
			 missing, theirs && *theirs ? " before yours" : "");
	else
		snprintf(line + used, size - used, "%s%s as before", comma, settings[i].variable);
	free(missing);
}

void mw_script_settings_make(char *const *command_line, bool scripts, bool objects, bool is_quiet) {
	char line[1024] = "";
	mw_interpreter_t found = mw_interpreter_find(command_line);
	for (size_t i = 0; i < SETTINGS; i++) {
		bool is_meant = settings[i].purpose == FOR_SCRIPTS ? scripts : objects;
		if (is_meant && (found == MW_INTERPRETER_NONE || found == settings[i].interpreter))
			set(i, line, sizeof(line));
	}
	if (is_quiet)
		return;
	if (line[0] != '\0' && found == MW_INTERPRETER_NONE)
		mw_complain("run: %s is no interpreter that mallow knows; set for those that it "
			    "starts: %s",
			    command_line[0], line);
	else if (line[0] != '\0')
		mw_complain("run: set: %s", line);
	else
		mw_complain("run: nothing to set for %s", command_line[0]);
}
