/* SPDX-License-Identifier: MIT
 * shell.c -- reads lines and runs each as a view's command line. */
#include "cmd/compat/shell.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cmd/compat/outputs.h"
#include "cmd/compat/shell_settings.h"
#include "cmd/profile/view.h"
#include "libraries/terminals.h"
#include "model/memory.h"
#include "model/merge.h"

#define MW_PROMPT "(mallow) "
/* Most words of one line; rows of `top` without a number. */
enum { WORDS_MAX = 64, TOP_ROWS = 10 };

typedef struct shell {
	mw_profile_t *profile;
	size_t base_first;
	mw_settings_t settings;
	const char *program; /* name of the profile in the prompt */
	bool jeprof;
	int status; /* exit status of the last command */
} shell_t;

/* The shell, for the completion functions, which libedit gives no context. */
static const shell_t *completing;

/* Splits a line in place at spaces.  Quotes keep words together. */
static size_t split(char *line, char *words[WORDS_MAX]) {
	size_t count = 0;
	char *to = line;
	while (count < WORDS_MAX) {
		while (isspace((unsigned char)*line))
			line++;
		if (*line == '\0')
			break;
		words[count++] = to;
		char quote = 0;
		for (; *line != '\0' && (quote != 0 || !isspace((unsigned char)*line)); line++) {
			if (quote == 0 && (*line == '"' || *line == '\''))
				quote = *line;
			else if (quote != 0 && *line == quote)
				quote = 0;
			else
				*to++ = *line;
		}
		bool is_end = *line == '\0';
		*to++ = '\0';
		if (is_end)
			break;
		line++;
	}
	return count;
}

/* Finds a command.  "top10" is "top" with 10 rows. */
static const mw_output_row_t *find_command(const char *word, unsigned *rows) {
	char name[32];
	size_t length = strcspn(word, "0123456789");
	*rows = 0;
	if (length == 0 || length >= sizeof(name))
		return NULL;
	memcpy(name, word, length);
	name[length] = '\0';
	if (word[length] != '\0') {
		char *end;
		*rows = (unsigned)strtoul(word + length, &end, 10);
		if (*end != '\0' || *rows == 0)
			return NULL;
	}
	return mw_output_row_find(name);
}

/* A command line that is being built. */
typedef struct command {
	const mw_output_row_t *row;
	const char *pattern, *path;
	char *focus, *ignore; /* several words become one pattern */
	char *words[MW_SHARED_OPTIONS_MAX + 16];
	unsigned count;
} command_t;

static void add_word(command_t *c, const char *option, const char *value) {
	size_t size = strlen(option) + strlen(value) + 4;
	char *word = mw_xcalloc(size, 1);
	snprintf(word, size, *value != '\0' ? "--%s=%s" : "--%s", option, value);
	c->words[c->count++] = word;
}

static void join(char **pattern, const char *word) {
	size_t size = strlen(word) + (*pattern != NULL ? strlen(*pattern) : 0) + 2;
	char *text = mw_xcalloc(size, 1);
	snprintf(text, size, "%s%s%s", *pattern != NULL ? *pattern : "",
		 *pattern != NULL ? "|" : "", word);
	free(*pattern);
	*pattern = text;
}

/* Handles "10", "-cum", "regex", "-regex", ">file". */
static bool take_argument(command_t *c, char **words, size_t count, size_t *i) {
	const char *word = words[*i];
	if (*word == '>') {
		c->path = word[1] != '\0' ? word + 1 : *i + 1 < count ? words[++*i] : NULL;
		if (c->path == NULL)
			mw_complain("%s: '>' needs the name of a file after it", c->row->name);
		return c->path != NULL;
	}
	if (strcmp(word, "-cum") == 0 || strcmp(word, "--cum") == 0)
		add_word(c, "cum", "");
	else if (strcmp(word, "-flat") == 0 || strcmp(word, "--flat") == 0)
		add_word(c, "cum", "false");
	else if (word[strspn(word, "0123456789")] == '\0')
		add_word(c, "nodecount", word);
	else if (mw_output_has_pattern(c->row) && c->pattern == NULL)
		c->pattern = word;
	else if (*word == '-' && word[1] != '\0')
		join(&c->ignore, word + 1);
	else
		join(&c->focus, word);
	return true;
}

