/* SPDX-License-Identifier: MIT
 * access.c -- reads the password and the certificate, and compares what requests send. */
#include "http/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"

#define PASSWORD_LEAST 8u
#define FILE_BYTES_MAX ((size_t)1 << 20)

/* Reads a whole file, which ends in a 0.  `is_secret`: other users must not be able to read it. */
static char *read_text(const char *path, bool is_secret, mw_error_t *error) {
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &info) != 0) {
		mw_error_set(error, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	char *text = NULL;
	if (!S_ISREG(info.st_mode) || (size_t)info.st_size > FILE_BYTES_MAX)
		mw_error_set(error, "%s: allowed: a file of at most 1 MiB", path);
	else if (is_secret && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		mw_error_set(error, "%s: other users can open it; allowed: mode 600 or 400", path);
	else
		text = mw_xcalloc((size_t)info.st_size + 1, 1);
	if (text != NULL && read(fd, text, (size_t)info.st_size) != (ssize_t)info.st_size) {
		mw_error_set(error, "%s: cannot read: %s", path, strerror(errno));
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

static int read_password(const char *path, mw_http_access_t *access, mw_error_t *error) {
	char *text = read_text(path, true, error);
	if (text == NULL)
		return -1;
	text[strcspn(text, "\r\n")] = '\0';
	size_t length = strlen(text);
	bool is_good = length >= PASSWORD_LEAST && length < sizeof(access->password);
	if (is_good)
		memcpy(access->password, text, length + 1);
	explicit_bzero(text, length);
	free(text);
	return is_good ? 0
		       : mw_error_set(error,
				      "%s: its first line is the password; allowed: %u to %zu "
				      "bytes",
				      path, PASSWORD_LEAST, sizeof(access->password) - 1);
}

static int read_certificate(const mw_http_access_files_t *files, mw_http_access_t *access,
			    mw_error_t *error) {
	access->certificate = read_text(files->certificate, files->key == NULL, error);
	if (access->certificate == NULL)
		return -1;
	access->key = files->key != NULL ? read_text(files->key, true, error)
					 : mw_xstrdup(access->certificate);
	return access->key != NULL ? 0 : -1;
}

/* "https://host:port/path" */
static int take_base_url(const char *url, mw_http_access_t *access, mw_error_t *error) {
	size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
			: strncmp(url, "http://", 7) == 0 ? 7
							  : 0;
	size_t host = scheme != 0 ? strcspn(url + scheme, "/?#@") : 0, length = strlen(url);
	if (host == 0 || strpbrk(url + scheme, "?#@ \"<>\\") != NULL ||
	    length >= sizeof(access->base_url))
		return mw_error_set(error,
				    "--base-url does not take '%s'; allowed: "
				    "https://HOST[:PORT][/PATH]",
				    url);
	while (length > scheme + host && url[length - 1] == '/')
		length--;
	memcpy(access->base_url, url, length);
	memcpy(access->origin, url, scheme + host);
	return 0;
}

int mw_http_access_read(const mw_http_access_files_t *files, mw_http_access_t *access,
			mw_error_t *error) {
	*access = (mw_http_access_t){0};
	if (files->key != NULL && files->certificate == NULL)
		return mw_error_set(error, "--tls-key needs --tls-cert");
	if ((files->password != NULL && read_password(files->password, access, error) != 0) ||
	    (files->certificate != NULL && read_certificate(files, access, error) != 0) ||
	    (files->base_url != NULL && take_base_url(files->base_url, access, error) != 0))
		return -1;
	return 0;
}

void mw_http_access_release(mw_http_access_t *access) {
	explicit_bzero(access->password, sizeof(access->password));
	if (access->key != NULL)
		explicit_bzero(access->key, strlen(access->key));
	free(access->key);
	free(access->certificate);
	access->key = access->certificate = NULL;
}

bool mw_http_access_is_guarded(const mw_http_access_t *access) {
	return (access->certificate != NULL && access->password[0] != '\0') ||
	       access->base_url[0] != '\0';
}

bool mw_http_access_is_password(const mw_http_access_t *access, const char *sent) {
	char padded[MW_HTTP_PASSWORD_BYTES] = {0};
	unsigned char difference = sent == NULL;
	size_t length = sent != NULL ? strlen(sent) : 0;
	if (length >= sizeof(padded))
		return false;
	memcpy(padded, sent != NULL ? sent : "", length);
	for (size_t i = 0; i < sizeof(padded); i++)
		difference |= (unsigned char)(padded[i] ^ access->password[i]);
	return difference == 0;
}

bool mw_http_access_is_host(const mw_http_access_t *access, const char *host) {
	const char *begin = strstr(access->origin, "://");
	return begin != NULL && strcasecmp(begin + 3, host) == 0;
}
