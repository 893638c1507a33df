/* SPDX-License-Identifier: MIT
 * sleepers.h -- what the files of the program sleepers share. */
#ifndef MW_TEST_SLEEPERS_H
#define MW_TEST_SLEEPERS_H

#include <stdbool.h>

extern int pipe_ends[2], sockets[2];

#if defined(__x86_64__)
/* A system call after which all registers but rax, rcx and r11 are as before; else the result is
 * EL2HLT, an error that no call has. Compilers rely on that. */
long system_call(long number, long a, long b, long c, long d, long e);
#else
#define system_call syscall
#endif
/* Waits for the child process. Returns whether it ended with 0. */
bool wait_forever(void);

/* Calls; each returns whether the result is right, and whether the child saw each byte. */
bool write_large(void);
bool writev_large(void);
bool send_large(void);
bool sendmsg_large(void);
bool recv_large(void);
bool recvmsg_large(void);

/* What ends them, in the child process: 0 = each byte was right. */
int take_written(void);
int take_halves(void);
int take_sent(void);
int take_sent_halves(void);
int send_rest(void);
/* Sends the part that is there before a call that reads begins. */
int send_part(void);

#endif
