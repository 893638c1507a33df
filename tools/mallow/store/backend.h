/* SPDX-License-Identifier: MIT
 * backend.h -- what a kind of store implements: directory/ and clickhouse/.
 * Layer: store.  Private to the folders of stores.  profile_store.c and cmd/store call it, so that
 * all stores answer the same; tests/unit/tools/store/test_conformance.c holds for each of them.
 * All texts are borrowed until the call returns, unless it says otherwise. */
#ifndef MW_TOOL_STORE_BACKEND_H
#define MW_TOOL_STORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "store/profile_store.h"
#include "store/row_batch.h"

/* Which profiles a question is about. */
typedef struct mw_range {
	const char *service; /* NULL = all */
	mw_kind_t kind;
	int64_t from_ns, until_ns; /* from_ns <= time < until_ns */
	/* Only profiles whose identity has these values: keys "instance", "host", "version",
	 * "build_id", or a tag's. */
	const mw_tag_t *where;
	size_t where_count;
	/* services() has a row for each value of this key ("host", "version", "instance",
	 * "build_id", or a tag's), not for each service; NULL = the service. */
	const char *by;
} mw_range_t;

/* How samples of several profiles become one. */
typedef enum mw_sum {
	MW_SUM_NEWEST, /* the newest profile of each instance; all values are added up */
	MW_SUM_ALL,    /* all profiles; all values are added up */
} mw_sum_t;

typedef struct mw_counted {
	uint64_t profiles, instances;
	int64_t newest_ns;         /* 0 = there is none */
	int64_t totals[MW_VALUES]; /* over all samples */
} mw_counted_t;

/* Sums of one instance or service over a step of time. */
typedef struct mw_point {
	int64_t time_ns; /* begin of the step */
	uint64_t profiles, instances;
	int64_t totals[MW_VALUES]; /* of all profiles of the step, added up */
} mw_point_t;

typedef struct mw_service_row {
	char *service; /* the caller frees it */
	uint64_t profiles, instances, hosts, versions;
	int64_t newest_ns; /* of the newest profiles of its instances; 0 = they are in other rows */
	/* Sum over the newest profile of each instance in the range. */
	int64_t totals[MW_VALUES];
} mw_service_row_t;

/* Each function returns 0, or -1 with `error`.  `self` is what open() returned. */
typedef struct mw_backend {
	int (*open)(const char *url, const mw_store_options_t *options, bool may_create,
		    void **self, mw_error_t *error);
	void (*close)(void *self);
	/* As mw_store_put(); `batch` is made of put->profile. */
	int (*put)(void *self, const mw_put_t *put, const mw_batch_t *batch, bool *may_retry,
		   mw_error_t *error);
	int (*drop_day)(void *self, int64_t day, mw_error_t *error);
	/* Adds samples to `batch`: at most `most` stacks, those with the largest absolute sum of
	 * `value`; the sums of all others are added to `other`. */
	int (*samples)(void *self, const mw_range_t *range, mw_sum_t sum, int value, size_t most,
		       mw_batch_t *batch, int64_t other[MW_VALUES], mw_counted_t *counted,
		       mw_error_t *error);
	/* Adds the stacks of all samples in `batch`, and their locations with names: those of the
	 * symbols that were pushed for the build-id, else those that came with a profile. */
	int (*stacks)(void *self, mw_batch_t *batch, mw_error_t *error);
	/* One point for each step that has profiles, by time.  The caller frees *points. */
	int (*timeline)(void *self, const mw_range_t *range, int64_t step_ns, mw_point_t **points,
			size_t *count, mw_error_t *error);
	/* By service's name, or the value of range->by.  The caller frees *services and each name.
	 */
	int (*services)(void *self, const mw_range_t *range, mw_service_row_t **services,
			size_t *count, mw_error_t *error);
	/* Adds all locations that have names to `batch`. */
	int (*names)(void *self, mw_batch_t *batch, mw_error_t *error);
	/* As services(), but only of samples whose stack has one of these locations; services
	 * without any are left out. */
	int (*holders)(void *self, const mw_range_t *range, const uint64_t *locations,
		       size_t location_count, mw_service_row_t **services, size_t *count,
		       mw_error_t *error);
	/* Sets has[i] if symbols of the build-id were pushed. */
	int (*has_symbols)(void *self, const char *const *build_ids, size_t count, bool *has,
			   mw_error_t *error);
	/* Keeps names of a build: location i of `batch` names the offsets from its offset to
	 * ends[i], which is not included.  Offsets are in order, and ranges do not overlap. */
	int (*put_symbols)(void *self, const char *build_id, const mw_batch_t *batch,
			   const uint64_t *ends, mw_error_t *error);
} mw_backend_t;

/* Returns what the store was opened with. */
const mw_backend_t *mw_store_backend(const mw_store_t *store, void **self);

#endif
