/* SPDX-License-Identifier: MIT
 * question.c -- parses "STORE/SERVICE?at=-1h&version=1.2". */
#include "cmd/store/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/store/moment.h"
#include "model/memory.h"
#include "store/percent.h"

bool mw_question_is(const char *text) {
	return mw_store_is_url(text) ||
	       strncmp(text, MW_STORE_DEFAULT, strlen(MW_STORE_DEFAULT)) == 0;
}

/* Replaces "store:" by the default store.  The caller frees the result. */
static char *whole_text(const char *text, mw_error_t *error) {
	char *whole;
	if (strncmp(text, MW_STORE_DEFAULT, strlen(MW_STORE_DEFAULT)) != 0)
		return mw_xstrdup(text);
	const char *store = getenv(MW_STORE_VARIABLE);
	if (store == NULL || !mw_store_is_url(store)) {
		mw_error_set(error,
			     "%s: set %s to a store, such as dir:///var/lib/mallow or "
			     "clickhouse://localhost:8123/mallow",
			     text, MW_STORE_VARIABLE);
		return NULL;
	}
	size_t length = strlen(store);
	while (length > 0 && store[length - 1] == '/')
		length--;
	if (asprintf(&whole, "%.*s/%s", (int)length, store, text + strlen(MW_STORE_DEFAULT)) < 0)
		abort();
	return whole;
}

int mw_question_refuse_password(const char *url, mw_error_t *error) {
	if (!mw_store_url_has_password(url))
		return 0;
	return mw_error_set(error, "the URL of a store has no password, because all users can read "
				   "it; give it in " MW_STORE_PASSWORD_VARIABLE);
}

int mw_question_parse_store(const char *text, int64_t now_ns, mw_question_t *out,
			    mw_error_t *error) {
	char *whole;
	const char *store = text != NULL ? text : MW_STORE_DEFAULT;
	if (mw_question_refuse_password(store, error) != 0)
		return -1;
	if (!mw_question_is(store))
		return mw_error_set(error,
				    "%s: no store; allowed: dir:///PATH, "
				    "clickhouse://HOST:PORT/DATABASE",
				    store);
	size_t length = strcspn(store, "?");
	bool has_slash = length > 0 && (store[length - 1] == '/' || store[length - 1] == ':');
	if (asprintf(&whole, "%.*s%s%s", (int)length, store, has_slash ? "" : "/", store + length) <
	    0)
		abort();
	int result = mw_question_parse(whole, MW_KIND_HEAP, now_ns, out, error);
	free(whole);
	return result;
}

/* Times of a question, as they were written; NULL: not given. */
typedef struct times {
	const char *at, *within, *from, *to;
} times_t;

static int parse_time(const char *key, const char *text, int64_t now_ns, int64_t *time_ns,
		      mw_error_t *error) {
	if (mw_moment_parse(text, now_ns, time_ns))
		return 0;
	return mw_error_set(error,
			    "%s=%s: no time; allowed: now, a time ago such as -10m, -2h or -1d, "
			    "14:30, 2026-11-30, 2026-11-30T14:30, @SECONDS since 1970",
			    key, text);
}

static int take_times(const times_t *times, int64_t now_ns, mw_question_t *q, mw_error_t *error) {
	mw_range_t *range = &q->range;
	bool is_range = times->from != NULL || times->to != NULL;
	int64_t at_ns = now_ns, until_ns = now_ns, within_ns = MW_STORE_WITHIN_NS, start_ns = 0;
	if (is_range && (times->at != NULL || times->within != NULL))
		return mw_error_set(error, "at and within cannot be combined with from and to; "
					   "leave out one of them");
	if (times->at != NULL && parse_time("at", times->at, now_ns, &at_ns, error) != 0)
		return -1;
	if (times->within != NULL) {
		if (parse_time("within", times->within, now_ns, &start_ns, error) != 0)
			return -1;
		within_ns = now_ns - start_ns;
	}
	if (!is_range) {
		q->sum = MW_SUM_NEWEST;
		range->from_ns = at_ns > within_ns ? at_ns - within_ns : 0;
		range->until_ns = at_ns + 1;
		return 0;
	}
	q->sum = MW_SUM_ALL;
	if (times->from != NULL &&
	    parse_time("from", times->from, now_ns, &range->from_ns, error) != 0)
		return -1;
	if (times->to != NULL && parse_time("to", times->to, now_ns, &until_ns, error) != 0)
		return -1;
	range->until_ns = until_ns;
	if (range->from_ns < range->until_ns)
		return 0;
	return mw_error_set(error, "from=%s is not before to=%s",
			    times->from != NULL ? times->from : "(the beginning)",
			    times->to != NULL ? times->to : "now");
}

