/* SPDX-License-Identifier: MIT
 * store_proxy.h -- a server on this machine that passes requests on to another one, and cuts the
 * connection at a request that the test chooses; or that gives a canned answer itself. */
#ifndef MW_TEST_STORE_PROXY_H
#define MW_TEST_STORE_PROXY_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

enum { PROXY_REQUEST_MAX = 1 << 20 };

typedef enum proxy_cut {
	PROXY_BEFORE,  /* the server does not see the request */
	PROXY_WITHIN,  /* it sees the first bytes of it */
	PROXY_BEHIND,  /* it sees the whole request, and cannot answer */
	PROXY_ANSWER,  /* it has done its work, and its answer is lost */
	PROXY_RESTART, /* as PROXY_BEHIND, and the server is killed and started again */
	PROXY_CUTS,
} proxy_cut_t;

typedef struct proxy {
	int listener;
	int port, server_port; /* server_port 0: canned answers */
	/* Under the lock of the test: it sets them while no request is on its way. */
	int requests; /* so far */
	int cut_at;   /* number of the request, from 1; 0 = none */
	proxy_cut_t cut;
	size_t within_bytes;
	const char *restart; /* command that kills the server and starts it again */
	const char *answer;  /* a whole HTTP answer */
	size_t answer_length;
	pthread_t thread;
} proxy_t;

static inline int proxy_connect(int port) {
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline bool proxy_write(int fd, const char *bytes, size_t length) {
	while (length > 0) {
		ssize_t wrote = send(fd, bytes, length, MSG_NOSIGNAL);
		if (wrote <= 0)
			return false;
		bytes += wrote;
		length -= (size_t)wrote;
	}
	return true;
}

/* Passes the client's bytes on.  False: the connection ends. */
static inline bool proxy_request(proxy_t *p, int server, const char *bytes, size_t length,
				 bool begins, size_t *passed) {
	if (begins) {
		__atomic_fetch_add(&p->requests, 1, __ATOMIC_SEQ_CST);
		*passed = 0;
	}
	bool is_cut = p->cut_at != 0 && p->requests == p->cut_at;
	if (!is_cut || p->cut >= PROXY_BEHIND)
		return proxy_write(server, bytes, length);
	if (p->cut == PROXY_BEFORE)
		return false;
	size_t rest = p->within_bytes > *passed ? p->within_bytes - *passed : 0;
	*passed += length;
	proxy_write(server, bytes, rest < length ? rest : length);
	return rest > length;
}

/* The end of a request that is to be cut: its bytes have been written when none come for a while,
 * since the client waits for an answer. */
static inline bool proxy_is_due(const proxy_t *p) {
	return p->cut_at != 0 && p->requests == p->cut_at &&
	       (p->cut == PROXY_BEHIND || p->cut == PROXY_RESTART);
}

static inline void proxy_pass(proxy_t *p, int client, int server) {
	char bytes[65536];
	bool begins = true;
	size_t passed = 0;
	struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
	while (poll(fds, 2, proxy_is_due(p) && !begins ? 2 : -1) >= 0) {
		if (fds[0].revents == 0 && fds[1].revents == 0)
			break;
		int from = fds[0].revents != 0 ? client : server;
		ssize_t length = recv(from, bytes, sizeof(bytes), 0);
		if (length <= 0)
			break;
		if (from == client) {
			if (!proxy_request(p, server, bytes, (size_t)length, begins, &passed))
				break;
			begins = false;
			continue;
		}
		bool is_cut = p->cut_at != 0 && p->requests == p->cut_at;
		if (is_cut || !proxy_write(client, bytes, (size_t)length))
			break;
		begins = true;
	}
	/* Another connection of the client's ends, too, when the server is killed. */
	if (!begins && proxy_is_due(p) && p->cut == PROXY_RESTART)
		CHECK(system(p->restart) == 0);
}

/* Reads a request to its end, as far as Content-Length says, and gives the canned answer. */
static inline void proxy_answer(proxy_t *p, int client) {
	char *bytes = malloc(PROXY_REQUEST_MAX);
	size_t have = 0;
	for (;;) {
		ssize_t length = recv(client, bytes + have, PROXY_REQUEST_MAX - 1 - have, 0);
		if (length <= 0) {
			free(bytes);
			return;
		}
		have += (size_t)length;
		bytes[have] = '\0';
		const char *end = strstr(bytes, "\r\n\r\n"),
			   *body = strstr(bytes, "Content-Length:");
		if (end != NULL &&
		    have - (size_t)(end + 4 - bytes) >= (body ? strtoul(body + 15, NULL, 10) : 0))
			break;
	}
	free(bytes);
	__atomic_fetch_add(&p->requests, 1, __ATOMIC_SEQ_CST);
	proxy_write(client, p->answer, p->answer_length);
}

typedef struct proxy_connection {
	proxy_t *proxy;
	int client;
} proxy_connection_t;

static inline void *proxy_serve(void *context) {
	proxy_connection_t *c = context;
	int server = c->proxy->server_port != 0 ? proxy_connect(c->proxy->server_port) : -1;
	if (server >= 0)
		proxy_pass(c->proxy, c->client, server);
	else if (c->proxy->server_port == 0)
		proxy_answer(c->proxy, c->client);
	if (server >= 0)
		close(server);
	close(c->client);
	free(c);
	return NULL;
}

/* A client keeps a connection open while it uses another: each has its own thread. */
static inline void *proxy_main(void *context) {
	proxy_t *p = context;
	for (;;) {
		pthread_t thread;
		proxy_connection_t *c = malloc(sizeof(*c));
		*c = (proxy_connection_t){p, accept(p->listener, NULL, NULL)};
		if (c->client < 0) {
			free(c);
			return NULL;
		}
		CHECK(pthread_create(&thread, NULL, proxy_serve, c) == 0);
		pthread_detach(thread);
	}
}

static inline void proxy_start(proxy_t *p) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(p->listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listen(p->listener, 16) == 0);
	CHECK(getsockname(p->listener, (struct sockaddr *)&at, &length) == 0);
	p->port = ntohs(at.sin_port);
	CHECK(pthread_create(&p->thread, NULL, proxy_main, p) == 0);
}

static inline void proxy_stop(proxy_t *p) {
	shutdown(p->listener, SHUT_RDWR);
	CHECK(pthread_join(p->thread, NULL) == 0);
	close(p->listener);
}

#endif
