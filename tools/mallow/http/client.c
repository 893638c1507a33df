/* SPDX-License-Identifier: MIT
 * client.c -- libcurl's options for one request. */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libraries/curl.h"
#include "model/memory.h"

#define CONNECT_SECONDS 10L

struct mw_client {
	CURL *handle;
};

/* One request while it runs. */
typedef struct transfer {
	const mw_client_request_t *request;
	mw_client_answer_t *answer;
	size_t capacity;
	bool is_too_large;
} transfer_t;

mw_client_t *mw_client_open(const char *purpose, mw_error_t *error) {
	if (mw_curl_load(purpose, error) != 0)
		return NULL;
	CURL *handle = mw_curl.easy_init();
	if (handle == NULL) {
		mw_error_set(error, "%s: libcurl cannot start: out of memory", purpose);
		return NULL;
	}
	mw_client_t *client = mw_xcalloc(1, sizeof(*client));
	client->handle = handle;
	return client;
}

void mw_client_close(mw_client_t *client) {
	if (client == NULL)
		return;
	mw_curl.easy_cleanup(client->handle);
	free(client);
}

void mw_client_answer_release(mw_client_answer_t *answer) {
	free(answer->text);
	*answer = (mw_client_answer_t){.retry_after_seconds = -1};
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context) {
	transfer_t *t = context;
	mw_client_answer_t *answer = t->answer;
	size_t length = size * count;
	if (length > t->request->answer_bytes_max - answer->bytes) {
		t->is_too_large = true;
		return 0;
	}
	if (t->request->answer_fd >= 0) {
		ssize_t wrote = write(t->request->answer_fd, bytes, length);
		answer->bytes += wrote > 0 ? (size_t)wrote : 0;
		return wrote > 0 ? (size_t)wrote : 0;
	}
	answer->text = mw_grow(answer->text, &t->capacity, answer->bytes + length + 1, 1);
	memcpy(answer->text + answer->bytes, bytes, length);
	answer->bytes += length;
	answer->text[answer->bytes] = '\0';
	return length;
}

/* Options that the headers lack or call deprecated, depending on the version: lists of protocols as
 * text (libcurl 7.85 and later), and as bits before that. */
#define PROTOCOLS_TEXT ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#define REDIRECT_PROTOCOLS_TEXT ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 319))
#define PROTOCOLS_BITS ((CURLoption)(CURLOPTTYPE_LONG + 181))
#define REDIRECT_PROTOCOLS_BITS ((CURLoption)(CURLOPTTYPE_LONG + 182))

/* No server leads to files or other services. */
static void allow_protocols(CURL *handle) {
	if (mw_curl.easy_setopt(handle, PROTOCOLS_TEXT, "http,https") != CURLE_OK)
		mw_curl.easy_setopt(handle, PROTOCOLS_BITS,
				    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	if (mw_curl.easy_setopt(handle, REDIRECT_PROTOCOLS_TEXT, "http,https") != CURLE_OK)
		mw_curl.easy_setopt(handle, REDIRECT_PROTOCOLS_BITS,
				    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
}

static const char *authority_of(const mw_client_request_t *request) {
	return request->tls.authority != NULL ? request->tls.authority : getenv("SSL_CERT_FILE");
}

/* Sets the certificates to trust. libcurl itself ignores the environment variables that OpenSSL,
 * Go and curl use. */
static void set_trust(CURL *handle, const mw_client_request_t *request, bool is_insecure) {
	const mw_client_tls_t *tls = &request->tls;
	const char *authority = authority_of(request), *directory = getenv("SSL_CERT_DIR");
	if (is_insecure) {
		mw_curl.easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
		mw_curl.easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (authority != NULL)
		mw_curl.easy_setopt(handle, CURLOPT_CAINFO, authority);
	if (directory != NULL)
		mw_curl.easy_setopt(handle, CURLOPT_CAPATH, directory);
	if (tls->certificate != NULL) {
		mw_curl.easy_setopt(handle, CURLOPT_SSLCERT, tls->certificate);
		mw_curl.easy_setopt(handle, CURLOPT_SSLKEY,
				    tls->key != NULL ? tls->key : tls->certificate);
	}
}

static void set_url(CURL *handle, const mw_client_request_t *request) {
	bool is_insecure = strncmp(request->url, MW_HTTPS_INSECURE, strlen(MW_HTTPS_INSECURE)) == 0;
	set_trust(handle, request, is_insecure);
	if (!is_insecure) {
		mw_curl.easy_setopt(handle, CURLOPT_URL, request->url);
		return;
	}
	size_t size = strlen(request->url) + 1;
	char *plain = mw_xcalloc(size, 1);
	snprintf(plain, size, "https://%s", request->url + strlen(MW_HTTPS_INSECURE));
	mw_curl.easy_setopt(handle, CURLOPT_URL, plain); /* libcurl copies the URL */
	free(plain);
}

/* At least 1, because libcurl takes 0 for no limit. */
static long timeout_ms(const mw_client_request_t *request) {
	double ms = request->timeout_seconds * 1000;
	return ms < 1 ? 1 : ms > 1e9 ? 1000000000L : (long)ms;
}

static void set_options(CURL *handle, transfer_t *t) {
	const mw_client_request_t *request = t->request;
	mw_curl.easy_reset(handle); /* keeps the connection */
	set_url(handle, request);
	allow_protocols(handle);
	mw_curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, request->redirects_max > 0 ? 1L : 0L);
	mw_curl.easy_setopt(handle, CURLOPT_MAXREDIRS, (long)request->redirects_max);
	mw_curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	mw_curl.easy_setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms(request));
	mw_curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	mw_curl.easy_setopt(handle, CURLOPT_USERAGENT, "mallow/" MALLOW_VERSION);
	mw_curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
	mw_curl.easy_setopt(handle, CURLOPT_WRITEDATA, t);
	if (request->body != NULL) {
		mw_curl.easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
				    (curl_off_t)request->body_bytes);
		mw_curl.easy_setopt(handle, CURLOPT_POSTFIELDS, request->body);
	}
	if (request->is_sent_once)
		mw_curl.easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
	if (request->method != NULL)
		mw_curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
}