static int take_kind(const char *text, mw_question_t *q, mw_error_t *error) {
	const mw_kind_values_t *kind = mw_kind_of_name(text);
	if (kind == NULL)
		return mw_error_set(error, "kind=%s: allowed: heap, mapped, cpu, wall", text);
	q->range.kind = kind->kind;
	return 0;
}

static int take_per(const char *text, mw_question_t *q, mw_error_t *error) {
	q->per_process = strcmp(text, "process") == 0;
	if (q->per_process || strcmp(text, "service") == 0)
		return 0;
	return mw_error_set(error, "per=%s: allowed: service (the sum of its processes), process",
			    text);
}

static void add_condition(mw_question_t *q, const char *key, const char *value, size_t *capacity) {
	q->where = mw_grow(q->where, capacity, q->range.where_count + 1, sizeof(*q->where));
	q->where[q->range.where_count++] = (mw_tag_t){key, value};
	q->range.where = q->where;
}

static int take_pair(char *pair, times_t *times, mw_question_t *q, size_t *capacity,
		     mw_error_t *error) {
	const struct {
		const char *key;
		const char **text;
	} moments[] = {{"at", &times->at},
		       {"within", &times->within},
		       {"from", &times->from},
		       {"to", &times->to}};
	char *value = strchr(pair, '=');
	if (value == NULL || value == pair)
		return mw_error_set(error, "'%s' behind '?': allowed: KEY=VALUE", pair);
	*value++ = '\0';
	if (!mw_percent_decode(pair) || !mw_percent_decode(value))
		return mw_error_set(error, "'%s=%s': '%%' is written %%25", pair, value);
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
		if (strcmp(pair, moments[i].key) == 0) {
			*moments[i].text = value;
			return 0;
		}
	if (strcmp(pair, "kind") == 0)
		return take_kind(value, q, error);
	if (strcmp(pair, "per") == 0)
		return take_per(value, q, error);
	if (strcmp(pair, "by") == 0 && value[0] == '\0')
		return mw_error_set(error, "by=: allowed: service, host, version, instance, "
					   "build_id, or a label");
	if (strcmp(pair, "by") == 0)
		q->range.by = strcmp(value, "service") == 0 ? NULL : value;
	else if (strcmp(pair, "service") == 0)
		q->range.service = value;
	else
		add_condition(q, pair, value, capacity);
	return 0;
}

/* Splits the store from the service, which is behind the last slash.  A directory's path has one
 * slash more than its scheme, a database's URL two. */
static int take_service(mw_question_t *q, mw_error_t *error) {
	char *path = strstr(q->store, "://") + 3;
	char *slash = strrchr(path, '/');
	bool is_directory = strncmp(q->store, MW_STORE_DIRECTORY, strlen(MW_STORE_DIRECTORY)) == 0;
	char *database = is_directory ? path : strchr(path, '/');
	if (slash == NULL || database == NULL || (slash == database && slash[1] != '\0'))
		return mw_error_set(error, "%s: the service's name is missing behind the store",
				    q->store);
	if (slash == database)
		return mw_error_set(error, "%s: no store", q->store);
	*slash = '\0';
	char *service = slash + 1;
	if (!mw_percent_decode(service))
		return mw_error_set(error, "service '%s': '%%' is written %%25", service);
	if (service[0] != '\0')
		q->range.service = service;
	return 0;
}

int mw_question_parse(const char *text, mw_kind_t standard, int64_t now_ns, mw_question_t *out,
		      mw_error_t *error) {
	times_t times = {.at = NULL};
	size_t capacity = 0;
	char *rest;
	*out = (mw_question_t){.range = {.kind = standard}};
	out->texts = out->store = whole_text(text, error);
	if (out->store == NULL)
		return -1;
	int result = mw_question_refuse_password(out->store, error);
	char *question = strchr(out->store, '?');
	if (question != NULL)
		*question++ = '\0';
	for (char *pair = question != NULL && result == 0 ? strtok_r(question, "&", &rest) : NULL;
	     pair != NULL && result == 0; pair = strtok_r(NULL, "&", &rest))
		result = take_pair(pair, &times, out, &capacity, error);
	if (result == 0)
		result = take_times(&times, now_ns, out, error);
	if (result == 0)
		result = take_service(out, error);
	if (result != 0)
		mw_question_free(out);
	return result;
}

void mw_question_free(mw_question_t *question) {
	free(question->texts);
	free(question->where);
	*question = (mw_question_t){.store = NULL};
}

int mw_question_open(const mw_question_t *question, bool may_create, mw_store_t **store,
		     mw_error_t *error) {
	const mw_store_options_t options = {.password = getenv(MW_STORE_PASSWORD_VARIABLE),
					    .timeout_seconds = 60};
	return mw_store_open(question->store, &options, may_create, store, error);
}
