/* SPDX-License-Identifier: MIT
 * option_values.h -- the values of all options of the command, each of the type of its kind.
 * Layer: cli. A row of the table of subcommands names the member that its option fills in
 * (MW_BOUND() of options.h), and the compiler compares the types. Options of one name in several
 * subcommands share a member, unless one is a flag and the other takes an argument. */
#ifndef MW_TOOL_CLI_OPTION_VALUES_H
#define MW_TOOL_CLI_OPTION_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All begin with these two members. `text`: as it was written; NULL of a flag or if not given. */
typedef struct mw_text_value {
	bool given;
	const char *text;
} mw_text_value_t;

typedef struct mw_flag_value {
	bool given;
	const char *text;
	bool is_off; /* a switch that is on by default was given as false */
} mw_flag_value_t;

typedef struct mw_list_value {
	bool given;
	const char *text;   /* the last */
	const char **texts; /* all */
	size_t text_count, text_capacity;
} mw_list_value_t;

typedef struct mw_number_value {
	bool given;
	const char *text;
	uint64_t number;
} mw_number_value_t;

typedef struct mw_seconds_value {
	bool given;
	const char *text;
	double seconds;
} mw_seconds_value_t;

typedef struct mw_fraction_value {
	bool given;
	const char *text;
	double fraction;
} mw_fraction_value_t;

/* Most rows of a list that are bound to no member. */
enum { MW_UNBOUND_OPTIONS_MAX = 64 };

typedef struct mw_option_values {
	/* Of options that only one list's owner looks up, by the list (mw_argument()): flags and
	 * texts, each at the index of its row among the subcommand's further options. */
	mw_text_value_t unbound[MW_UNBOUND_OPTIONS_MAX];
	mw_flag_value_t addresses, ages, all, alloc_objects, alloc_space, births, brief, bundle,
		call_tree, check_only, contentions, control, cpu, cum, drop_negative, dry_run,
		exact, filefunctions, files, flat, force, functions, in_process, intel_syntax,
		interactive, interval, inuse_objects, inuse_space, json, labels, last, leaks, lines,
		locks, look, man, mean, mean_delay, memory_cost, native, no_browser,
		no_default_suppressions, no_pager, no_symbols, noinlines, normalize, objects,
		outside, peak_objects, peak_space, peek, quiet, relative_percentages, replicated,
		scripts, shared, show_bytes, stacks, strict, symbols, test, total_delay, trim,
		version, wall, wrappers;
	mw_text_value_t add_comment, alive_at, as, base_url, binary_path, cgroup, cluster, color,
		completion, config, event, exclude, focus, folder, format, hide, host, http, ignore,
		lang, instance, listen, made_between, max_alloc_growth, max_growth, max_live,
		max_peak_growth, max_peak, name, names, output, password_file, prune_from, retain,
		sample_index, sample_type, service, service_version, show, show_from, since, sort,
		source_path, state, store, symbolize, syntax, sysroot, tagfocus, taghide, tagignore,
		tagleaf, tagroot, tagshow, tenant, thread, tls_ca, tls_cert, tls_key, to,
		token_file, trim_path, unit, user;
	mw_list_value_t base, baseline, diff_base, label, suppress;
	mw_number_value_t count, cpu_rate, keep, maxdegree, memory, nodecount, rate, seconds, top;
	mw_seconds_value_t detach_after, every, for_time, growth, limit, older, outside_age, retry,
		timeout, wait, watch;
	mw_fraction_value_t divide_by, edgefraction, nodefraction;
} mw_option_values_t;

#endif
