/* SPDX-License-Identifier: MIT
 * identity.h -- whose profile it is: service, process, host, version and the user's labels.
 * Layer: store.  A profile.proto file keeps them in comments, "mallow-identity: KEY=VALUE", where
 * special characters are %XX. */
#ifndef MW_TOOL_STORE_IDENTITY_H
#define MW_TOOL_STORE_IDENTITY_H

#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_tag {
	const char *key, *value;
} mw_tag_t;

/* No text is NULL; "" = not known.  Texts are borrowed, and may hold any bytes except NUL. */
typedef struct mw_identity {
	const char *service;
	const char *instance; /* names one process among all of all hosts */
	const char *host;
	const char *version;
	const char *build_id; /* of the program's file */
	const mw_tag_t *tags; /* the user's labels, sorted by key */
	size_t tag_count;
} mw_identity_t;

/* Longest text of an identity in bytes; longer ones are refused. */
#define MW_IDENTITY_BYTES_MAX 1024
/* Most tags of an identity. */
#define MW_IDENTITY_TAGS_MAX 32

/* Checks these limits, and that there is a service and no label twice. */
int mw_identity_check(const mw_identity_t *identity, mw_error_t *error);

/* Adds the identity to the comments of a profile, which is written then. */
void mw_identity_write(mw_profile_t *profile, const mw_identity_t *identity);
/* Adds a comment "mallow-identity: KEY=VALUE" of the caller's own, whose key is none of the
 * identity's. */
void mw_identity_write_text(mw_profile_t *profile, const char *key, const char *value);

/* An identity that was read, with its texts. */
typedef struct mw_read_identity {
	mw_identity_t identity;
	char **texts; /* private */
	size_t text_count, text_capacity;
	mw_tag_t *tags;
	size_t tag_capacity;
} mw_read_identity_t;

/* Reads the identity from the comments of a profile.  -1: there is none, or it breaks a limit.  The
 * caller calls mw_read_identity_free() in both cases. */
int mw_identity_read(const mw_profile_t *profile, mw_read_identity_t *out, mw_error_t *error);
void mw_read_identity_free(mw_read_identity_t *read);
/* Returns the value of mw_identity_write_text(), kept in `read`; NULL: there is none. */
const char *mw_identity_read_text(const mw_profile_t *profile, mw_read_identity_t *read,
				  const char *key);

#endif
