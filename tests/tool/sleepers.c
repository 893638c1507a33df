/* SPDX-License-Identifier: MIT
 * sleepers.c CALL [THREAD] -- sleeps in a system call while system_calls.sh has a tool check for
 * leaks, and checks that the call ends as if nothing had happened: with its own result, at its own
 * time, and with its registers.  With an argument THREAD a second thread sleeps, and the first
 * one waits for it.  Prints "ready" before, and what was wrong after; exits with 0 if all was well.
 * A call with a time limit begins when standard input has a byte, any other one ends then. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sleepers.h"

/* Time limit of the calls that have one.  The tool comes in the second half: a call that began anew
 * would last half as long again at least. */
enum { LIMIT_S = 60, LATE_S = 75 };

static void *volatile leaked;
static volatile sig_atomic_t signals;
int pipe_ends[2], sockets[2];
static int full_pipe[2], listener, file, other_file, watcher, set;
static int queue_id, sem_id;
static mqd_t queue;
static sem_t *semaphore;
static char path[] = "sleepers.XXXXXX";
static const struct timespec limit = {.tv_sec = LIMIT_S};

static void on_signal(int number) {
	(void)number;
	signals++;
}

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct timespec deadline(clockid_t clock) {
	struct timespec end;
	clock_gettime(clock, &end);
	end.tv_sec += LIMIT_S;
	return end;
}

static sigset_t user_signal(void) {
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	return one;
}

#if defined(__x86_64__)
/* As struct registers: rax, rdi, rsi, rdx, r10, r8, r9, rbx, rbp, r12 to r15. Loads them, enters
 * the kernel, and stores them. */
void enter_kernel(long registers[13]);
__asm__("enter_kernel:\n"
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %rdi\n"
	"movq 0(%rdi), %rax\n movq 16(%rdi), %rsi\n movq 24(%rdi), %rdx\n"
	"movq 32(%rdi), %r10\n movq 40(%rdi), %r8\n movq 48(%rdi), %r9\n"
	"movq 56(%rdi), %rbx\n movq 64(%rdi), %rbp\n movq 72(%rdi), %r12\n"
	"movq 80(%rdi), %r13\n movq 88(%rdi), %r14\n movq 96(%rdi), %r15\n"
	"movq 8(%rdi), %rdi\n"
	"syscall\n"
	"xchgq %rdi, 0(%rsp)\n"
	"movq %rax, 0(%rdi)\n movq %rsi, 16(%rdi)\n movq %rdx, 24(%rdi)\n"
	"movq %r10, 32(%rdi)\n movq %r8, 40(%rdi)\n movq %r9, 48(%rdi)\n"
	"movq %rbx, 56(%rdi)\n movq %rbp, 64(%rdi)\n movq %r12, 72(%rdi)\n"
	"movq %r13, 80(%rdi)\n movq %r14, 88(%rdi)\n movq %r15, 96(%rdi)\n"
	"popq 8(%rdi)\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
	"ret\n");

/* A system call after which all registers but rax, rcx and r11 are as before; else the result is
 * EL2HLT, an error that no call has. Compilers rely on that. */
long system_call(long number, long a, long b, long c, long d, long e) {
	long before[13] = {number, a, b, c, d, e}, after[13];
	for (long i = 6; i < 13; i++)
		before[i] = 0x11111111L * i;
	before[6] = 8; /* the bytes of a set of signals */
	memcpy(after, before, sizeof(after));
	enter_kernel(after);
	errno = memcmp(before + 1, after + 1, sizeof(before) - sizeof(*before)) == 0
			? (int)-after[0]
			: EL2HLT;
	return after[0] < 0 || errno == EL2HLT ? -1 : after[0];
}
#endif

/* ---- calls: each returns whether the result is right ---- */

static bool is_over(long result) {
	return result < 0 && (errno == EAGAIN || errno == ETIMEDOUT);
}

static bool nanosleep_s(void) {
	return nanosleep(&limit, NULL) == 0;
}

static bool clock_nanosleep_until(void) {
	struct timespec end = deadline(CLOCK_MONOTONIC);
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == 0;
}

static struct pollfd polled(void) {
	return (struct pollfd){.fd = pipe_ends[0], .events = POLLIN};
}

