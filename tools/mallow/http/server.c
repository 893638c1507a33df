/* SPDX-License-Identifier: MIT
 * server.c -- libmicrohttpd behind a small interface. */
#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/connections.h"
#include "libraries/microhttpd.h"
#include "model/memory.h"

#define ADDRESS_BYTES 128
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct mw_http_server {
	struct MHD_Daemon *daemon;
	mw_connections_t *connections;
	mw_http_config_t config;
	bool is_local;      /* listens on loopback */
	bool is_restricted; /* may not listen elsewhere unguarded */
	unsigned port;
	char url[MW_HTTP_ORIGIN_BYTES];
};

/* The body of a POST, as it comes. */
typedef struct upload {
	char *bytes;
	size_t length;
	bool is_too_long;
} upload_t;

const char *mw_http_query(const mw_http_request_t *request, const char *key) {
	return mw_microhttpd.lookup_connection_value(request->query, MHD_GET_ARGUMENT_KIND, key);
}

typedef struct header_search {
	const char *name;
	mw_http_value_check_t *is_wanted;
	void *context;
	bool is_found;
} header_search_t;

static enum MHD_Result look_at_header(void *context, enum MHD_ValueKind kind, const char *name,
				      const char *value) {
	header_search_t *search = context;
	(void)kind;
	search->is_found = value != NULL && strcasecmp(name, search->name) == 0 &&
			   search->is_wanted(search->context, value);
	return search->is_found ? MHD_NO : MHD_YES;
}

bool mw_http_any_header(const mw_http_request_t *request, const char *name,
			mw_http_value_check_t *is_wanted, void *context) {
	header_search_t search = {.name = name, .is_wanted = is_wanted, .context = context};
	mw_microhttpd.get_connection_values(request->query, MHD_HEADER_KIND, look_at_header,
					    &search);
	return search.is_found;
}

void mw_http_say(mw_http_answer_t *answer, unsigned status, const char *type, const char *text) {
	*answer = (mw_http_answer_t){.status = status,
				     .type = type,
				     .fd = -1,
				     .text = mw_xstrdup(text),
				     .text_bytes = strlen(text)};
}

