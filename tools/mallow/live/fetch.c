/* SPDX-License-Identifier: MIT
 * fetch.c -- downloads over HTTP, into memory. */
#include "live/fetch.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/client.h"
#include "model/memory.h"
#include "model/monotonic.h"

/* Largest answer that is accepted.  Profiles are smaller. */
#define ANSWER_MAX ((size_t)1 << 30)
#define SYMBOLS_MAX ((size_t)64 << 20)
#define TIMEOUT_SECONDS 60.0
#define REDIRECTS_MAX 5u
#define HTTP_FINE 200

#define HEAP_PLACE "/debug/pprof/heap"

static mw_fetch_options_t chosen = {.timeout_seconds = TIMEOUT_SECONDS};

/* End of the time for the profile that is fetched and for its symbols: a server that answers each
 * request late does not get the time anew. 0: none is fetched. */
static uint64_t ends_ns;

void mw_fetch_configure(const mw_fetch_options_t *options) {
	chosen = *options;
	if (chosen.timeout_seconds <= 0)
		chosen.timeout_seconds = TIMEOUT_SECONDS;
}

static bool begins_with(const char *text, const char *start) {
	return strncmp(text, start, strlen(start)) == 0;
}

static bool has_scheme(const char *text) {
	return begins_with(text, "http://") || begins_with(text, "https://") ||
	       begins_with(text, MW_HTTPS_INSECURE);
}

/* True for "host:port", perhaps with a path. */
static bool is_host_and_port(const char *text) {
	size_t host =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
	if (host == 0 || text[host] != ':')
		return false;
	size_t port = strspn(text + host + 1, "0123456789");
	char end = text[host + 1 + port];
	return port > 0 && port <= 5 && (end == '\0' || end == '/');
}

bool mw_is_url(const char *text) {
	return has_scheme(text) || (is_host_and_port(text) && access(text, F_OK) != 0);
}

char *mw_fetch_url(const char *text) {
	size_t size = strlen(text) + 128;
	char *url = mw_xcalloc(size, 1);
	int used = snprintf(url, size, "%s%s", has_scheme(text) ? "" : "http://", text);
	char *path = strchr(strstr(url, "://") + 3, '/');
	if (path == NULL || strcmp(path, "/") == 0)
		used = snprintf(path != NULL ? path : url + used, size - (size_t)used, HEAP_PLACE) +
		       (int)(path != NULL ? path - url : used);
	if (chosen.seconds > 0)
		snprintf(url + used, size - (size_t)used, "%cseconds=%u",
			 strchr(url, '?') != NULL ? '&' : '?', chosen.seconds);
	return url;
}

static double limit_seconds(void) {
	return chosen.seconds + chosen.timeout_seconds;
}

static double rest_seconds(void) {
	uint64_t now_ns = mw_monotonic_ns();
	return ends_ns > now_ns ? (double)(ends_ns - now_ns) / 1e9 : 0;
}

/* Sends a request.  Returns the HTTP status, or -1. */
static long ask(const char *url, const char *post, int fd, size_t length_max, mw_error_t *error) {
	static mw_client_t *client;
	const mw_client_request_t request = {
		.url = url,
		.body = post,
		.body_bytes = post != NULL ? strlen(post) : 0,
		.tls = {chosen.authority, chosen.certificate, chosen.key},
		.timeout_seconds = rest_seconds(),
		.limit_seconds = limit_seconds(),
		.redirects_max = REDIRECTS_MAX,
		.answer_bytes_max = length_max,
		.answer_fd = fd,
	};
	mw_client_answer_t answer;
	mw_error_t why;
	if (client == NULL)
		client = mw_client_open("cannot fetch URLs", &why);
	if (client == NULL)
		return mw_error_set(error, "%s, or fetch the profile with curl -o FILE", why.text);
	mw_client_result_t result = mw_client_send(client, &request, &answer, error);
	long status = result == MW_CLIENT_ANSWERED ? answer.status : -1;
	mw_client_answer_release(&answer);
	return status;
}

/* As ask(), but writes the answer into a memfd.  Returns -1 for any status except 200; *status
 * is then the status. */
static int fetch(const char *url, const char *post, size_t length_max, int *out_fd, long *status,
		 mw_error_t *error) {
	int fd = memfd_create("mallow-answer", MFD_CLOEXEC);
	*status = 0;
	if (fd < 0)
		return mw_error_set(error, "%s: cannot fetch: %s", url, strerror(errno));
	*status = ask(url, post, fd, length_max, error);
	if (*status == HTTP_FINE) {
		*out_fd = fd;
		return 0;
	}
	close(fd);
	if (*status >= 0)
		mw_error_set(error,
			     "%s: the server answered with status %ld; profiles are at "
			     "/debug/pprof/heap or /pprof/heap",
			     url, *status);
	return -1;
}