static bool poll_for(void) {
	struct pollfd one = polled();
	return poll(&one, 1, LIMIT_S * 1000) == 0;
}

static bool poll_forever(void) {
	struct pollfd one = polled();
	return poll(&one, 1, -1) == 1;
}

static bool ppoll_for(void) {
	struct pollfd one = polled();
	return ppoll(&one, 1, &limit, NULL) == 0;
}

static bool select_for(void) {
	struct timeval time = {.tv_sec = LIMIT_S};
	return select(0, NULL, NULL, NULL, &time) == 0;
}

static bool select_forever(void) {
	fd_set one;
	FD_ZERO(&one);
	FD_SET(pipe_ends[0], &one);
	return select(pipe_ends[0] + 1, &one, NULL, NULL, NULL) == 1;
}

static bool pselect_for(void) {
	sigset_t none;
	sigemptyset(&none);
	return pselect(0, NULL, NULL, NULL, &limit, &none) == 0;
}

static bool epoll_for(void) {
	struct epoll_event event;
	return system_call(SYS_epoll_wait, set, (long)&event, 1, LIMIT_S * 1000, 0) == 0;
}

static bool epoll_forever(void) {
	struct epoll_event event;
	return epoll_wait(set, &event, 1, -1) == 1;
}

static bool epoll_pwait2_for(void) {
	struct epoll_event event;
	return system_call(SYS_epoll_pwait2, set, (long)&event, 1, (long)&limit, 0) == 0;
}

static bool epoll_pwait_for(void) {
	sigset_t none;
	struct epoll_event event;
	sigemptyset(&none);
	return system_call(SYS_epoll_pwait, set, (long)&event, 1, LIMIT_S * 1000, (long)&none) == 0;
}

/* Ends by the signal, which the call alone lets through. */
static bool epoll_pwait_signal(void) {
	sigset_t none;
	struct epoll_event event;
	sigemptyset(&none);
	return epoll_pwait(set, &event, 1, -1, &none) < 0 && errno == EINTR && signals == 1;
}

static bool suspend_signal(void) {
	sigset_t none, now;
	sigemptyset(&none);
	bool is_right = sigsuspend(&none) < 0 && errno == EINTR && signals == 1;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return is_right && sigismember(&now, SIGUSR1) == 1;
}

static bool pause_signal(void) {
	sigset_t one = user_signal();
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	return pause() < 0 && errno == EINTR && signals == 1;
}

static bool sigwaitinfo_signal(void) {
	sigset_t one = user_signal();
	return sigwaitinfo(&one, NULL) == SIGUSR1;
}

static bool sigwait_signal(void) {
	sigset_t one = user_signal();
	int number = 0;
	return sigwait(&one, &number) == 0 && number == SIGUSR1;
}

static bool sigtimedwait_for(void) {
	sigset_t one = user_signal();
	return is_over(sigtimedwait(&one, NULL, &limit));
}

static bool rt_sigtimedwait_for(void) {
	sigset_t one = user_signal();
	return is_over(system_call(SYS_rt_sigtimedwait, (long)&one, 0, (long)&limit, 8, 0));
}

static bool futex_for(void) {
	static uint32_t word;
	return is_over(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0));
}

static bool sem_wait_forever(void) {
	return sem_wait(semaphore) == 0;
}

static bool sem_timedwait_for(void) {
	struct timespec end = deadline(CLOCK_REALTIME);
	return is_over(sem_timedwait(semaphore, &end));
}

static bool semop_forever(void) {
	struct sembuf take = {.sem_op = -1};
	return semop(sem_id, &take, 1) == 0;
}

static bool semtimedop_for(void) {
	struct sembuf take = {.sem_op = -1};
	return is_over(system_call(SYS_semtimedop, sem_id, (long)&take, 1, (long)&limit, 0));
}

struct message {
	long type;
	char text[8];
};

static bool msgrcv_forever(void) {
	struct message message;
	return msgrcv(queue_id, &message, sizeof(message.text), 1, 0) == 1;
}

static bool mq_receive_forever(void) {
	char text[8];
	return mq_receive(queue, text, sizeof(text), NULL) == 1;
}

static bool read_forever(void) {
	char byte = 0;
	return read(pipe_ends[0], &byte, 1) == 1 && byte == 'x';
}

