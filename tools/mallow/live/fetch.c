/* SPDX-License-Identifier: MIT
 * fetch.c -- downloads over HTTP with libcurl, into memory. */
#include "live/fetch.h"

#include <ctype.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"
#include "model/monotonic.h"

/* Largest answer that is accepted.  Profiles are smaller. */
#define ANSWER_MAX ((size_t)1 << 30)
#define SYMBOLS_MAX ((size_t)64 << 20)
#define CONNECT_SECONDS 10L
#define TIMEOUT_SECONDS 60.0
#define REDIRECTS_MAX 5L
#define HTTP_FINE 200

#define HEAP_PLACE "/debug/pprof/heap"

/* Scheme of pprof for a server whose certificate is not checked. */
#define INSECURE "https+insecure://"

static mw_fetch_options_t chosen = {.timeout_seconds = TIMEOUT_SECONDS};

/* End of the time for the profile that is fetched and for its symbols: a server that answers each
 * request late does not get the time anew. 0: none is fetched. */
static uint64_t ends_ns;

void mw_fetch_configure(const mw_fetch_options_t *options) {
	chosen = *options;
	if (chosen.timeout_seconds <= 0)
		chosen.timeout_seconds = TIMEOUT_SECONDS;
	if (chosen.authority == NULL)
		chosen.authority = getenv("SSL_CERT_FILE");
}

static bool begins_with(const char *text, const char *start) {
	return strncmp(text, start, strlen(start)) == 0;
}

static bool has_scheme(const char *text) {
	return begins_with(text, "http://") || begins_with(text, "https://") ||
	       begins_with(text, INSECURE);
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

/* Functions of libcurl, which is loaded once. */
static struct {
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
	const char *(*text_of)(CURLcode code);
	void (*cleanup)(CURL *handle);
} curl;

static int load_curl(mw_error_t *error) {
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && library == NULL; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return mw_error_set(error,
				    "cannot fetch URLs: libcurl.so.4 is not installed; install "
				    "package libcurl4, or fetch the profile with curl -o FILE");
	/* The way that POSIX describes to convert an object pointer to a function pointer. */
	*(void **)&curl.init = dlsym(library, "curl_easy_init");
	*(void **)&curl.setopt = dlsym(library, "curl_easy_setopt");
	*(void **)&curl.perform = dlsym(library, "curl_easy_perform");
	*(void **)&curl.getinfo = dlsym(library, "curl_easy_getinfo");
	*(void **)&curl.text_of = dlsym(library, "curl_easy_strerror");
	*(void **)&curl.cleanup = dlsym(library, "curl_easy_cleanup");
	if (curl.init && curl.setopt && curl.perform && curl.getinfo && curl.text_of &&
	    curl.cleanup)
		return 0;
	return mw_error_set(error, "cannot fetch URLs: libcurl.so.4 lacks a function that mallow "
				   "needs; install package libcurl4 again");
}

typedef struct answer {
	int fd;
	size_t length, length_max;
} answer_t;

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context) {
	answer_t *answer = context;
	size_t length = size * count;
	if (length > answer->length_max - answer->length)
		return 0;
	answer->length += length;
	ssize_t wrote = write(answer->fd, bytes, length);
	return wrote > 0 ? (size_t)wrote : 0;
}

static double limit_seconds(void) {
	return chosen.seconds + chosen.timeout_seconds;
}

/* Options that the headers lack or call deprecated, depending on the version: lists of protocols as
 * text (libcurl 7.85 and later), and as bits before that. */
#define PROTOCOLS_TEXT ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#define REDIRECT_PROTOCOLS_TEXT ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 319))
#define PROTOCOLS_BITS ((CURLoption)(CURLOPTTYPE_LONG + 181))
#define REDIRECT_PROTOCOLS_BITS ((CURLoption)(CURLOPTTYPE_LONG + 182))

