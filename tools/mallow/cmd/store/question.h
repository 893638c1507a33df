/* SPDX-License-Identifier: MIT
 * question.h -- the user's text for profiles of a store: "STORE/SERVICE?KEY=VALUE&...".
 * Layer: cmd/store.  STORE is dir:///PATH or clickhouse://HOST:PORT/DATABASE; "store:" stands for
 * the environment variable MALLOW_STORE.  Special characters of a service are %XX.
 * Keys: at, within; from, to; kind; per; service; by (for `mallow services`); all others are labels
 * that a profile must have (instance, host, version, build_id, or the user's own). */
#ifndef MW_TOOL_CMD_STORE_QUESTION_H
#define MW_TOOL_CMD_STORE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"
#include "store/backend.h"

#define MW_STORE_VARIABLE "MALLOW_STORE"
/* Password for stores that ask for one. */
#define MW_STORE_PASSWORD_VARIABLE "MALLOW_STORE_PASSWORD"
/* How old a process's profile may be to count as of now. */
#define MW_STORE_WITHIN_NS (INT64_C(40) * 60 * 1000000000)

typedef struct mw_question {
	char *store;      /* what mw_store_open() takes */
	mw_range_t range; /* its texts belong to `texts` */
	mw_sum_t sum;
	bool per_process; /* values are divided by the number of processes */
	char *texts;      /* private */
	mw_tag_t *where;  /* private */
} mw_question_t;

/* True if the text means profiles of a store. */
bool mw_question_is(const char *text);

/* Parses the text.  `standard` is the kind if the text names none, `now_ns` the time that "now" and
 * "-1h" refer to.  Returns 0: the caller
 * calls mw_question_free(). */
int mw_question_parse(const char *text, mw_kind_t standard, int64_t now_ns, mw_question_t *out,
		      mw_error_t *error);
/* Likewise, of "STORE?KEY=VALUE&..." without a service; NULL: the default store. */
int mw_question_parse_store(const char *text, int64_t now_ns, mw_question_t *out,
			    mw_error_t *error);
void mw_question_free(mw_question_t *question);

/* -1: the URL holds a password, which all users could read. */
int mw_question_refuse_password(const char *url, mw_error_t *error);

/* Opens the question's store, with the password of the environment. */
int mw_question_open(const mw_question_t *question, bool may_create, mw_store_t **store,
		     mw_error_t *error);

#endif
