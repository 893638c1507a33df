/* SPDX-License-Identifier: MIT
 * interrupted_call.h -- how a thread goes on that a tracer (ptrace(2)) has stopped in a system
 * call. Layer: base. x86-64. The library and the command use it. Header only, async-signal-safe.
 *
 * A stop interrupts a call that sleeps. The kernel then repeats most calls by itself, and they end
 * when they would have: RAX holds one of the MW_RESTART results until the thread runs on. Other
 * calls (epoll_wait(2), semop(2), ...; signal(7), "by stop signals") return EINTR. These are
 * repeated, with what remains of a time limit that is one of the call's arguments
 * (os/process/repeated_call.h). */
#ifndef MW_OS_INTERRUPTED_CALL_H
#define MW_OS_INTERRUPTED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/user.h>

typedef struct user_regs_struct mw_traced_registers_t;

/* Negated results by which the kernel tells itself how to end an interrupted call. */
enum {
	MW_RESTART = 512,            /* repeat, unless a handler without SA_RESTART runs */
	MW_RESTART_ALWAYS = 513,     /* repeat */
	MW_RESTART_NO_HANDLER = 514, /* repeat, unless a handler runs */
	MW_RESTART_BLOCK = 516,      /* restart_syscall(2), unless a handler runs */
};

/* The instruction that enters the kernel. */
#define MW_SYSCALL_CODE_BYTES 2u

static inline bool mw_call_is(const mw_traced_registers_t *r, long number) {
	return r->orig_rax == (unsigned long long)number;
}

/* Returns whether the thread is in a call that a stop can make return EINTR, and that does nothing
 * before it returns EINTR. Others are not repeated: close(2) has closed the descriptor. */
static inline bool mw_call_is_repeatable(const mw_traced_registers_t *r) {
	static const uint16_t numbers[] = {
		SYS_epoll_wait,    SYS_epoll_pwait,    SYS_epoll_pwait2,    SYS_semop,
		SYS_semtimedop,    SYS_msgrcv,         SYS_msgsnd,          SYS_rt_sigtimedwait,
		SYS_rt_sigsuspend, SYS_pause,          SYS_io_getevents,    SYS_io_pgetevents,
		SYS_read,          SYS_readv,          SYS_recvfrom,        SYS_recvmsg,
		SYS_recvmmsg,      SYS_write,          SYS_writev,          SYS_sendto,
		SYS_sendmsg,       SYS_sendmmsg,       SYS_accept,          SYS_accept4,
		SYS_connect,       SYS_poll,           SYS_ppoll,           SYS_select,
		SYS_pselect6,      SYS_nanosleep,      SYS_clock_nanosleep, SYS_futex,
		SYS_futex_waitv,   SYS_io_uring_enter, SYS_mq_timedreceive, SYS_mq_timedsend,
		SYS_wait4,         SYS_waitid,         SYS_flock,           SYS_fcntl,
	};
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (mw_call_is(r, numbers[i]))
			return true;
	return false;
}

/* Returns the MW_RESTART result of a call that the stop has interrupted; 0: the thread is in none.
 * A call that returns EINTR gets MW_RESTART_NO_HANDLER: it returns EINTR if a handler runs. */
static inline int mw_call_interrupted(const mw_traced_registers_t *r) {
	long result = -(long)r->rax;
	if ((long)r->orig_rax < 0)
		return 0;
	if (result == MW_RESTART || result == MW_RESTART_ALWAYS ||
	    result == MW_RESTART_NO_HANDLER || result == MW_RESTART_BLOCK)
		return (int)result;
	return result == EINTR && mw_call_is_repeatable(r) ? MW_RESTART_NO_HANDLER : 0;
}

/* A call that returns EINTR after a stop, and has a time limit from its beginning on. */
typedef struct mw_timed_call {
	uint16_t number;
	uint8_t argument; /* that holds the limit: 0 to 5 */
	bool is_ms;       /* the limit in milliseconds, or below 0; else a pointer to a timespec */
} mw_timed_call_t;

/* Returns NULL if the call is none of these. */
static inline const mw_timed_call_t *mw_timed_call(uint64_t number) {
	static const mw_timed_call_t calls[] = {
		{SYS_epoll_wait, 3, true},       {SYS_epoll_pwait, 3, true},
		{SYS_epoll_pwait2, 3, false},    {SYS_semtimedop, 3, false},
		{SYS_rt_sigtimedwait, 2, false}, {SYS_io_getevents, 4, false},
		{SYS_io_pgetevents, 4, false},
	};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

#endif

#endif
