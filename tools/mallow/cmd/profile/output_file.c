/* SPDX-License-Identifier: MIT
 * output_file.c -- chooses an output by the file's name; graphviz draws graphs. */
#include "cmd/profile/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/file/output.h"
#include "model/memory.h"
#include "view/common/web_page.h"

struct mw_picture {
	const char *ending;
	const char *view;     /* view that writes this output; NULL = the requested view */
	const char *of;       /* only for this requested view; NULL = for any */
	const char *graphviz; /* graphviz's option; NULL = the view's text is written unchanged */
	bool is_json;
	bool is_profile;
};

/* The first matching row is used. */
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

bool mw_picture_is_drawn(const mw_picture_t *picture) {
	return picture != NULL && picture->graphviz != NULL;
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

/* Graphviz writes PostScript in Latin 1, so other characters would become several. */
static char *without_ellipses(const char *text, size_t *length) {
	static const char ellipsis[] = "\u2026";
	char *plain = mw_xcalloc(*length + 1, 1), *end = plain;
	for (size_t i = 0; i < *length; i++) {
		/* Three dots have the length of the ellipsis. */
		bool is_one = strncmp(text + i, ellipsis, sizeof(ellipsis) - 1) == 0;
		end = is_one ? stpcpy(end, "...") : (*end = text[i], end + 1);
		i += is_one ? sizeof(ellipsis) - 2 : 0;
	}
	*length = (size_t)(end - plain);
	return plain;
}

/* Runs graphviz with files in memory: with pipes, both programs could wait for each other. */
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
		return mw_error_set(
			error,
			"cannot run dot: %s; install graphviz, or write a .dot or .html file",
			strerror(failed));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return mw_error_set(error,
				    "dot failed with status %d; write a .dot file, and run dot on "
				    "it to see why",
				    status);
	return 0;
}

/* Adds the script that pans and zooms before "</svg>", the end of graphviz's output, and the
 * colours of a dark page: graphviz's, turned from light to dark with their hue kept. */
static void write_svg(mw_output_t *output, const char *svg, size_t length) {
	static const char end[] = "</svg>";
	const char *script, *found = NULL, *next = svg;
	while ((next = memmem(next, length - (size_t)(next - svg), end, strlen(end))) != NULL)
		found = next++;
	size_t head = found != NULL ? (size_t)(found - svg) : length;
	size_t script_length = mw_web_page_svg_script(&script);
	static const char begin_script[] =
		"<style>@media(prefers-color-scheme:dark){svg{background:#171717}"
		"svg>g{filter:invert(.91) hue-rotate(180deg)}}</style>\n<script><![CDATA[\n";
	static const char end_script[] = "]]></script>\n";
	mw_output_write(output, svg, head);
	mw_output_write(output, begin_script, strlen(begin_script));
	mw_output_write(output, script, script_length);
	mw_output_write(output, end_script, strlen(end_script));
	mw_output_write(output, svg + head, length - head);
}

static int copy_out(const mw_picture_t *picture, int fd, const char *path, mw_error_t *error) {
	mw_output_t *output = mw_output_open(path, false, error);
	if (output == NULL)
		return -1;
	char *text = NULL;
	size_t used = 0, capacity = 0;
	ssize_t length = lseek(fd, 0, SEEK_SET) == 0 ? 1 : 0;
	while (length > 0) {
		text = mw_grow(text, &capacity, used + 65536,
			       1); /* a usual picture in a few pieces */
		length = read(fd, text + used, 65536);
		used += length > 0 ? (size_t)length : 0;
	}
	if (used > 0 && strcmp(picture->ending, ".svg") == 0)
		write_svg(output, text, used);
	else if (used > 0)
		mw_output_write(output, text, used);
	free(text);
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
		result = copy_out(picture, out, path, error);
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
