/* SPDX-License-Identifier: MIT
 * connections.h -- limits on connections: in time, in number, and by address.
 * Layer: http.  A client that sends its request slowly, or takes the answer slowly, is cut off
 * after a time that depends on what it does.  When all connections are taken, a new one takes the
 * place of another: of a client that did not show that it knows the page's secret, from the address
 * that has most of these connections, the one that is open for longest.  Clients without the secret
 * thus never lock out those who have it, although all users of a machine have the same address.
 *
 * Any thread may call these functions.  A connection is cut off by shutdown(2): its own thread
 * notices, and closes the descriptor after mw_connections_remove(). */
#ifndef MW_TOOL_HTTP_CONNECTIONS_H
#define MW_TOOL_HTTP_CONNECTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct mw_connections mw_connections_t;
typedef struct mw_connection mw_connection_t;

/* What a connection does, and how long it may take. */
typedef enum mw_connection_phase {
	MW_CONNECTION_OPENS,     /* until the first header is complete, with TLS's handshake */
	MW_CONNECTION_UPLOADS,   /* the body of a request */
	MW_CONNECTION_WORKS,     /* the server makes the answer: no limit */
	MW_CONNECTION_DOWNLOADS, /* the client takes the answer */
	MW_CONNECTION_WAITS,     /* for the next request, until its header is complete */
} mw_connection_phase_t;

/* Starts the thread that cuts off those that take too long.  NULL with errno. */
mw_connections_t *mw_connections_start(void);
/* Ends the thread.  All connections were removed before. */
void mw_connections_stop(mw_connections_t *connections);
/* Most connections, with those that are cut off and not yet closed. */
unsigned mw_connections_max(const mw_connections_t *connections);

/* Notes a new connection, and cuts off another if there are too many, for which it may wait half a
 * second.  NULL: the caller closes the new one.  One thread at a time. */
mw_connection_t *mw_connections_add(mw_connections_t *connections, int fd,
				    const struct sockaddr *peer);
/* The descriptor is about to be closed. */
void mw_connections_remove(mw_connections_t *connections, mw_connection_t *connection);
/* `bytes`: of the answer. */
void mw_connections_enter(mw_connections_t *connections, mw_connection_t *connection,
			  mw_connection_phase_t phase, uint64_t bytes);
/* The client has shown that it knows the secret. */
void mw_connections_trust(mw_connections_t *connections, mw_connection_t *connection);

#endif