static int run_view(shell_t *s, command_t *c) {
	const mw_subcommand_t *view = mw_subcommand_find(c->row->view);
	mw_arguments_t arguments;
	char profile[] = "profile", pattern[4096];
	int status = MW_EXIT_TROUBLE;
	if (c->pattern != NULL) {
		snprintf(pattern, sizeof(pattern), "%s", c->pattern);
		c->words[c->count++] = mw_xstrdup("--");
		c->words[c->count++] = mw_xstrdup(pattern);
	}
	c->words[c->count++] = mw_xstrdup(profile);
	char *words[sizeof(c->words) / sizeof(c->words[0]) + 1];
	memcpy(words, c->words, sizeof(c->words));
	if (mw_arguments_parse(&arguments, view, (int)c->count, words)) {
		mw_profile_t *copy = mw_profile_copy(s->profile);
		arguments.is_jeprof = s->jeprof;
		arguments.is_shell = true;
		status = mw_output_make(c->row, &arguments, copy, s->base_first);
		mw_profile_free(copy);
	}
	mw_arguments_release(&arguments);
	fflush(stdout);
	return status;
}

static int run_command(shell_t *s, const mw_output_row_t *row, unsigned rows, char **words,
		       size_t count) {
	command_t c = {.row = row};
	bool good = true;
	bool is_top = strcmp(row->view, "top") == 0 && row->format == NULL;
	if (is_top && rows == 0 && !mw_settings_has(&s->settings, "nodecount"))
		rows = TOP_ROWS;
	for (size_t i = 0; i < s->settings.count; i++)
		add_word(&c, s->settings.rows[i].name, s->settings.rows[i].value);
	if (rows > 0) {
		char number[16];
		snprintf(number, sizeof(number), "%u", rows);
		add_word(&c, "nodecount", number);
	}
	for (size_t i = 0; i < count && good && i < 16 - 6; i++)
		good = take_argument(&c, words, count, &i);
	if (good && mw_output_has_pattern(row) && c.pattern == NULL) {
		mw_complain("%s: which functions? give a regular expression", row->name);
		good = false;
	}
	if (c.focus != NULL)
		add_word(&c, "focus", c.focus);
	if (c.ignore != NULL)
		add_word(&c, "ignore", c.ignore);
	if (c.path != NULL)
		add_word(&c, "output", c.path);
	int status = good ? run_view(s, &c) : MW_EXIT_TROUBLE;
	for (unsigned i = 0; i < c.count; i++)
		free(c.words[i]);
	free(c.focus);
	free(c.ignore);
	return status;
}

/* False for views of mallow whose name is also an option of pprof, which takes precedence. */
static bool is_command(const mw_output_row_t *row) {
	return mw_output_row_find(row->name) == row;
}

/* Handles "help top", "help focus". */
static bool print_help_of(const char *word) {
	unsigned rows;
	const mw_output_row_t *row = find_command(word, &rows);
	if (row == NULL)
		return mw_settings_print_help(word, stdout);
	printf("  %s%s\n      %s\n", row->name,
	       mw_output_has_pattern(row) ? " RE [>FILE]" : " [N] [RE]... [-RE]... [>FILE]",
	       strcmp(row->help, "likewise") == 0 ? mw_subcommand_find(row->view)->summary
						  : row->help);
	return true;
}

static void print_help(void) {
	puts("Commands:");
	for (size_t i = 0; i < mw_output_count; i++)
		if (is_command(&mw_outputs[i]))
			printf("  %-12s %s\n", mw_outputs[i].name, mw_outputs[i].help);
	puts("  o, options   list the options that are set\n  :            remove all patterns\n  "
	     "help [WORD]  show this text, or what a command or option does\n  quit\n\n  COMMAND "
	     "[N] [RE]... [-RE]... [>FILE]   top10 -cum parse -test >out.txt\n  OPTION=VALUE       "
	     "                    focus=parse, unit=MB, lines, alloc_space;\n                      "
	     "                   'mallow top --help' lists them; OPTION= resets one");
}

/* Turns "focus = main" into "focus=main": the first word is the name, the rest is the value. */
static void join_assignment(char *line) {
	char *name = line + strspn(line, " \t");
	char *end = name + strspn(name, "abcdefghijklmnopqrstuvwxyz_-");
	char *equals = end + strspn(end, " \t");
	if (end == name || *equals != '=')
		return;
	char *value = equals + 1 + strspn(equals + 1, " \t");
	*end++ = '=';
	memmove(end, value, strlen(value) + 1);
}

/* Runs a line.  False: the shell ends. */
static bool do_line(shell_t *s, char *line) {
	char *words[WORDS_MAX];
	join_assignment(line);
	size_t count = split(line, words);
	unsigned rows;
	s->status = MW_EXIT_FINE;
	if (count == 0)
		return true;
	const char *word = words[0];
	if (strcmp(word, "quit") == 0 || strcmp(word, "exit") == 0 || strcmp(word, "q") == 0)
		return false;
	const mw_output_row_t *row = find_command(word, &rows);
	bool is_help = strcmp(word, "help") == 0 || strcmp(word, "h") == 0;
	if (is_help && count > 1)
		s->status = print_help_of(words[1]) ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
	else if (is_help)
		print_help();
	else if (strcmp(word, "o") == 0 || strcmp(word, "options") == 0)
		mw_settings_print(&s->settings, stdout);
	else if (strcmp(word, ":") == 0)
		mw_settings_forget_patterns(&s->settings);
	else if (row != NULL)
		s->status = run_command(s, row, rows, words + 1, count - 1);
	else if (!mw_settings_take(&s->settings, s->profile, word))
		s->status = MW_EXIT_TROUBLE;
	fflush(stdout);
	return true;
}