/* Makes libcurl's list.  "Expect:" keeps libcurl from waiting a second for the status 100 of
 * servers that do not send it. */
static int list_headers(const mw_client_request_t *request, struct curl_slist **list,
			mw_error_t *error) {
	*list = request->body != NULL ? mw_curl.slist_append(NULL, "Expect:") : NULL;
	for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
		const char *header = request->headers[i];
		for (const char *at = header; *at != '\0'; at++)
			if ((unsigned char)*at < ' ' || *at == 127)
				return mw_error_set(
					error, "%s: the header %.*s has a control character",
					request->url, (int)strcspn(header, ":"), header);
		struct curl_slist *longer = mw_curl.slist_append(*list, header);
		if (longer == NULL)
			return mw_error_set(error, "%s: out of memory", request->url);
		*list = longer;
	}
	return 0;
}

static mw_client_result_t describe(CURLcode code, const transfer_t *t, mw_error_t *error) {
	const mw_client_request_t *request = t->request;
	const char *url = request->url, *authority = authority_of(request);
	switch (code) {
	case CURLE_OK:
		return MW_CLIENT_ANSWERED;
	case CURLE_OPERATION_TIMEDOUT:
		mw_error_set(error, "%s: no answer in time (%.0f s); --timeout sets it", url,
			     request->limit_seconds > 0 ? request->limit_seconds
							: request->timeout_seconds);
		return MW_CLIENT_TIMED_OUT;
	case CURLE_PEER_FAILED_VERIFICATION:
		mw_error_set(
			error,
			"%s: the server's certificate is not trusted; name its signer with "
			"--tls-ca FILE or SSL_CERT_FILE, or skip the check with https+insecure://",
			url);
		return MW_CLIENT_FAILED;
	case CURLE_SSL_CACERT_BADFILE:
		mw_error_set(error, "%s: cannot read the trusted certificates of %s", url,
			     authority != NULL ? authority : "the system");
		return MW_CLIENT_FAILED;
	case CURLE_SSL_CERTPROBLEM:
		mw_error_set(error, "%s: cannot use the certificate %s or its key", url,
			     request->tls.certificate != NULL ? request->tls.certificate : "");
		return MW_CLIENT_FAILED;
	default:
		break;
	}
	if (t->is_too_large)
		mw_error_set(error, "%s: the answer is larger than %zu MiB", url,
			     request->answer_bytes_max >> 20);
	else
		mw_error_set(error, "%s: cannot %s: %s", url,
			     request->verb != NULL ? request->verb : "fetch",
			     mw_curl.easy_strerror(code));
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST: /* a name server that does not answer, too */
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return MW_CLIENT_LOST;
	default:
		return MW_CLIENT_FAILED;
	}
}

mw_client_result_t mw_client_send(mw_client_t *client, const mw_client_request_t *request,
				  mw_client_answer_t *answer, mw_error_t *error) {
	struct curl_slist *headers;
	transfer_t t = {.request = request, .answer = answer};
	*answer = (mw_client_answer_t){.retry_after_seconds = -1};
	if (list_headers(request, &headers, error) != 0) {
		mw_curl.slist_free_all(headers);
		return MW_CLIENT_FAILED;
	}
	set_options(client->handle, &t);
	mw_curl.easy_setopt(client->handle, CURLOPT_HTTPHEADER, headers);
	CURLcode code = mw_curl.easy_perform(client->handle);
	mw_curl.slist_free_all(headers);
	if (code == CURLE_OK) {
		curl_off_t seconds = 0;
		mw_curl.easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &answer->status);
		/* libcurl turns dates into seconds; 0 = the answer has no such header. */
		if (mw_curl.easy_getinfo(client->handle, CURLINFO_RETRY_AFTER, &seconds) ==
			    CURLE_OK &&
		    seconds > 0)
			answer->retry_after_seconds = seconds < 1000000 ? (long)seconds : 1000000L;
		if (request->answer_fd < 0 && answer->text == NULL)
			answer->text = mw_xcalloc(1, 1);
	}
	return describe(code, &t, error);
}
