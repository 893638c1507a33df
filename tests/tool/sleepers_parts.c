/* SPDX-License-Identifier: MIT
 * sleepers_parts.c -- calls of sleepers.c that transfer a part of their bytes before they sleep. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sleepers.h"

/* More than a pipe or a socket holds; what is sent before a call that reads. */
enum { LARGE_BYTES = 1000000, PART_BYTES = 5000 };

/* More than a pipe or a socket holds: a part is transferred before the call sleeps. */
static struct iovec *many_bytes(int count) {
	static struct iovec parts[3];
	for (int i = 0; i < count; i++) {
		parts[i] = (struct iovec){calloc(1, LARGE_BYTES / (size_t)count),
					  LARGE_BYTES / (size_t)count};
		for (size_t at = 0; at < parts[i].iov_len; at++)
			((char *)parts[i].iov_base)[at] = (char)(at / 1000);
	}
	return parts;
}

bool write_large(void) {
	return system_call(SYS_write, pipe_ends[1], (long)many_bytes(1)->iov_base, LARGE_BYTES, 0,
			   0) == LARGE_BYTES &&
	       wait_forever();
}

bool writev_large(void) {
	return system_call(SYS_writev, pipe_ends[1], (long)many_bytes(2), 2, 0, 0) == LARGE_BYTES &&
	       wait_forever();
}

bool send_large(void) {
	return system_call(SYS_sendto, sockets[0], (long)many_bytes(1)->iov_base, LARGE_BYTES, 0,
			   0) == LARGE_BYTES &&
	       wait_forever();
}

bool sendmsg_large(void) {
	struct msghdr message = {.msg_iov = many_bytes(2), .msg_iovlen = 2};
	return system_call(SYS_sendmsg, sockets[0], (long)&message, 0, 0, 0) == LARGE_BYTES &&
	       wait_forever();
}

static bool are_many_bytes(const char *bytes) {
	for (size_t at = 0; at < LARGE_BYTES; at++)
		if (bytes[at] != (char)(at / 1000))
			return false;
	return true;
}

bool recv_large(void) {
	char *bytes = malloc(LARGE_BYTES);
	return system_call(SYS_recvfrom, sockets[0], (long)bytes, LARGE_BYTES, MSG_WAITALL, 0) ==
		       LARGE_BYTES &&
	       are_many_bytes(bytes);
}

bool recvmsg_large(void) {
	char *bytes = malloc(LARGE_BYTES);
	struct iovec parts[] = {{bytes, 100}, {bytes + 100, LARGE_BYTES - 100}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	return system_call(SYS_recvmsg, sockets[0], (long)&message, MSG_WAITALL, 0, 0) ==
		       LARGE_BYTES &&
	       are_many_bytes(bytes);
}

/* Reads what was written to the pipe or sent, and looks at each byte. */
static int take_all(int from, size_t part_bytes) {
	static char bytes[LARGE_BYTES];
	ssize_t got;
	size_t count = 0;
	close(pipe_ends[1]);
	close(sockets[0]);
	while (count < LARGE_BYTES && (got = read(from, bytes + count, LARGE_BYTES - count)) > 0)
		count += (size_t)got;
	for (size_t at = 0; at < count; at++)
		if (bytes[at] != (char)(at % part_bytes / 1000))
			return 1;
	return count != LARGE_BYTES;
}

int take_written(void) {
	return take_all(pipe_ends[0], LARGE_BYTES);
}

int take_halves(void) {
	return take_all(pipe_ends[0], LARGE_BYTES / 2);
}

int take_sent(void) {
	return take_all(sockets[1], LARGE_BYTES);
}

int take_sent_halves(void) {
	return take_all(sockets[1], LARGE_BYTES / 2);
}

int send_part(void) {
	return send(sockets[1], many_bytes(1)->iov_base, PART_BYTES, 0) != PART_BYTES;
}

int send_rest(void) {
	const char *bytes = many_bytes(1)->iov_base;
	return send(sockets[1], bytes + PART_BYTES, LARGE_BYTES - PART_BYTES, 0) !=
	       LARGE_BYTES - PART_BYTES;
}
