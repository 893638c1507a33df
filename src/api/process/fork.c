/* SPDX-License-Identifier: MIT
 * fork.c -- replaces functions that fork or register fork handlers. The first call registers the
 * library's own handlers. Not at the start of every process: doc/adr/0014-startup-layout.md.
 * daemon(3) and forkpty(3) call libc's fork(2) and bypass fork() here. */
#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <stddef.h>
#include <unistd.h>

#include "api/process/next_calls.h"
#include "api/process/start.h"
#include "base/compiler.h"

typedef void handler_t(void);
typedef pid_t fork_t(void);
typedef int daemon_t(int keep_folder, int keep_files);
typedef int forkpty_t(int *terminal, char *name, const struct termios *modes,
		      const struct winsize *size);

/* Returns the next definition of the function after this library's; NULL, with errno set: there is
 * none. */
static MW_COLD void *next(mw_next_call_t which) {
	mw_api_need_fork_handlers();
	void *function = mw_next_call_now(which);
	if (!function)
		errno = ENOSYS;
	return function;
}

/* The functions that register fork handlers register mallow's before those of libraries. libc calls
 * prepare handlers in reverse order and the others in order, so the handlers of libraries find the
 * heap unlocked. */
#ifdef __GLIBC__
/* libc's function behind pthread_atfork(3), which is linked into each object that uses it. `object`
 * tells the library that the handlers belong to. mallow's belong to none. Else libc would remove
 * them during exit(3), and a fork of another thread that had called the first of them would never
 * call the second, which releases the locks. libmallow.so is never unloaded (-z nodelete). */
typedef int register_atfork_t(handler_t *prepare, handler_t *parent, handler_t *child,
			      void *object);

MW_EXPORT register_atfork_t __register_atfork; // NOLINT(bugprone-reserved-identifier)

static MW_COLD int register_next(handler_t *prepare, handler_t *parent, handler_t *child,
				 void *object) {
	register_atfork_t *function;
	*(void **)&function = mw_next_call_now(MW_NEXT_REGISTER_ATFORK);
	return function ? function(prepare, parent, child, object) : ENOMEM;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
MW_COLD int __register_atfork(handler_t *prepare, handler_t *parent, handler_t *child,
			      void *object) {
	mw_api_need_fork_handlers();
	return register_next(prepare, parent, child, object);
}
#else /* musl keeps all handlers until the process ends */
static MW_COLD int register_next(handler_t *prepare, handler_t *parent, handler_t *child,
				 void *object) {
	int (*function)(handler_t *, handler_t *, handler_t *);
	(void)object;
	*(void **)&function = mw_next_call_now(MW_NEXT_REGISTER_ATFORK);
	return function ? function(prepare, parent, child) : ENOMEM;
}

MW_EXPORT MW_COLD int pthread_atfork(handler_t *prepare, handler_t *parent, handler_t *child) {
	mw_api_need_fork_handlers();
	return register_next(prepare, parent, child, NULL);
}
#endif

MW_COLD bool mw_api_register_atfork(handler_t *prepare, handler_t *parent, handler_t *child) {
	return register_next(prepare, parent, child, NULL) == 0;
}

MW_EXPORT MW_COLD pid_t fork(void) {
	fork_t *function;
	*(void **)&function = next(MW_NEXT_FORK);
	return function ? function() : -1;
}

MW_EXPORT MW_COLD int daemon(int keep_folder, int keep_files) {
	daemon_t *function;
	*(void **)&function = next(MW_NEXT_DAEMON);
	return function ? function(keep_folder, keep_files) : -1;
}

MW_EXPORT MW_COLD int forkpty(int *terminal, char *name, const struct termios *modes,
			      const struct winsize *size) {
	forkpty_t *function;
	*(void **)&function = next(MW_NEXT_FORKPTY);
	return function ? function(terminal, name, modes, size) : -1;
}
