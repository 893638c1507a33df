/* SPDX-License-Identifier: MIT
 * progress.c -- one line on standard error, drawn by a timer: what is waited for need not come by.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/terminal.h"

/* Work of less than the first is done before anybody could read of it. */
#define FIRST_US 500000
#define NEXT_US 200000

/* The handler sees one of them while the other is written. */
static char texts[2][200];
static volatile sig_atomic_t current; /* which; read by the handler */
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
	int columns = mw_terminal_columns(stderr);
	/* A line that wraps could not be taken back. */
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