/* No server leads to files or other services. */
static void allow_protocols(CURL *handle) {
	if (curl.setopt(handle, PROTOCOLS_TEXT, "http,https") != CURLE_OK)
		curl.setopt(handle, PROTOCOLS_BITS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	if (curl.setopt(handle, REDIRECT_PROTOCOLS_TEXT, "http,https") != CURLE_OK)
		curl.setopt(handle, REDIRECT_PROTOCOLS_BITS,
			    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

/* At least 1, because libcurl takes 0 for no limit. */
static long rest_ms(void) {
	uint64_t now_ns = mw_monotonic_ns();
	return ends_ns > now_ns ? (long)((ends_ns - now_ns) / 1000000) + 1 : 1;
}

/* Sets the certificates to trust. libcurl itself ignores the environment variables that OpenSSL,
 * Go and curl use. */
static void set_trust(CURL *handle, bool is_insecure) {
	const char *directory = getenv("SSL_CERT_DIR");
	if (is_insecure) {
		curl.setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
		curl.setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (chosen.authority != NULL)
		curl.setopt(handle, CURLOPT_CAINFO, chosen.authority);
	if (directory != NULL)
		curl.setopt(handle, CURLOPT_CAPATH, directory);
	if (chosen.certificate != NULL) {
		curl.setopt(handle, CURLOPT_SSLCERT, chosen.certificate);
		curl.setopt(handle, CURLOPT_SSLKEY,
			    chosen.key != NULL ? chosen.key : chosen.certificate);
	}
}

static void set_options(CURL *handle, const char *url, const char *post, answer_t *answer) {
	bool is_insecure = begins_with(url, INSECURE);
	set_trust(handle, is_insecure);
	if (is_insecure) {
		char *plain = mw_xcalloc(strlen(url) + 1, 1);
		sprintf(plain, "https://%s", url + strlen(INSECURE));
		curl.setopt(handle, CURLOPT_URL, plain); /* libcurl copies the URL */
		free(plain);
	} else
		curl.setopt(handle, CURLOPT_URL, url);
	allow_protocols(handle);
	curl.setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
	curl.setopt(handle, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	curl.setopt(handle, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl.setopt(handle, CURLOPT_TIMEOUT_MS, rest_ms());
	curl.setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl.setopt(handle, CURLOPT_USERAGENT, "mallow/" MALLOW_VERSION);
	curl.setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
	curl.setopt(handle, CURLOPT_WRITEDATA, answer);
	if (post != NULL) {
		curl.setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(post));
		curl.setopt(handle, CURLOPT_POSTFIELDS, post);
	}
}

/* Sends a request.  Returns the HTTP status, or -1. */
static long ask(const char *url, const char *post, answer_t *answer, mw_error_t *error) {
	if (curl.init == NULL && load_curl(error) != 0)
		return -1;
	CURL *handle = curl.init();
	if (handle == NULL)
		return mw_error_set(error, "%s: libcurl cannot start: out of memory", url);
	set_options(handle, url, post, answer);
	CURLcode code = curl.perform(handle);
	long status = -1;
	if (code == CURLE_OK)
		curl.getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
	else if (code == CURLE_WRITE_ERROR && answer->length > 0)
		mw_error_set(error, "%s: the answer is larger than %zu MiB", url,
			     answer->length_max >> 20);
	else if (code == CURLE_OPERATION_TIMEDOUT)
		mw_error_set(error, "%s: no answer in time (%.0f s); --timeout sets it", url,
			     limit_seconds());
	else if (code == CURLE_PEER_FAILED_VERIFICATION)
		mw_error_set(
			error,
			"%s: the server's certificate is not trusted; name its signer with "
			"--tls-ca FILE or SSL_CERT_FILE, or skip the check with https+insecure://",
			url);
	else if (code == CURLE_SSL_CACERT_BADFILE)
		mw_error_set(error, "%s: cannot read the trusted certificates of %s", url,
			     chosen.authority != NULL ? chosen.authority : "the system");
	else if (code == CURLE_SSL_CERTPROBLEM)
		mw_error_set(error, "%s: cannot use the certificate %s or its key", url,
			     chosen.certificate != NULL ? chosen.certificate : "");
	else
		mw_error_set(error, "%s: cannot fetch: %s", url, curl.text_of(code));
	curl.cleanup(handle);
	return status;
}

/* As ask(), but writes the answer into a memfd.  Returns -1 for any status except 200; *status
 * is then the status. */
static int fetch(const char *url, const char *post, size_t length_max, int *out_fd, long *status,
		 mw_error_t *error) {
	answer_t answer = {.fd = memfd_create("mallow-answer", MFD_CLOEXEC),
			   .length_max = length_max};
	*status = 0;
	if (answer.fd < 0)
		return mw_error_set(error, "%s: cannot fetch: %s", url, strerror(errno));
	*status = ask(url, post, &answer, error);
	if (*status == HTTP_FINE) {
		*out_fd = answer.fd;
		return 0;
	}
	close(answer.fd);
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