/* Completes commands first, then options. libedit frees the result. */
static char *complete(const char *text, int state) {
	static size_t next;
	if (state == 0)
		next = 0;
	/* A value follows an option. */
	*mw_editline.rl_completion_append_character = ' ';
	for (; next < mw_output_count; next++)
		if (is_command(&mw_outputs[next]) &&
		    strncmp(mw_outputs[next].name, text, strlen(text)) == 0)
			return strdup(mw_outputs[next++].name);
	const char *name;
	while ((name = mw_settings_name(next - mw_output_count)) != NULL) {
		char *offer = NULL;
		bool has_value = mw_settings_has_value(next++ - mw_output_count);
		if (strncmp(name, text, strlen(text)) != 0)
			continue;
		if (has_value)
			*mw_editline.rl_completion_append_character = '\0';
		return asprintf(&offer, "%s%s", name, has_value ? "=" : "") < 0 ? NULL : offer;
	}
	return NULL;
}

/* Completes names of functions after a command. */
static char *complete_function(const char *text, int state) {
	static size_t next;
	const mw_profile_t *p = completing->profile;
	if (state == 0)
		next = 1;
	while (next < p->function_count) {
		const char *name = mw_profile_string(p, p->functions[next++].name);
		if (*name != '\0' && strncmp(name, text, strlen(text)) == 0)
			return strdup(name);
	}
	return NULL;
}

static char **complete_word(const char *text, int start, int end) {
	(void)end;
	*mw_editline.rl_attempted_completion_over = 1;
	return mw_editline.rl_completion_matches(text, start == 0 ? complete : complete_function);
}

/* Reads lines that the user can edit, complete and take back from the history. */
static void talk(shell_t *s) {
	completing = s;
	*mw_editline.rl_readline_name = "mallow";
	*mw_editline.rl_attempted_completion_function = complete_word;
	mw_editline.using_history();
	char *line;
	for (bool goes_on = true; goes_on && (line = mw_editline.readline(MW_PROMPT)) != NULL;
	     free(line)) {
		if (*line != '\0')
			mw_editline.add_history(line);
		goes_on = do_line(s, line);
	}
}

/* Reads lines as they come, after `prompt`.  Returns the worst status, so that a script sees that a
 * command failed. */
static int read_commands(shell_t *s, const char *prompt) {
	char *line = NULL;
	size_t capacity = 0;
	int worst = MW_EXIT_FINE;
	fputs(prompt, stdout);
	fflush(stdout);
	while (getline(&line, &capacity, stdin) > 0 && do_line(s, line)) {
		worst = s->status > worst ? s->status : worst;
		fputs(prompt, stdout);
		fflush(stdout);
	}
	free(line);
	return worst;
}

/* Reads commands from a terminal. */
static void read_terminal(shell_t *s) {
	mw_error_t error;
	printf("%s; 'help' lists the commands, 'quit' ends\n", s->program);
	if (mw_editline_load(&error) == 0) {
		talk(s);
		return;
	}
	mw_complain("note: %s", error.text);
	read_commands(s, MW_PROMPT);
}

int mw_shell(const mw_arguments_t *arguments) {
	mw_error_t error;
	mw_inputs_t inputs;
	shell_t s = {.jeprof = arguments->is_jeprof};
	int status = MW_EXIT_FINE;
	if (mw_view_inputs(arguments, &inputs, &error) != 0)
		status = MW_EXIT_TROUBLE;
	/* Loads everything that any command may need. */
	inputs.detail = MW_LOAD_SPLIT;
	if (status == MW_EXIT_FINE &&
	    mw_inputs_load(&inputs, &s.profile, &s.base_first, &error) != 0)
		status = MW_EXIT_TROUBLE;
	if (status != MW_EXIT_FINE) {
		mw_complain("%s", error.text);
		return status;
	}
	s.program = inputs.targets[0];
	mw_settings_init(&s.settings, arguments);
	if (isatty(STDIN_FILENO))
		read_terminal(&s);
	else
		status = read_commands(&s, "");
	mw_settings_release(&s.settings);
	mw_profile_free(s.profile);
	return status;
}

int mw_cmd_shell(const mw_arguments_t *arguments) {
	return mw_shell(arguments);
}
