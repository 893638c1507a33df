/* SPDX-License-Identifier: MIT
 * connections.c -- a table of connections, and a thread that looks at it once a second. */
#include "http/connections.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Connections that are not cut off, where descriptors suffice. */
#define OPEN_MAX_COUNT 256u
#define OPEN_LEAST_COUNT 8u
/* Descriptors of the server's own: kept answers, running commands and their files. */
#define OWN_DESCRIPTORS 192u
/* A header of 32 KiB, a body of 1 MiB and a handshake of TLS take seconds on slow networks. */
#define OPENS_SECONDS 20u
#define UPLOADS_SECONDS 30u
/* Browsers keep a connection for their next question. */
#define WAITS_SECONDS 60u
/* An answer takes this long on a network of 8 KiB/s. */
#define DOWNLOADS_SECONDS 30u
#define DOWNLOADS_BYTES_PER_SECOND 8192u
/* A connection is not evicted before: on a busy machine its thread may not have run yet.  New
 * ones wait so long in the kernel's queue. */
#define GRACE_NS 500000000u
/* A client whose machine or network has gone sends nothing: the kernel asks for it. */
#define ASK_AFTER_SECONDS 30
#define ASK_EACH_SECONDS 10
#define ASK_COUNT 3

struct mw_connection {
	bool is_used, is_cut, is_trusted;
	int fd;
	mw_connection_phase_t phase;
	uint64_t opened_ns;
	uint64_t ends_ns; /* end of the phase; 0: no limit */
	uint64_t number;  /* in the order of their arrival */
	uint64_t address; /* IPv4: the address; IPv6: its network, which one client has */
};

struct mw_connections {
	pthread_mutex_t lock;
	pthread_cond_t ends;
	pthread_t watcher;
	bool is_ending;
	unsigned open_count, open_max, item_count;
	uint64_t number;
	mw_connection_t *items;
};

static uint64_t now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void cut(mw_connections_t *connections, mw_connection_t *one) {
	shutdown(one->fd, SHUT_RDWR);
	one->is_cut = true;
	connections->open_count--;
}

/* ---- in time ---- */

static uint64_t seconds_of(mw_connection_phase_t phase, uint64_t bytes) {
	switch (phase) {
	case MW_CONNECTION_OPENS:
		return OPENS_SECONDS;
	case MW_CONNECTION_UPLOADS:
		return UPLOADS_SECONDS;
	case MW_CONNECTION_WAITS:
		return WAITS_SECONDS;
	case MW_CONNECTION_DOWNLOADS:
		return DOWNLOADS_SECONDS + bytes / DOWNLOADS_BYTES_PER_SECOND;
	case MW_CONNECTION_WORKS:
		break;
	}
	return 0;
}

static void enter(mw_connection_t *one, mw_connection_phase_t phase, uint64_t bytes) {
	uint64_t seconds = seconds_of(phase, bytes);
	one->phase = phase;
	one->ends_ns = seconds > 0 ? now_ns() + seconds * 1000000000u : 0;
}

static void *watch(void *context) {
	mw_connections_t *c = context;
	pthread_mutex_lock(&c->lock);
	while (!c->is_ending) {
		uint64_t now = now_ns();
		for (unsigned i = 0; i < c->item_count; i++) {
			mw_connection_t *one = &c->items[i];
			if (one->is_used && !one->is_cut && one->ends_ns != 0 && one->ends_ns < now)
				cut(c, one);
		}
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&c->ends, &c->lock, &until);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

mw_connections_t *mw_connections_start(void) {
	struct rlimit files;
	rlim_t most = OPEN_MAX_COUNT;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < OWN_DESCRIPTORS + 2 * OPEN_MAX_COUNT)
		most = files.rlim_cur > OWN_DESCRIPTORS ? (files.rlim_cur - OWN_DESCRIPTORS) / 2
							: 0;
	mw_connections_t *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->open_max = most > OPEN_LEAST_COUNT ? (unsigned)most : OPEN_LEAST_COUNT;
	c->item_count = 2 * c->open_max;
	c->items = calloc(c->item_count, sizeof(*c->items));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->ends, NULL);
	int failed = c->items != NULL ? pthread_create(&c->watcher, NULL, watch, c) : ENOMEM;
	if (failed == 0)
		return c;
	free(c->items);
	free(c);
	errno = failed;
	return NULL;
}

void mw_connections_stop(mw_connections_t *connections) {
	pthread_mutex_lock(&connections->lock);
	connections->is_ending = true;
	pthread_cond_signal(&connections->ends);
	pthread_mutex_unlock(&connections->lock);
	pthread_join(connections->watcher, NULL);
	pthread_cond_destroy(&connections->ends);
	pthread_mutex_destroy(&connections->lock);
	free(connections->items);
	free(connections);
}

