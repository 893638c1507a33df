/* SPDX-License-Identifier: MIT
 * picture.c -- output files by their name; graphviz draws the graphs. */
#include "cmd/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/alloc.h"
#include "write/output.h"

struct mw_picture {
	const char *ending;
	const char *view;     /* that makes it; NULL: whichever was asked for */
	const char *of;       /* only if this view was asked for; NULL: any */
	const char *graphviz; /* its option; NULL: the text is written as it is */
	bool is_json;
	bool is_profile;
};

/* The first that fits counts. */
static const mw_picture_t pictures[] = {
	{".html", "weblist", "list", NULL, false, false},
	{".html", "weblist", "weblist", NULL, false, false},
	{".html", "flame", NULL, NULL, false, false},
	{".svg", "flame", "flame", NULL, false, false},
	{".svg", "graph", NULL, "-Tsvg", false, false},
	{".png", "graph", NULL, "-Tpng", false, false},
	{".pdf", "graph", NULL, "-Tpdf", false, false},
	{".ps", "graph", NULL, "-Tps", false, false},
	{".gif", "graph", NULL, "-Tgif", false, false},
	{".dot", "graph", NULL, NULL, false, false},
	{".gv", "graph", NULL, NULL, false, false},
	{".folded", "collapsed", NULL, NULL, false, false},
	{".collapsed", "collapsed", NULL, NULL, false, false},
	{".speedscope.json", "speedscope", NULL, NULL, false, false},
	{".callgrind", "callgrind", NULL, NULL, false, false},
	{".json", NULL, NULL, NULL, true, false},
	{".pb", NULL, NULL, NULL, false, true},
	{".pb.gz", NULL, NULL, NULL, false, true},
	{".heap", NULL, NULL, NULL, false, true},
};

static bool is_for(const mw_picture_t *picture, const char *view) {
	return picture->of == NULL || strcmp(picture->of, view) == 0;
}

const mw_picture_t *mw_picture_find(const char *path, const char *view) {
	size_t length = strlen(path);
	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
		size_t ending = strlen(pictures[i].ending);
		if (length > ending && is_for(&pictures[i], view) &&
		    strcmp(path + length - ending, pictures[i].ending) == 0)
			return &pictures[i];
	}
	return NULL;
}

const mw_picture_t *mw_picture_of_format(const char *format, const char *view) {
	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++)
		if (is_for(&pictures[i], view) && strcmp(pictures[i].ending + 1, format) == 0)
			return &pictures[i];
	return NULL;
}

const char *mw_picture_view(const mw_picture_t *picture) {
	return picture != NULL ? picture->view : NULL;
}

bool mw_picture_is_json(const mw_picture_t *picture) {
	return picture != NULL && picture->is_json;
}

bool mw_picture_is_svg(const mw_picture_t *picture) {
	return picture != NULL && picture->graphviz == NULL && strcmp(picture->ending, ".svg") == 0;
}

bool mw_picture_is_profile(const mw_picture_t *picture) {
	return picture != NULL && picture->is_profile;
}

static int write_all(int fd, const char *text, size_t length) {
	while (length > 0) {
		ssize_t wrote = write(fd, text, length);
		if (wrote <= 0)
			return -1;
		text += wrote;
		length -= (size_t)wrote;
	}
	return lseek(fd, 0, SEEK_SET) == 0 ? 0 : -1;
}

/* Graphviz writes PostScript in Latin 1 only, and anything else byte by byte. */
static char *without_ellipses(const char *text, size_t *length) {
	static const char ellipsis[] = "\u2026";
	char *plain = mw_xcalloc(*length + 1, 1), *end = plain;
	for (size_t i = 0; i < *length; i++) {
		/* As long as the three dots. */
		bool is_one = strncmp(text + i, ellipsis, sizeof(ellipsis) - 1) == 0;
		end = is_one ? stpcpy(end, "...") : (*end = text[i], end + 1);
		i += is_one ? sizeof(ellipsis) - 2 : 0;
	}
	*length = (size_t)(end - plain);
	return plain;
}

/* Files in memory rather than pipes: nobody waits for anybody. */
static int run_dot(const char *option, int in, int out, mw_error_t *error) {
	extern char **environ;
	char program[] = "dot", argument[16];
	strncpy(argument, option, sizeof(argument) - 1);
	argument[sizeof(argument) - 1] = '\0';
	char *argv[] = {program, argument, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	pid_t pid;
	int failed = posix_spawnp(&pid, program, &actions, NULL, argv, environ), status = 0;
	posix_spawn_file_actions_destroy(&actions);
	if (failed != 0)
		return mw_error_set(error,
				    "dot: %s; install graphviz, or write a .dot or .html file",
				    strerror(failed));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return mw_error_set(
			error, "dot: it failed (status %d); write a .dot file to see why", status);
	return 0;
}

static int copy_out(int fd, const char *path, mw_error_t *error) {
	mw_output_t *output = mw_output_open(path, false, error);
	if (output == NULL)
		return -1;
	char buffer[65536]; /* a usual picture in a few pieces */
	ssize_t length;
	if (lseek(fd, 0, SEEK_SET) == 0)
		while ((length = read(fd, buffer, sizeof(buffer))) > 0)
			mw_output_write(output, buffer, (size_t)length);
	return mw_output_close(output, error);
}

static int draw(const mw_picture_t *picture, const char *path, const char *text, size_t length,
		mw_error_t *error) {
	int in = memfd_create("dot", MFD_CLOEXEC), out = memfd_create("picture", MFD_CLOEXEC);
	int result;
	if (in < 0 || out < 0 || write_all(in, text, length) != 0)
		result = mw_error_set(error, "%s: cannot draw: %s; write a .dot file instead", path,
				      strerror(errno));
	else
		result = run_dot(picture->graphviz, in, out, error);
	if (result == 0)
		result = copy_out(out, path, error);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return result;
}

int mw_picture_write(const mw_picture_t *picture, const char *path, const char *text, size_t length,
		     mw_error_t *error) {
	if (picture != NULL && picture->graphviz != NULL) {
		bool is_ps = strcmp(picture->ending, ".ps") == 0;
		char *plain = is_ps ? without_ellipses(text, &length) : NULL;
		int result = draw(picture, path, is_ps ? plain : text, length, error);
		free(plain);
		return result;
	}
	mw_output_t *output = mw_output_open(path, false, error);
	if (output == NULL)
		return -1;
	mw_output_write(output, text, length);
	return mw_output_close(output, error);
}
