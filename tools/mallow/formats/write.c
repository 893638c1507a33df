/* SPDX-License-Identifier: MIT
 * write.c -- picks the writer. */
#include "formats/write.h"

#include <stdbool.h>
#include <string.h>

#include "formats/proto/proto.h"
#include "formats/text/text_formats.h"

int mw_format_parse(const char *name, mw_format_t *format) {
	static const struct {
		const char *name;
		mw_format_t format;
	} names[] = {
		{"proto", MW_FORMAT_PROTO},           {"pprof", MW_FORMAT_PROTO},
		{"jemalloc", MW_FORMAT_JEMALLOC},     {"heap_v2", MW_FORMAT_JEMALLOC},
		{"symbolized", MW_FORMAT_SYMBOLIZED}, {"gperftools", MW_FORMAT_GPERFTOOLS},
		{"growth", MW_FORMAT_GROWTH},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i].name) == 0) {
			*format = names[i].format;
			return 0;
		}
	return -1;
}

static bool ends_in(const char *text, const char *end) {
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool wants_gzip(const char *path, mw_format_t format, mw_gzip_t gzip) {
	if (gzip != MW_GZIP_BY_NAME)
		return gzip == MW_GZIP_ON;
	if (format != MW_FORMAT_PROTO)
		return path != NULL && ends_in(path, ".gz");
	return path == NULL ||
	       !(ends_in(path, ".pb") || ends_in(path, ".proto") || ends_in(path, ".raw"));
}

static int find_heap_types(const mw_profile_t *profile, mw_heap_types_t *types, mw_error_t *error) {
	types->inuse_objects = mw_profile_find_type(profile, "inuse_objects");
	types->inuse_space = mw_profile_find_type(profile, "inuse_space");
	types->alloc_objects = mw_profile_find_type(profile, "alloc_objects");
	types->alloc_space = mw_profile_find_type(profile, "alloc_space");
	if (types->inuse_objects < 0) /* pprof's names for profiles that hold only memory in use */
		types->inuse_objects = mw_profile_find_type(profile, "objects");
	if (types->inuse_space < 0)
		types->inuse_space = mw_profile_find_type(profile, "space");
	if (types->inuse_objects < 0 || types->inuse_space < 0)
		return mw_error_set(error,
				    "cannot write a heap profile: the profile has no sample types "
				    "inuse_objects and inuse_space; write it as profile.proto");
	return 0;
}

static int find_growth_types(const mw_profile_t *profile, mw_heap_types_t *types,
			     mw_error_t *error) {
	types->inuse_objects = mw_profile_find_type(profile, "peak_objects");
	types->inuse_space = mw_profile_find_type(profile, "peak_space");
	if (types->inuse_objects >= 0 && types->inuse_space >= 0)
		return 0;
	return find_heap_types(profile, types, error);
}

/* Returns the type of a profile of time; -1: it is another one. */
static int time_type(const mw_profile_t *profile) {
	int cpu = mw_profile_find_type(profile, "cpu");
	return cpu >= 0 ? cpu : mw_profile_find_type(profile, "wall");
}

int mw_write_profile(const mw_profile_t *profile, const char *path, mw_format_t format,
		     mw_gzip_t gzip, mw_error_t *error) {
	mw_heap_types_t types;
	bool is_time = format == MW_FORMAT_GPERFTOOLS && time_type(profile) >= 0;
	if (format == MW_FORMAT_GROWTH ? find_growth_types(profile, &types, error) != 0
				       : format != MW_FORMAT_PROTO && !is_time &&
						 find_heap_types(profile, &types, error) != 0)
		return -1;
	mw_output_t *output = mw_output_open(path, wants_gzip(path, format, gzip), error);
	if (output == NULL)
		return -1;
	switch (format) {
	case MW_FORMAT_PROTO:
		mw_write_proto(profile, output);
		break;
	case MW_FORMAT_JEMALLOC:
		mw_write_heap_v2(profile, &types, output);
		break;
	case MW_FORMAT_SYMBOLIZED:
		mw_write_symbolized(profile, &types, output);
		break;
	case MW_FORMAT_GPERFTOOLS:
		if (is_time)
			mw_write_cpu(profile, (size_t)time_type(profile), output);
		else
			mw_write_gperftools(profile, &types, output);
		break;
	case MW_FORMAT_GROWTH:
		mw_write_growth(profile, &types, output);
		break;
	}
	return mw_output_close(output, error);
}