/* A signal that is blocked, and read. */
static bool read_signalfd(void) {
	struct signalfd_siginfo info;
	sigset_t one = user_signal();
	int signal_file = signalfd(-1, &one, 0);
	return read(signal_file, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR1;
}

static bool read_timerfd_for(void) {
	uint64_t count = 0;
	const struct itimerspec once = {.it_value = limit};
	int timer_file = timerfd_create(CLOCK_MONOTONIC, 0);
	return timerfd_settime(timer_file, 0, &once, NULL) == 0 &&
	       read(timer_file, &count, sizeof(count)) == sizeof(count) && count == 1;
}

/* Nothing fits any more, so no part of the byte is written. */
static bool write_full_pipe(void) {
	return write(full_pipe[1], "x", 1) == 1;
}

bool wait_forever(void) {
	int status = 1;
	return wait4(-1, &status, 0, NULL) > 0 && status == 0;
}

static bool recv_for(void) {
	char byte;
	return is_over(recv(sockets[0], &byte, 1, 0));
}

static bool recv_forever(void) {
	char byte;
	return recv(sockets[0], &byte, 1, 0) == 1;
}

static bool accept_forever(void) {
	return accept(listener, NULL, NULL) >= 0;
}

static bool inotify_forever(void) {
	char events[1024];
	return read(watcher, events, sizeof(events)) > 0;
}

static bool flock_forever(void) {
	return flock(file, LOCK_EX) == 0;
}

static bool fcntl_forever(void) {
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(file, F_OFD_SETLKW, &whole) == 0;
}

static bool io_getevents_for(void) {
	aio_context_t context = 0;
	struct io_event event;
	return syscall(SYS_io_setup, 1, &context) == 0 &&
	       system_call(SYS_io_getevents, (long)context, 1, 1, (long)&event, (long)&limit) == 0;
}

static bool io_pgetevents_for(void) {
	aio_context_t context = 0;
	struct io_event event;
	struct {
		const sigset_t *signals;
		size_t bytes;
	} no_signals = {NULL, 0};
	return syscall(SYS_io_setup, 1, &context) == 0 &&
	       syscall(SYS_io_pgetevents, context, 1, 1, &event, &limit, &no_signals) == 0;
}

#if defined(__x86_64__)
/* Fills the registers that a system call keeps, reads a byte, and compares them. */
static bool registers(void) {
	static uint64_t before[6][2], after[6][2], general[6];
	for (unsigned i = 0; i < 6; i++)
		before[i][0] = before[i][1] = UINT64_C(0x1122334455667788) * (i + 1);
	char byte = 0;
	long result;
	__asm__ volatile("movdqu 0(%[from]), %%xmm0\n movdqu 16(%[from]), %%xmm5\n"
			 "movdqu 32(%[from]), %%xmm8\n movdqu 48(%[from]), %%xmm15\n"
			 "movq $0x1111, %%r8\n movq $0x2222, %%r9\n movq $0x3333, %%r10\n"
			 "movq $0x4444, %%r12\n movq $0x5555, %%r14\n movq $0x6666, %%rbx\n"
			 "std\n movl $0, %%eax\n syscall\n cld\n"
			 "movdqu %%xmm0, 0(%[to])\n movdqu %%xmm5, 16(%[to])\n"
			 "movdqu %%xmm8, 32(%[to])\n movdqu %%xmm15, 48(%[to])\n"
			 "movq %%r8, 0(%[general])\n movq %%r9, 8(%[general])\n"
			 "movq %%r10, 16(%[general])\n movq %%r12, 24(%[general])\n"
			 "movq %%r14, 32(%[general])\n movq %%rbx, 40(%[general])\n"
			 : "=&a"(result)
			 : "D"((long)pipe_ends[0]), "S"(&byte),
			   "d"(1), [from] "r"(before), [to] "r"(after), [general] "r"(general)
			 : "rcx", "r8", "r9", "r10", "r11", "r12", "r14", "rbx", "xmm0", "xmm5",
			   "xmm8", "xmm15", "memory");
	for (unsigned i = 0; i < 6; i++)
		if (general[i] != 0x1111 * (i + 1) || (i < 4 && after[i][0] != before[i][0]) ||
		    (i < 4 && after[i][1] != before[i][1]))
			return false;
	return result == 1 && byte == 'x';
}
#endif

/* ---- what ends them ---- */

static int write_pipe(void) {
	return write(pipe_ends[1], "x", 1) == 1 ? 0 : 1;
}

static int send_signal(void) {
	return kill(getppid(), SIGUSR1);
}

static int post(void) {
	return sem_post(semaphore);
}

static int raise_sem(void) {
	struct sembuf give = {.sem_op = 1};
	return semop(sem_id, &give, 1);
}

static int send_message(void) {
	const struct message message = {1, "x"};
	return msgsnd(queue_id, &message, 1, 0);
}

static int send_queue(void) {
	return mq_send(queue, "x", 1, 0);
}

static int send_socket(void) {
	return send(sockets[1], "x", 1, 0) == 1 ? 0 : 1;
}

static int connect_socket(void) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t bytes = sizeof(address);
	return getsockname(listener, (struct sockaddr *)&address, &bytes) ||
	       connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, bytes);
}

