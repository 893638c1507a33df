/* SPDX-License-Identifier: MIT
 * terminal.c -- how wide, how colourful, and how much at a time. */
#include "cmd/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/style.h"

/* While text is collected: the terminal; else -1. */
static int terminal_fd = -1;

int mw_terminal_columns(FILE *out) {
	struct winsize size;
	int fd = fileno(out);
	if (fd == STDOUT_FILENO && terminal_fd >= 0)
		fd = terminal_fd;
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

bool mw_stdout_is_terminal(void) {
	return terminal_fd >= 0 || isatty(STDOUT_FILENO);
}

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

/* NULL: none. */
static const char *pager(void) {
	const char *const names[] = {getenv("MALLOW_PAGER"), getenv("PAGER"), "less"};
	size_t i = 0;
	while (names[i] == NULL)
		i++;
	return *names[i] == '\0' || strcmp(names[i], "cat") == 0 ? NULL : names[i];
}

void mw_terminal_page(const mw_arguments_t *arguments) {
	mw_style_allow(wants_colors(mw_argument(arguments, "color")->text));
	if (terminal_fd >= 0 || !isatty(STDOUT_FILENO) || is_dumb() || pager() == NULL ||
	    mw_argument(arguments, "no-pager")->given)
		return;
	int text_fd = memfd_create("mallow-page", MFD_CLOEXEC);
	int saved_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	fflush(stdout);
	if (text_fd >= 0 && saved_fd >= 0 && dup2(text_fd, STDOUT_FILENO) >= 0)
		terminal_fd = saved_fd;
	else if (saved_fd >= 0)
		close(saved_fd);
	if (text_fd >= 0)
		close(text_fd);
}

/* Rows of a terminal that the text takes, up to `most`.  Escape sequences take no column, and of
 * UTF-8 only what begins a character. */
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
	/* A line is left for the prompt. */
	size_t rows = count_rows(text, length, size.ws_col, size.ws_row);
	munmap(text, length);
	return rows < size.ws_row;
}

/* The text is standard input, a file: the pager need not be fed.  False: it could not be run. */
static bool run_pager(int text_fd) {
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	pid_t pid = fork();
	if (pid == 0) {
		/* As git does: quit if it fits, colours, no second screen. */
		setenv("LESS", "FRX", 0);
		if (lseek(text_fd, 0, SEEK_SET) == 0 && dup2(text_fd, STDIN_FILENO) >= 0 &&
		    dup2(terminal_fd, STDOUT_FILENO) >= 0)
			execl("/bin/sh", "sh", "-c", pager(), (char *)NULL);
		_exit(127);
	}
	/* ^C is the pager's. */
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	int status = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
}

/* Behind the stream's back: errors of the terminal itself are nobody's. */
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

void mw_terminal_end(void) {
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
	terminal_fd = -1;
}
