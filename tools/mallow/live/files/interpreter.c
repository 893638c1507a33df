/* SPDX-License-Identifier: MIT
 * interpreter.c -- follows a command line to the file that is executed. */
#include "live/files/interpreter.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/files/program.h"
#include "live/files/regular_file.h"

/* Most steps: the kernel follows four "#!" lines, and each may call env. */
#define STEPS_MAX 8
/* Bytes of a "#!" line that the kernel reads. */
#define HEAD_BYTES 256

/* Names of programs. Digits and dots may follow: python3.12, php8.2. */
static const struct {
	const char *name;
	mw_interpreter_t interpreter;
} names[] = {
	{"node", MW_INTERPRETER_NODE}, {"nodejs", MW_INTERPRETER_NODE},
	{"java", MW_INTERPRETER_JAVA}, {"python", MW_INTERPRETER_PYTHON},
	{"php", MW_INTERPRETER_PHP},
};

static const char *base_of(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static mw_interpreter_t interpreter_of_name(const char *name) {
	size_t length = strcspn(name, "0123456789");
	const char *version = name + length;
	if (version[strspn(version, "0123456789.")] != '\0')
		return MW_INTERPRETER_NONE;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0)
			return names[i].interpreter;
	return MW_INTERPRETER_NONE;
}

static mw_interpreter_t interpreter_of_path(const char *path) {
	char *file = realpath(path, NULL);
	mw_interpreter_t by_name = interpreter_of_name(base_of(path)), by_file;
	by_file = file ? interpreter_of_name(base_of(file)) : MW_INTERPRETER_NONE;
	free(file);
	return by_file != MW_INTERPRETER_NONE ? by_file : by_name;
}

/* Returns the first of the words of env(1) that is not for env itself; NULL: there is none. */
static const char *behind_env(char *const *words) {
	while (*words && ((*words)[0] == '-' || strchr(*words, '='))) {
		/* These options take the next word. */
		bool takes_word = strcmp(*words, "-u") == 0 || strcmp(*words, "-C") == 0;
		words += takes_word && words[1] ? 2 : 1;
	}
	return *words;
}

/* Splits the "#!" line of a file into words. False: it has none. */
static bool read_head(const char *path, char head[HEAD_BYTES], char *words[HEAD_BYTES]) {
	int fd = mw_open_regular_file(path);
	if (fd < 0)
		return false;
	ssize_t got = pread(fd, head, HEAD_BYTES - 1, 0);
	close(fd);
	if (got < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head[got] = '\0';
	head[strcspn(head, "\r\n")] = '\0';
	size_t count = 0;
	for (char *rest = NULL, *word = strtok_r(head + 2, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest))
		words[count++] = word;
	words[count] = NULL;
	return count > 0;
}

mw_interpreter_t mw_interpreter_find(char *const *command_line) {
	char path[PATH_MAX], head[HEAD_BYTES], *words[HEAD_BYTES];
	char name[PATH_MAX];
	snprintf(name, sizeof(name), "%s", command_line[0]);
	char *const *behind = command_line + 1;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (!mw_program_find(name, path, sizeof(path)))
			return MW_INTERPRETER_NONE;
		mw_interpreter_t found = interpreter_of_path(path);
		if (found != MW_INTERPRETER_NONE)
			return found;
		const char *next = NULL;
		if (strcmp(base_of(path), "env") == 0) {
			next = behind_env(behind);
		} else if (read_head(path, head, words)) {
			next = words[0];
			behind = words + 1;
		}
		if (!next)
			return MW_INTERPRETER_NONE;
		snprintf(name, sizeof(name), "%s", next);
	}
	return MW_INTERPRETER_NONE;
}
