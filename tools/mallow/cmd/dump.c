/* SPDX-License-Identifier: MIT
 * dump.c -- `mallow dump`: a profile as a file for other tools. */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/show.h"

static const char *suffix_of(mw_format_t format) {
	return format == MW_FORMAT_PROTO ? ".pb.gz" : ".heap";
}

static int dump_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const mw_arguments_t *arguments = context;
	const char *path = mw_argument(arguments, "output")->text;
	const char *format_name = mw_argument(arguments, "format")->text;
	bool symbols = !mw_argument(arguments, "no-symbols")->given;
	mw_format_t format = path ? mw_format_of_name(path) : MW_FORMAT_PROTO;
	if (format_name && mw_format_parse(format_name, &format) != 0)
		return mw_error_set(error, "dump: unknown format '%s'", format_name);
	/* The text formats have no room for names. */
	symbols = symbols && format == MW_FORMAT_PROTO;
	bool labels = mw_argument(arguments, "labels")->given;
	mw_profile_t *profile;
	if (mw_load(target, symbols ? MW_LOAD_SYMBOLS_NOTES : MW_LOAD_NO_SYMBOLS,
		    labels ? MW_LOAD_SPLIT : MW_LOAD_STACKS, &profile, error) != 0)
		return -1;
	char *own_name = NULL;
	if (!path)
		path = own_name =
			mw_profile_file_name(mw_profile_string(profile, profile->origin.program),
					     profile->origin.pid, mw_now_ns(), suffix_of(format));
	int result = mw_write_profile(profile, path, format, MW_GZIP_BY_NAME, error);
	if (result == 0 && strcmp(path, "-") != 0)
		fprintf(stderr, "mallow: profile written: %s\n", path);
	mw_show_flags(stderr, "mallow: note: ", profile->origin.flags);
	free(own_name);
	mw_profile_free(profile);
	return result;
}

int mw_cmd_dump(const mw_arguments_t *arguments) {
	return mw_on_target(arguments->operands[0], dump_target, arguments);
}
