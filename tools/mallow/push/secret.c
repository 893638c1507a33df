/* SPDX-License-Identifier: MIT
 * secret.c -- reads secrets, and says what is wrong without showing them. */
#include "push/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"

enum { SECRET_BYTES_MAX = 8192 };

/* Pipes are fine: "--token-file <(pass show mallow)". */
static int open_private(const char *path, mw_error_t *error) {
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &info) != 0) {
		mw_error_set(error, "%s: cannot read the secret: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		close(fd);
		return mw_error_set(error, "%s: other users can open this file; run chmod 600",
				    path);
	}
	return fd;
}

static int read_file(const char *path, char *text, size_t size, mw_error_t *error) {
	int fd = open_private(path, error);
	if (fd < 0)
		return -1;
	size_t used = 0;
	ssize_t got;
	while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			close(fd);
			return mw_error_set(error, "%s: cannot read the secret: %s", path,
					    strerror(errno));
		}
		used += (size_t)got;
	}
	close(fd);
	text[used] = '\0';
	if (strlen(text) != used)
		return mw_error_set(error, "%s: its first line has a NUL", path);
	return 0;
}

static int check(const char *name, const char *secret, mw_error_t *error) {
	if (*secret == '\0')
		return mw_error_set(error, "%s: the secret is empty", name);
	if (strlen(secret) >= SECRET_BYTES_MAX - 1)
		return mw_error_set(error, "%s: the secret is too long; allowed: up to %d bytes",
				    name, SECRET_BYTES_MAX - 2);
	for (const char *at = secret; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			return mw_error_set(error, "%s: the secret has a control character", name);
	return 0;
}

static void release(char *secret) {
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

/* Reads the variable if `file` is NULL. *out is NULL if neither is given. */
static int read_secret(const char *file, const char *variable, char **out, mw_error_t *error) {
	const char *value = file == NULL ? getenv(variable) : NULL;
	char shown[80];
	const char *name = file;
	*out = NULL;
	if (file == NULL && value == NULL)
		return 0;
	if (file == NULL) {
		snprintf(shown, sizeof(shown), "the variable %s", variable);
		name = shown;
	}
	char *text = mw_xcalloc(SECRET_BYTES_MAX, 1);
	int result = 0;
	if (file != NULL)
		result = read_file(file, text, SECRET_BYTES_MAX, error);
	else
		strncpy(text, value, SECRET_BYTES_MAX - 1);
	text[strcspn(text, "\r\n")] = '\0';
	if (result == 0)
		result = check(name, text, error);
	if (result == 0)
		*out = text;
	else
		release(text);
	return result;
}

int mw_secrets_read(const char *token_file, const char *password_file, mw_secrets_t *out,
		    mw_error_t *error) {
	*out = (mw_secrets_t){0};
	if (read_secret(token_file, "MALLOW_PUSH_TOKEN", &out->token, error) == 0 &&
	    read_secret(password_file, "MALLOW_PUSH_PASSWORD", &out->password, error) == 0)
		return 0;
	mw_secrets_free(out);
	return -1;
}

void mw_secrets_free(mw_secrets_t *secrets) {
	release(secrets->token);
	release(secrets->password);
	*secrets = (mw_secrets_t){0};
}