static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   const mw_http_answer_t *answer) {
	struct MHD_Response *response = NULL;
	struct stat info;
	if (answer->fd >= 0 && fstat(answer->fd, &info) == 0)
		response = mw_microhttpd.create_response_from_fd((size_t)info.st_size, answer->fd);
	else if (answer->text != NULL)
		response = mw_microhttpd.create_response_from_buffer(
			answer->text_bytes, answer->text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		return MHD_NO;
	mw_microhttpd.add_response_header(response, "Content-Type", answer->type);
	mw_microhttpd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	mw_microhttpd.add_response_header(response, "Cache-Control", "no-store");
	mw_microhttpd.add_response_header(response, "Referrer-Policy", "no-referrer");
	/* What follows a request that is not understood is not looked at. */
	if (answer->status == 400)
		mw_microhttpd.add_response_header(response, "Connection", "close");
	if (answer->status == 503)
		mw_microhttpd.add_response_header(response, "Retry-After", "5");
	if (answer->status == 401)
		mw_microhttpd.add_response_header(response, "WWW-Authenticate",
						  "Basic realm=\"mallow\"");
	if (answer->policy != NULL)
		mw_microhttpd.add_response_header(response, "Content-Security-Policy",
						  answer->policy);
	if (answer->cookie[0] != '\0')
		mw_microhttpd.add_response_header(response, "Set-Cookie", answer->cookie);
	if (answer->file_name[0] != '\0') {
		char value[sizeof(answer->file_name) + 32];
		snprintf(value, sizeof(value), "attachment; filename=\"%s\"", answer->file_name);
		mw_microhttpd.add_response_header(response, "Content-Disposition", value);
	}
	enum MHD_Result result = mw_microhttpd.queue_response(connection, answer->status, response);
	mw_microhttpd.destroy_response(response);
	return result;
}

static bool starts(const char *host, const char *name) {
	size_t length = strlen(name);
	return strncmp(host, name, length) == 0 && (host[length] == ':' || host[length] == '\0');
}

/* A page of another site that resolves its own name to this machine sends that name. */
static bool is_host_known(const mw_http_server_t *server, struct MHD_Connection *connection) {
	const char *host =
		mw_microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	return !server->is_local || host == NULL || starts(host, "localhost") ||
	       starts(host, "127.0.0.1") || starts(host, "[::1]") ||
	       mw_http_access_is_host(server->config.access, host);
}

bool mw_http_is_own_origin(const mw_http_request_t *request) {
	const char *origin =
		mw_microhttpd.lookup_connection_value(request->query, MHD_HEADER_KIND, "Origin");
	const char *host =
		mw_microhttpd.lookup_connection_value(request->query, MHD_HEADER_KIND, "Host");
	const mw_http_access_t *access = request->server->config.access;
	const char *scheme = access->certificate != NULL ? "https://" : "http://";
	if (origin != NULL && access->origin[0] != '\0' && strcmp(origin, access->origin) == 0)
		return true;
	return origin != NULL && host != NULL && strncmp(origin, scheme, strlen(scheme)) == 0 &&
	       strcmp(origin + strlen(scheme), host) == 0;
}

bool mw_http_is_admitted(const mw_http_request_t *request) {
	const mw_http_access_t *access = request->server->config.access;
	char *sent = NULL;
	if (access->password[0] == '\0')
		return true;
	char *user = mw_microhttpd.basic_auth_get_username_password(request->query, &sent);
	bool is_good = mw_http_access_is_password(access, sent);
	mw_microhttpd.free(user);
	mw_microhttpd.free(sent);
	return is_good;
}

/* ---- connections ---- */

static mw_connection_t *connection_of(struct MHD_Connection *connection) {
	const union MHD_ConnectionInfo *info =
		mw_microhttpd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info != NULL ? info->socket_context : NULL;
}

static int socket_of(struct MHD_Connection *connection) {
	const union MHD_ConnectionInfo *info =
		mw_microhttpd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info != NULL ? info->connect_fd : -1;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code) {
	const mw_http_server_t *server = context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *peer = mw_microhttpd.get_connection_info(
			connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
		int fd = socket_of(connection);
		*state = mw_connections_add(server->connections, fd,
					    peer != NULL ? peer->client_addr : NULL);
		if (*state == NULL)
			shutdown(fd, SHUT_RDWR);
	} else if (*state != NULL) {
		mw_connections_remove(server->connections, *state);
	}
}

static void enter(const mw_http_server_t *server, struct MHD_Connection *connection,
		  mw_connection_phase_t phase, uint64_t bytes) {
	mw_connection_t *entry = connection_of(connection);
	if (entry != NULL)
		mw_connections_enter(server->connections, entry, phase, bytes);
}

void mw_http_trust(const mw_http_request_t *request) {
	mw_connection_t *entry = connection_of(request->query);
	if (entry != NULL)
		mw_connections_trust(request->server->connections, entry);
}

/* ---- requests ---- */

static void take_upload(upload_t *upload, const char *bytes, size_t length) {
	if (upload->length + length > MW_HTTP_BODY_BYTES) {
		upload->is_too_long = true;
		return;
	}
	char *larger = realloc(upload->bytes, upload->length + length + 1);
	if (larger == NULL) {
		upload->is_too_long = true;
		return;
	}
	memcpy(larger + upload->length, bytes, length);
	upload->bytes = larger;
	upload->length += length;
	larger[upload->length] = '\0';
}

static bool count(void *context, const char *value) {
	(void)value;
	++*(unsigned *)context;
	return false;
}

static unsigned count_headers(const mw_http_request_t *request, const char *name) {
	unsigned headers = 0;
	mw_http_any_header(request, name, count, &headers);
	return headers;
}

/* Whether a proxy and this server may disagree about where the request ends, or about who sent it:
 * behind the proxy, the rest of one client's request would begin another's. */
static bool is_ambiguous(const mw_http_request_t *request) {
	unsigned lengths = count_headers(request, "Content-Length"),
		 codings = count_headers(request, "Transfer-Encoding");
	return lengths + codings > 1 || count_headers(request, "Host") > 1 ||
	       count_headers(request, "Origin") > 1;
}

static void answer_request(const mw_http_server_t *server, struct MHD_Connection *connection,
			   const char *path, const char *method, const upload_t *upload,
			   mw_http_answer_t *answer) {
	const mw_http_request_t request = {
		.method = method,
		.path = path,
		.body = upload->bytes != NULL ? upload->bytes : "",
		.body_bytes = upload->length,
		.query = connection,
		.client = socket_of(connection),
		.server = server,
	};
	if (is_ambiguous(&request))
		mw_http_say(answer, 400, "text/plain", "a header is there twice\n");
	else if (!is_host_known(server, connection))
		mw_http_say(answer, 403, "text/plain", "unknown host\n");
	else if (upload->is_too_long)
		mw_http_say(answer, 413, "text/plain", "the request has more than 1 MiB\n");
	else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
		 strcmp(method, "POST") != 0)
		mw_http_say(answer, 405, "text/plain", "allowed: GET, HEAD, POST\n");
	else
		server->config.handler(&request, server->config.context, answer);
}

