/* SPDX-License-Identifier: MIT
 * test_apart.c -- work apart from the command that fails, dies, or does not end. */
#include "live/files/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* For the limit that is not to pass, and for the one that is. */
enum { LONG_MS = 60000, SHORT_MS = 100 };

/* Written by the work. */
static volatile pid_t *worker;

static mw_apart_outcome_t succeed(const void *context, mw_error_t *error) {
	(void)error;
	*worker = getpid();
	return *(const int *)context == 7 ? MW_APART_DONE : MW_APART_REFUSED;
}

static mw_apart_outcome_t give_reason(const void *context, mw_error_t *error) {
	(void)context;
	mw_error_set(error, "the reason");
	return MW_APART_FAILED;
}

static mw_apart_outcome_t die(const void *context, mw_error_t *error) {
	(void)context;
	(void)error;
	return raise(SIGKILL) == 0 ? MW_APART_DONE : MW_APART_REFUSED;
}

static mw_apart_outcome_t sleep_on(const void *context, mw_error_t *error) {
	(void)context;
	(void)error;
	*worker = getpid();
	while (*worker != 0)
		pause();
	return MW_APART_DONE;
}

static void work_ends(void) {
	int seven = 7;
	mw_error_t why = {""};
	CHECK_EQ(mw_apart_do(succeed, &seven, LONG_MS, &why), MW_APART_DONE);
	CHECK(*worker != getpid());
	CHECK_EQ(mw_apart_do(give_reason, NULL, LONG_MS, &why), MW_APART_FAILED);
	CHECK(strcmp(why.text, "the reason") == 0);
	CHECK_EQ(mw_apart_do(die, NULL, LONG_MS, &why), MW_APART_FAILED);
	CHECK(strstr(why.text, "has ended"));
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void work_ends_in_a_thread(void) {
	int seven = 7;
	mw_error_t why = {""};
	CHECK_EQ(mw_apart_do_in_thread(succeed, &seven, sizeof(seven), LONG_MS, &why),
		 MW_APART_DONE);
	CHECK_EQ(*worker, getpid());
	CHECK_EQ(mw_apart_do_in_thread(give_reason, &seven, 0, LONG_MS, &why), MW_APART_FAILED);
	CHECK(strcmp(why.text, "the reason") == 0);
}

static void endless_work_is_killed(void) {
	CHECK_EQ(mw_apart_do(sleep_on, NULL, SHORT_MS, NULL), MW_APART_LATE);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	CHECK(*worker == 0 || (kill(*worker, 0) != 0 && errno == ESRCH));
}

static void endless_work_in_a_thread_is_left(void) {
	int seven = 7;
	CHECK_EQ(mw_apart_do_in_thread(sleep_on, &seven, sizeof(seven), SHORT_MS, NULL),
		 MW_APART_LATE);
	CHECK_EQ(mw_apart_do_in_thread(succeed, &seven, sizeof(seven), LONG_MS, NULL),
		 MW_APART_DONE);
}

int main(void) {
	worker = mmap(NULL, sizeof(*worker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(worker != MAP_FAILED);
	RUN(work_ends);
	RUN(work_ends_in_a_thread);
	RUN(endless_work_is_killed);
	RUN(endless_work_in_a_thread_is_left);
	return 0;
}