/* Returns the URL with the path of gperftools' servers, or NULL if the user gave a path. */
static char *other_place(const char *url) {
	const char *path = strstr(url, HEAP_PLACE);
	if (path == NULL || path != strchr(strstr(url, "://") + 3, '/'))
		return NULL;
	char *other = mw_xstrdup(url);
	size_t at = (size_t)(path - url);
	snprintf(other + at, strlen(other) - at + 1, "/pprof/heap%s", path + strlen(HEAP_PLACE));
	return other;
}

int mw_fetch(const char *url, int *out_fd, mw_error_t *error) {
	long status;
	ends_ns = mw_monotonic_ns() + (uint64_t)(limit_seconds() * 1e9);
	if (fetch(url, NULL, ANSWER_MAX, out_fd, &status, error) == 0)
		return 0;
	char *other = status == 404 ? other_place(url) : NULL;
	int result = -1;
	if (other != NULL)
		result = fetch(other, NULL, ANSWER_MAX, out_fd, &status, error);
	free(other);
	return result;
}

/* Returns "0x401136+0x401150" for the locations without a name; NULL: all have names. */
static char *list_addresses(const mw_profile_t *p) {
	char *list = mw_xcalloc(p->location_count, 24);
	size_t used = 0;
	for (size_t i = 1; i < p->location_count; i++)
		if (p->locations[i].line_count == 0)
			used += (size_t)sprintf(list + used, "%s0x%llx", used > 0 ? "+" : "",
						(unsigned long long)p->locations[i].address);
	if (used > 0)
		return list;
	free(list);
	return NULL;
}

typedef struct known {
	uint64_t address;
	const char *name;
} known_t;

static int compare_known(const void *a, const void *b) {
	const known_t *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Parses lines "0x401136 parse_request".  Other lines, such as "num_symbols: 1", are skipped. */
static known_t *parse_symbols(char *text, size_t *count) {
	known_t *known = NULL;
	size_t capacity = 0;
	char *rest;
	*count = 0;
	for (char *line = strtok_r(text, "\r\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		char *end;
		if (strncmp(line, "0x", 2) != 0)
			continue;
		uint64_t address = strtoull(line, &end, 16);
		char *name = end + strspn(end, " \t");
		if (name == end || *name == '\0' || strncmp(name, "0x", 2) == 0)
			continue;
		known = mw_grow(known, &capacity, *count + 1, sizeof(*known));
		known[(*count)++] = (known_t){address, name};
	}
	if (*count > 1)
		qsort(known, *count, sizeof(*known), compare_known);
	return known;
}

static void name_locations(mw_profile_t *p, const known_t *known, size_t count) {
	for (uint32_t i = 1; i < p->location_count && count > 0; i++) {
		mw_location_t *location = &p->locations[i];
		known_t wanted = {.address = location->address};
		if (location->line_count > 0)
			continue;
		const known_t *found =
			bsearch(&wanted, known, count, sizeof(*known), compare_known);
		if (found == NULL)
			continue;
		mw_function_t function = {.name = mw_profile_intern(p, found->name),
					  .system_name = mw_profile_intern(p, found->name)};
		mw_line_t line = {.function = mw_profile_add_function(p, &function)};
		mw_profile_set_lines(p, i, &line, 1);
		p->mappings[location->mapping].has_functions = true;
	}
}

/* Returns the URL of the symbol service, beside the profile's: .../pprof/symbol. */
static char *symbol_url(const char *url) {
	char *place = mw_xcalloc(strlen(url) + sizeof("/symbol"), 1);
	size_t length = strcspn(url, "?");
	memcpy(place, url, length);
	char *slash = strrchr(strstr(place, "://") + 3, '/');
	strcpy(slash != NULL ? slash : place + length, "/symbol");
	return place;
}

int mw_fetch_symbols(const char *url, mw_profile_t *p, mw_error_t *error) {
	char *addresses = list_addresses(p);
	if (addresses == NULL)
		return 0;
	char *place = symbol_url(url);
	long status;
	int fd;
	int result = fetch(place, addresses, SYMBOLS_MAX, &fd, &status, error);
	if (result == 0) {
		struct stat info;
		char *text = mw_xcalloc(fstat(fd, &info) == 0 ? (size_t)info.st_size + 1 : 1, 1);
		ssize_t got = pread(fd, text, (size_t)info.st_size, 0);
		text[got > 0 ? got : 0] = '\0';
		size_t count;
		known_t *known = parse_symbols(text, &count);
		name_locations(p, known, count);
		free(known);
		free(text);
		close(fd);
	} else if (status == 404) {
		result = 0; /* some servers have no symbol service, so this is no error */
	}
	free(place);
	free(addresses);
	return result;
}
