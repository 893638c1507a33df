/* SPDX-License-Identifier: MIT
 * profile_store.c -- opens stores, and checks what is put into them. */
#include "store/profile_store.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "store/backend.h"
#include "store/clickhouse/clickhouse.h"
#include "store/directory/store_directory.h"

struct mw_store {
	const mw_backend_t *backend;
	void *self; /* the backend's */
};

static const struct {
	const char *scheme;
	const mw_backend_t *backend;
} schemes[] = {
	{MW_STORE_DIRECTORY, &mw_directory_backend},
	{MW_STORE_CLICKHOUSE, &mw_clickhouse_backend},
	{MW_STORE_CLICKHOUSE_TLS, &mw_clickhouse_backend},
};

static const mw_backend_t *backend_of(const char *text) {
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncmp(text, schemes[i].scheme, strlen(schemes[i].scheme)) == 0)
			return schemes[i].backend;
	return NULL;
}

bool mw_store_is_url(const char *text) {
	return backend_of(text) != NULL;
}

bool mw_store_url_has_password(const char *url) {
	const char *host = strstr(url, "://");
	if (host == NULL)
		return false;
	host += strlen("://");
	const char *at = memrchr(host, '@', strcspn(host, "/?#"));
	return at != NULL && memchr(host, ':', (size_t)(at - host)) != NULL;
}

int mw_store_open(const char *url, const mw_store_options_t *options, bool may_create,
		  mw_store_t **out, mw_error_t *error) {
	static const mw_store_options_t no_options;
	const mw_backend_t *backend = backend_of(url);
	void *self;
	if (backend == NULL)
		return mw_error_set(error,
				    "%s: no store; allowed: dir:///PATH, "
				    "clickhouse://[USER@]HOST:PORT/DATABASE",
				    url);
	if (backend->open(url, options != NULL ? options : &no_options, may_create, &self, error))
		return -1;
	*out = mw_xcalloc(1, sizeof(**out));
	**out = (mw_store_t){.backend = backend, .self = self};
	return 0;
}

void mw_store_close(mw_store_t *store) {
	if (store != NULL)
		store->backend->close(store->self);
	free(store);
}

const mw_backend_t *mw_store_backend(const mw_store_t *store, void **self) {
	*self = store->self;
	return store->backend;
}

int mw_store_put(mw_store_t *store, const mw_put_t *put, bool *may_retry, mw_error_t *error) {
	*may_retry = false;
	if (mw_identity_check(&put->identity, error) != 0)
		return -1;
	mw_batch_t *batch = mw_batch_of(put->profile, put->kind);
	int result = store->backend->put(store->self, put, batch, may_retry, error);
	mw_batch_free(batch);
	return result;
}

int mw_store_drop_day(mw_store_t *store, int64_t day, mw_error_t *error) {
	return store->backend->drop_day(store->self, day, error);
}
