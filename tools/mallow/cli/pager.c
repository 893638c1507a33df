/* SPDX-License-Identifier: MIT
 * pager.c -- collects standard output in memory and shows it in a pager. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "report/text/style.h"

/* file descriptor of the terminal while output is collected; else -1 */
static int terminal_fd = -1;

static bool is_dumb(void) {
	const char *term = getenv("TERM");
	return term == NULL || *term == '\0' || strcmp(term, "dumb") == 0;
}

static bool wants_colors(const char *when) {
	const char *refused = getenv("NO_COLOR");
	if (when != NULL && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return mw_stdout_is_terminal() && !is_dumb() && (refused == NULL || *refused == '\0');
}

/* Returns the pager's command; NULL = no pager. */
static const char *pager(void) {
	const char *const names[] = {getenv("MALLOW_PAGER"), getenv("PAGER"), "less"};
	size_t i = 0;
	while (names[i] == NULL)
		i++;
	return *names[i] == '\0' || strcmp(names[i], "cat") == 0 ? NULL : names[i];
}

void mw_pager_begin(const mw_arguments_t *arguments) {
	mw_style_allow(wants_colors(arguments->options.color.text));
	if (terminal_fd >= 0 || !isatty(STDOUT_FILENO) || is_dumb() || pager() == NULL ||
	    arguments->options.no_pager.given)
		return;
	int text_fd = memfd_create("mallow-page", MFD_CLOEXEC);
	int saved_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	fflush(stdout);
	if (text_fd >= 0 && saved_fd >= 0 && dup2(text_fd, STDOUT_FILENO) >= 0)
		mw_terminal_collect(terminal_fd = saved_fd);
	else if (saved_fd >= 0)
		close(saved_fd);
	if (text_fd >= 0)
		close(text_fd);
}

/* Counts the rows of a terminal that the text takes, up to `most`.  Escape sequences take no
 * column.  Of a UTF-8 character only the first byte takes a column. */
static size_t count_rows(const char *text, size_t length, size_t columns, size_t most) {
	size_t rows = 0, column = 0;
	for (size_t i = 0; i < length && rows <= most; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\033')
			while (i + 1 < length && text[i] != 'm')
				i++;
		else if (c == '\n')
			rows += 1 + (column > 0 ? (column - 1) / columns : 0), column = 0;
		else
			column += (c & 0xc0) != 0x80;
	}
	return rows;
}

static bool fits(int text_fd) {
	struct winsize size;
	struct stat info;
	if (ioctl(terminal_fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0 ||
	    fstat(text_fd, &info) != 0 || info.st_size == 0)
		return true;
	size_t length = (size_t)info.st_size;
	char *text = mmap(NULL, length, PROT_READ, MAP_SHARED, text_fd, 0);
	if (text == MAP_FAILED)
		return true;
	/* One row stays free for the shell's prompt. */
	size_t rows = count_rows(text, length, size.ws_col, size.ws_row);
	munmap(text, length);
	return rows < size.ws_row;
}

/* Runs the pager with the collected text as its standard input.  The text is a file, so nothing
 * has to be piped.  False: the pager could not be run. */
static bool run_pager(int text_fd) {
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	pid_t pid = fork();
	if (pid == 0) {
		/* Options of less(1) that git also sets: quit if the text fits, show colours,
		 * keep the screen. */
		setenv("LESS", "FRX", 0);
		if (lseek(text_fd, 0, SEEK_SET) == 0 && dup2(text_fd, STDIN_FILENO) >= 0 &&
		    dup2(terminal_fd, STDOUT_FILENO) >= 0)
			execl("/bin/sh", "sh", "-c", pager(), (char *)NULL);
		_exit(127);
	}
	/* The pager handles Ctrl-C. */
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
}

/* Copies the text to the terminal with write(2).  Errors of the terminal are ignored, as nothing
 * could show them. */
static void copy_text(int text_fd) {
	char buffer[65536];
	ssize_t got;
	off_t at = 0;
	while ((got = pread(text_fd, buffer, sizeof(buffer), at)) > 0) {
		ssize_t wrote = write(STDOUT_FILENO, buffer, (size_t)got);
		if (wrote <= 0 && errno != EINTR)
			return;
		at += wrote > 0 ? wrote : 0;
	}
}

void mw_pager_end(void) {
	mw_progress_end();
	if (terminal_fd < 0)
		return;
	fflush(stdout);
	int text_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	dup2(terminal_fd, STDOUT_FILENO);
	if (text_fd >= 0 && (fits(text_fd) || !run_pager(text_fd)))
		copy_text(text_fd);
	close(text_fd);
	close(terminal_fd);
	mw_terminal_collect(terminal_fd = -1);
}