static int write_file(void) {
	return write(file, "x", 1) == 1 ? 0 : 1;
}

static int drain_pipe(void) {
	static char bytes[65536];
	return read(full_pipe[0], bytes, sizeof(bytes)) > 0 ? 0 : 1;
}

static int unlock(void) {
	return flock(other_file, LOCK_UN);
}

static int unlock_whole(void) {
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	return fcntl(other_file, F_OFD_SETLK, &whole);
}

static int nothing(void) {
	return 0;
}

static const struct call {
	const char *name;
	bool (*sleep)(void);
	int (*end)(void);   /* in a child process; NULL: the call has a time limit */
	bool may_be_longer; /* its time limit is not an argument */
	bool has_part;      /* a part of what it waits for is sent before */
} calls[] = {
	{"nanosleep", nanosleep_s, NULL},
	{"clock_nanosleep-until", clock_nanosleep_until, NULL},
	{"poll-for", poll_for, NULL},
	{"poll", poll_forever, write_pipe},
	{"ppoll-for", ppoll_for, NULL},
	{"select-for", select_for, NULL},
	{"select", select_forever, write_pipe},
	{"pselect-for", pselect_for, NULL},
	{"epoll_wait-for", epoll_for, NULL},
	{"epoll_wait", epoll_forever, write_pipe},
	{"epoll_pwait2-for", epoll_pwait2_for, NULL},
	{"epoll_pwait-for", epoll_pwait_for, NULL},
	{"epoll_pwait", epoll_pwait_signal, send_signal},
	{"sigsuspend", suspend_signal, send_signal},
	{"pause", pause_signal, send_signal},
	{"sigwaitinfo", sigwaitinfo_signal, send_signal},
	{"sigwait", sigwait_signal, send_signal},
	{"sigtimedwait-for", sigtimedwait_for, NULL},
	{"rt_sigtimedwait-for", rt_sigtimedwait_for, NULL},
	{"futex-for", futex_for, NULL},
	{"sem_wait", sem_wait_forever, post},
	{"sem_timedwait-for", sem_timedwait_for, NULL},
	{"semop", semop_forever, raise_sem},
	{"semtimedop-for", semtimedop_for, NULL},
	{"msgrcv", msgrcv_forever, send_message},
	{"mq_receive", mq_receive_forever, send_queue},
	{"read", read_forever, write_pipe},
	{"read-signalfd", read_signalfd, send_signal},
	{"read-timerfd-for", read_timerfd_for, NULL},
	{"write-pipe", write_full_pipe, drain_pipe},
	{"write-part", write_large, take_written},
	{"writev-part", writev_large, take_halves},
	{"send-part", send_large, take_sent},
	{"sendmsg-part", sendmsg_large, take_sent_halves},
	{"recv-part", recv_large, send_rest, .has_part = true},
	{"recvmsg-part", recvmsg_large, send_rest, .has_part = true},
	{"recv-for", recv_for, NULL, true},
	{"recv", recv_forever, send_socket},
	{"accept", accept_forever, connect_socket},
	{"read-inotify", inotify_forever, write_file},
	{"flock", flock_forever, unlock},
	{"fcntl", fcntl_forever, unlock_whole},
	{"io_getevents-for", io_getevents_for, NULL},
	{"io_pgetevents-for", io_pgetevents_for, NULL},
	{"wait4", wait_forever, nothing},
#if defined(__x86_64__)
	{"registers", registers, write_pipe},
#endif
};