unsigned mw_connections_max(const mw_connections_t *connections) {
	return connections->item_count;
}

/* ---- in number ---- */

static uint64_t address_of(const struct sockaddr *peer) {
	uint64_t network = 0;
	if (peer == NULL)
		return 0;
	if (peer->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr;
	if (peer->sa_family != AF_INET6)
		return 0;
	const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
	if (IN6_IS_ADDR_V4MAPPED(six))
		memcpy(&network, six->s6_addr + 12, 4);
	else
		memcpy(&network, six->s6_addr, sizeof(network));
	return network;
}

/* The order in which connections are evicted; 0: never, because the server works for it. */
static unsigned rank(const mw_connection_t *one) {
	if (!one->is_used || one->is_cut || one->phase == MW_CONNECTION_WORKS)
		return 0;
	unsigned downloads = one->phase == MW_CONNECTION_DOWNLOADS;
	return one->is_trusted ? 2 - downloads : 4 - downloads;
}

static unsigned count_alike(const mw_connections_t *c, const mw_connection_t *like) {
	unsigned count = 0;
	for (unsigned i = 0; i < c->item_count; i++)
		count += c->items[i].address == like->address && rank(&c->items[i]) == rank(like);
	return count;
}

static mw_connection_t *find_least(mw_connections_t *c) {
	mw_connection_t *least = NULL;
	unsigned least_alike = 0;
	for (unsigned i = 0; i < c->item_count; i++) {
		mw_connection_t *one = &c->items[i];
		if (rank(one) == 0 || (least != NULL && rank(one) < rank(least)))
			continue;
		unsigned alike = count_alike(c, one);
		bool is_less = least == NULL || rank(one) > rank(least) || alike > least_alike ||
			       (alike == least_alike && one->number < least->number);
		if (is_less) {
			least = one;
			least_alike = alike;
		}
	}
	return least;
}

/* With the lock, which is given up meanwhile.  Leaves room for one more, if a connection can make
 * way for it. */
static void make_room(mw_connections_t *c) {
	while (c->open_count >= c->open_max) {
		mw_connection_t *least = find_least(c);
		uint64_t age_ns = least != NULL ? now_ns() - least->opened_ns : GRACE_NS;
		if (age_ns >= GRACE_NS) {
			if (least != NULL)
				cut(c, least);
			return;
		}
		const struct timespec rest = {.tv_nsec = (long)(GRACE_NS - age_ns)};
		pthread_mutex_unlock(&c->lock);
		nanosleep(&rest, NULL);
		pthread_mutex_lock(&c->lock);
	}
}

static void ask_for_life(int fd) {
	const int one = 1, after = ASK_AFTER_SECONDS, each = ASK_EACH_SECONDS, count = ASK_COUNT;
	/* A connection without this is one that may last. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after, sizeof(after));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

mw_connection_t *mw_connections_add(mw_connections_t *connections, int fd,
				    const struct sockaddr *peer) {
	mw_connection_t *added = NULL;
	ask_for_life(fd);
	pthread_mutex_lock(&connections->lock);
	make_room(connections);
	for (unsigned i = 0; i < connections->item_count && added == NULL; i++)
		if (!connections->items[i].is_used &&
		    connections->open_count < connections->open_max)
			added = &connections->items[i];
	if (added != NULL) {
		*added = (mw_connection_t){.is_used = true,
					   .fd = fd,
					   .opened_ns = now_ns(),
					   .number = connections->number++,
					   .address = address_of(peer)};
		enter(added, MW_CONNECTION_OPENS, 0);
		connections->open_count++;
	}
	pthread_mutex_unlock(&connections->lock);
	return added;
}

void mw_connections_remove(mw_connections_t *connections, mw_connection_t *connection) {
	pthread_mutex_lock(&connections->lock);
	if (!connection->is_cut)
		connections->open_count--;
	connection->is_used = false;
	pthread_mutex_unlock(&connections->lock);
}

void mw_connections_enter(mw_connections_t *connections, mw_connection_t *connection,
			  mw_connection_phase_t phase, uint64_t bytes) {
	pthread_mutex_lock(&connections->lock);
	enter(connection, phase, bytes);
	pthread_mutex_unlock(&connections->lock);
}

void mw_connections_trust(mw_connections_t *connections, mw_connection_t *connection) {
	pthread_mutex_lock(&connections->lock);
	connection->is_trusted = true;
	pthread_mutex_unlock(&connections->lock);
}