static uint64_t bytes_of(const mw_http_answer_t *answer) {
	struct stat info;
	if (answer->fd < 0)
		return answer->text_bytes;
	return fstat(answer->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* libmicrohttpd calls this function once with the header, then with each piece of the body, then
 * once more. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *path, const char *method, const char *version,
				  const char *bytes, size_t *length, void **state) {
	(void)version;
	upload_t *upload = *state;
	mw_http_answer_t answer = {.fd = -1};
	if (upload == NULL) {
		enter(context, connection, MW_CONNECTION_UPLOADS, 0);
		*state = calloc(1, sizeof(*upload));
		return *state != NULL ? MHD_YES : MHD_NO;
	}
	if (*length > 0) {
		take_upload(upload, bytes, *length);
		*length = 0;
		return MHD_YES;
	}
	enter(context, connection, MW_CONNECTION_WORKS, 0);
	answer_request(context, connection, path, method, upload, &answer);
	enter(context, connection, MW_CONNECTION_DOWNLOADS, bytes_of(&answer));
	return send_answer(connection, &answer);
}

static void on_end(void *context, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode code) {
	(void)code;
	upload_t *upload = *state;
	enter(context, connection, MW_CONNECTION_WAITS, 0);
	if (upload != NULL)
		free(upload->bytes);
	free(upload);
	*state = NULL;
}

/* ---- the address ---- */

/* getaddrinfo() takes numbers that are too large. */
static bool is_port(const char *text) {
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && number <= UINT16_MAX;
}

/* Splits "HOST:PORT"; a host of IPv6 is in brackets. */
static int split(const char *address, char host[ADDRESS_BYTES], const char **port,
		 mw_error_t *error) {
	const char *colon = strrchr(address, ':');
	size_t length = colon != NULL ? (size_t)(colon - address) : 0;
	if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (colon == NULL || !is_port(colon + 1) || length == 0 || length >= ADDRESS_BYTES)
		return mw_error_set(error, "--listen does not take '%s'; allowed: HOST:PORT",
				    address);
	memcpy(host, address, length);
	host[length] = '\0';
	*port = colon + 1;
	return 0;
}

static bool is_loopback(const struct sockaddr *address) {
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)
				     ->sin_addr.s_addr) >>
			       24 ==
		       127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(
		       &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Returns a listening socket. */
static int open_socket(const struct addrinfo *info, const char *address, mw_error_t *error) {
	int one = 1;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	mw_error_set(error, "%s: cannot listen: %s", address, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void name_url(mw_http_server_t *server, int fd) {
	struct sockaddr_storage bound = {0};
	socklen_t length = sizeof(bound);
	char host[ADDRESS_BYTES] = "", port[16] = "";
	getsockname(fd, (struct sockaddr *)&bound, &length);
	getnameinfo((struct sockaddr *)&bound, length, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	server->port = (unsigned)strtoul(port, NULL, 10);
	bool is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
	if (is_any && gethostname(host, sizeof(host) - 1) != 0)
		snprintf(host, sizeof(host), "localhost");
	snprintf(server->url, sizeof(server->url),
		 bound.ss_family == AF_INET6 && !is_any ? "%s://[%s]:%s" : "%s://%s:%s",
		 server->config.access->certificate != NULL ? "https" : "http", host, port);
	if (server->config.access->base_url[0] != '\0')
		snprintf(server->url, sizeof(server->url), "%s", server->config.access->base_url);
}

static int listen_on(mw_http_server_t *server, const char *address, mw_error_t *error) {
	const struct addrinfo hints = {.ai_flags = AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char host[ADDRESS_BYTES];
	const char *port = "";
	if (split(address, host, &port, error) != 0)
		return -1;
	int failed = getaddrinfo(host, port, &hints, &found);
	if (failed != 0)
		return mw_error_set(error, "%s: %s", address, gai_strerror(failed));
	int fd = open_socket(found, address, error);
	server->is_local = is_loopback(found->ai_addr);
	freeaddrinfo(found);
	if (fd >= 0 && server->is_restricted && !server->is_local &&
	    !mw_http_access_is_guarded(server->config.access)) {
		close(fd);
		return mw_error_set(error,
				    "%s: beyond loopback allowed: --tls-cert and --password-file, "
				    "or --base-url of a proxy that has both",
				    address);
	}
	if (fd >= 0)
		name_url(server, fd);
	return fd;
}

static void start_daemon(mw_http_server_t *server, int fd) {
	const mw_http_access_t *access = server->config.access;
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, access->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, access->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
		{MHD_OPTION_END, 0, NULL}};
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	bool has_tls = access->certificate != NULL;
	server->daemon = mw_microhttpd.start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
			(has_tls ? MHD_USE_TLS : 0u),
		0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, server, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, server, MHD_OPTION_CONNECTION_LIMIT,
		mw_connections_max(server->connections), MHD_OPTION_ARRAY, has_tls ? tls : none,
		MHD_OPTION_END);
}

mw_http_server_t *mw_http_start(const mw_http_config_t *config, mw_error_t *error) {
	if (mw_microhttpd_load(error) != 0)
		return NULL;
	mw_http_server_t *server = mw_xcalloc(1, sizeof(*server));
	static const mw_http_access_t open_access = {0};
	*server = (mw_http_server_t){.config = *config, .is_restricted = config->access != NULL};
	if (config->access == NULL)
		server->config.access = &open_access;
	int fd = listen_on(server, config->address, error);
	if (fd >= 0) {
		server->connections = mw_connections_start();
		if (server->connections != NULL)
			start_daemon(server, fd);
		if (server->daemon != NULL)
			return server;
		if (server->connections != NULL)
			mw_connections_stop(server->connections);
		mw_error_set(error,
			     config->access != NULL && config->access->certificate != NULL
				     ? "%s: the server does not start; is the certificate of "
				       "--tls-cert and its key in PEM format?"
				     : "%s: the server does not start",
			     config->address);
		close(fd);
	}
	free(server);
	return NULL;
}

const char *mw_http_url(const mw_http_server_t *server) {
	return server->url;
}

unsigned mw_http_port(const mw_http_server_t *server) {
	return server->port;
}

void mw_http_stop(mw_http_server_t *server) {
	mw_microhttpd.stop_daemon(server->daemon);
	mw_connections_stop(server->connections);
	free(server);
}