/* Leaves no room in a pipe. */
static bool fill(void) {
	if (pipe(full_pipe) != 0 || fcntl(full_pipe[1], F_SETFL, O_NONBLOCK) != 0)
		return false;
	while (write(full_pipe[1], "x", 1) == 1)
		continue;
	return fcntl(full_pipe[1], F_SETFL, 0) == 0;
}

static bool prepare(void) {
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct timeval time = {.tv_sec = LIMIT_S};
	char name[32];
	snprintf(name, sizeof(name), "/sleepers.%d", getpid());
	semaphore = mmap(NULL, sizeof(*semaphore), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_id = semget(IPC_PRIVATE, 1, 0600);
	queue_id = msgget(IPC_PRIVATE, 0600);
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
	mq_unlink(name);
	file = mkstemp(path);
	other_file = open(path, O_RDWR);
	watcher = inotify_init1(0);
	set = epoll_create1(0);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	return fill() && semaphore != MAP_FAILED && sem_init(semaphore, 1, 0) == 0 && sem_id >= 0 &&
	       queue_id >= 0 && queue >= 0 && file >= 0 && other_file >= 0 &&
	       inotify_add_watch(watcher, path, IN_MODIFY) >= 0 && unlink(path) == 0 &&
	       flock(other_file, LOCK_EX) == 0 && fcntl(other_file, F_OFD_SETLK, &whole) == 0 &&
	       pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 &&
	       setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0 &&
	       bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0 &&
	       listen(listener, 1) == 0 && epoll_ctl(set, EPOLL_CTL_ADD, pipe_ends[0], &event) == 0;
}

static void *sleep_in(void *argument) {
	const struct call *call = argument;
	char byte;
	if (call->end == NULL && read(0, &byte, 1) != 1)
		return argument;
	double begin = seconds();
	bool is_right = call->sleep();
	int error = errno;
	double past = seconds() - begin;
	if (!is_right)
		printf("%s: wrong result; errno: %s\n", call->name, strerror(error));
	else if (call->end == NULL &&
		 (past < LIMIT_S - 0.01 || (past > LATE_S && !call->may_be_longer)))
		printf("%s: lasted %.2f s\n", call->name, past);
	else
		return NULL;
	return argument;
}

/* The child waits for standard input, and ends the call. */
static bool start_child(const struct call *call) {
	char byte;
	pid_t child = call->end != NULL ? fork() : 1;
	if (child == 0)
		_exit(read(0, &byte, 1) == 1 ? call->end() : 1);
	return child > 0;
}

int main(int argc, char **argv) {
	const struct call *call = calls, *last = calls + sizeof(calls) / sizeof(calls[0]) - 1;
	if (argc == 1) {
		for (; call <= last; call++)
			puts(call->name);
		return 0;
	}
	while (call < last && strcmp(call->name, argv[1]) != 0)
		call++;
	sigset_t one = user_signal();
	signal(SIGUSR1, on_signal);
	if (pthread_sigmask(SIG_BLOCK, &one, NULL) != 0 || !prepare() || !start_child(call)) {
		printf("%s: cannot be prepared: %s\n", call->name, strerror(errno));
		return 2;
	}
	if (strcmp(call->name, "recv-for") != 0)
		setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0},
			   sizeof(struct timeval));
	if (call->has_part && send_part() != 0)
		return 2;
	for (int i = 0; i < 100; i++)
		leaked = memset(malloc(1000), 'x', 1000);
	leaked = NULL;
	pthread_t thread;
	void *wrong;
	if (argc > 2 && pthread_create(&thread, NULL, sleep_in, (void *)call) != 0)
		return 2;
	if (write(1, "ready\n", 6) != 6)
		return 2;
	if (argc > 2)
		pthread_join(thread, &wrong);
	else
		wrong = sleep_in((void *)call);
	semctl(sem_id, 0, IPC_RMID);
	msgctl(queue_id, IPC_RMID, NULL);
	return wrong != NULL;
}
