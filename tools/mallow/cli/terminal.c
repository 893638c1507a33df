/* SPDX-License-Identifier: MIT
 * terminal.c -- terminal width and the progress line.  A timer draws the line, because code that
 * waits for a download or a worker process cannot draw it. */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "model/text.h"

/* file descriptor of the terminal while output is collected for a pager; else -1 */
static int terminal_fd = -1;

void mw_terminal_collect(int fd) {
	terminal_fd = fd;
}

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

/* Microseconds before the first progress line.  Shorter work needs no line. */
#define FIRST_US 500000
#define NEXT_US 200000

/* Two texts: the signal handler reads one while the program writes the other. */
static char texts[2][200];
static volatile sig_atomic_t current; /* index of the text that the handler reads */
static volatile sig_atomic_t is_drawn;
static bool is_running;

static void draw(int signal_number) {
	(void)signal_number;
	int saved_errno = errno;
	const char *text = texts[current];
	is_drawn = 1;
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		is_drawn = 0;
	errno = saved_errno;
}

static void set_timer(long first_us) {
	struct itimerval timer = {.it_value = {.tv_usec = first_us}};
	timer.it_interval.tv_usec = first_us > 0 ? NEXT_US : 0;
	setitimer(ITIMER_REAL, &timer, NULL);
}

void mw_progress(const char *format, ...) {
	if (!isatty(STDERR_FILENO))
		return;
	int next = !current;
	char line[120];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	mw_text_clean(line, "");
	int columns = mw_terminal_columns(stderr);
	/* The text is cut to the terminal's width, because a wrapped line could not be erased. */
	snprintf(texts[next], sizeof(texts[next]), "\r%.*s\033[K",
		 columns > 1 ? columns - 1 : (int)sizeof(line), line);
	current = next;
	if (is_running)
		return;
	struct sigaction action = {.sa_handler = draw, .sa_flags = SA_RESTART};
	sigemptyset(&action.sa_mask);
	is_running = true;
	sigaction(SIGALRM, &action, NULL);
	set_timer(FIRST_US);
}

void mw_progress_clear(void) {
	static const char clear[] = "\r\033[K";
	if (is_drawn && write(STDERR_FILENO, clear, sizeof(clear) - 1) > 0)
		is_drawn = 0;
}

void mw_progress_end(void) {
	if (!is_running)
		return;
	set_timer(0);
	is_running = false;
	signal(SIGALRM, SIG_DFL);
	mw_progress_clear();
}
