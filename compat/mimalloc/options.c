/* SPDX-License-Identifier: MIT
 * options.c -- mi_option_t and the environment variables MIMALLOC_*: values and effects. Most
 * options of mimalloc concern its own ways to take memory and are kept without effect. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/check.h"
#include "compat/mimalloc/mi_heap.h"
#include "os/platform/secure_environment.h"

#define PREFIX "MIMALLOC_"
/* Longer means forever: the limit of the option dirty_decay_ms. */
#define DELAY_MAX_MS 315360000000
#define PREFIX_LENGTH (sizeof PREFIX - 1)

typedef enum kind { FLAG, COUNT, KIB } kind_t;

#define NAME_BYTES 32

typedef struct option {
	char name[NAME_BYTES];
	uint8_t kind;   /* kind_t */
	uint8_t option; /* mi_option_t; for an old name: the option that it stands for */
} option_t;

static const option_t rows[] = {
#define MI_OPTION(name, kind, standard) {#name, kind, mi_option_##name},
#define MI_OPTION_OLD(old, name) {#old, COUNT, mi_option_##name},
#include "compat/mimalloc/options.def"
#undef MI_OPTION
#undef MI_OPTION_OLD
};
static _Atomic long values[_mi_option_last] = {
#define MI_OPTION(name, kind, standard) [mi_option_##name] = standard,
#define MI_OPTION_OLD(old, name)
#include "compat/mimalloc/options.def"
#undef MI_OPTION
#undef MI_OPTION_OLD
};
static _Atomic bool is_set[_mi_option_last];

static bool is_option(mi_option_t option) {
	return (unsigned)option < _mi_option_last;
}

/* ---- what options do ---- */

static void apply_purge(void) {
	int64_t ms = values[mi_option_purge_delay];
	int64_t factor = values[mi_option_arena_purge_mult];
	if (factor > 1 && __builtin_mul_overflow(ms, factor, &ms))
		ms = -1;
	if (ms < 0 || ms > DELAY_MAX_MS)
		ms = -1;
	mw_mi_heap_set_decay(ms);
	mw_mi_calls()->set_decay(ms);
}

static void apply_huge_pages(void) {
	bool large = values[mi_option_allow_large_os_pages] > 0;
	bool never = values[mi_option_allow_thp] == 0;
	mw_mi_calls()->set_huge_pages(large, never,
				      large || values[mi_option_reserve_huge_os_pages] > 0);
}

static void apply(mi_option_t option) {
	switch (option) {
	case mi_option_purge_delay:
	case mi_option_arena_purge_mult:
		apply_purge();
		break;
	case mi_option_purge_decommits:
		mw_mi_calls()->set_lazy_purge(values[option] == 0);
		break;
	case mi_option_allow_large_os_pages:
	case mi_option_reserve_huge_os_pages:
	case mi_option_allow_thp:
		apply_huge_pages();
		break;
	case mi_option_use_numa_nodes:
		if (values[option] == 1)
			mw_mi_calls()->set_one_node();
		break;
	default: /* read where it is needed, or without effect */
		break;
	}
}

/* ---- mi_option_t ---- */

long mi_option_get(mi_option_t option) {
	return is_option(option) ? values[option] : 0;
}

long mi_option_get_clamp(mi_option_t option, long min, long max) {
	long value = mi_option_get(option);
	return value < min ? min : value > max ? max : value;
}

size_t mi_option_get_size(mi_option_t option) {
	long value = mi_option_get(option);
	if (!is_option(option) || value < 0)
		return 0;
	return rows[option].kind == KIB ? (size_t)value << 10 : (size_t)value;
}

void mi_option_set(mi_option_t option, long value) {
	if (!is_option(option))
		return;
	mi_process_init();
	is_set[option] = true;
	values[option] = value;
	apply(option);
}

void mi_option_set_default(mi_option_t option, long value) {
	if (is_option(option) && !is_set[option]) {
		mi_process_init();
		values[option] = value;
		apply(option);
	}
}

bool mi_option_is_enabled(mi_option_t option) {
	return mi_option_get(option) != 0;
}

void mi_option_set_enabled(mi_option_t option, bool enable) {
	mi_option_set(option, enable);
}

void mi_option_set_enabled_default(mi_option_t option, bool enable) {
	mi_option_set_default(option, enable);
}

void mi_option_enable(mi_option_t option) {
	mi_option_set(option, 1);
}

void mi_option_disable(mi_option_t option) {
	mi_option_set(option, 0);
}

void mi_options_print_out(mi_output_fun *out, void *arg) {
	mw_mi_text_t text = {.length = 0};
	for (unsigned i = 0; i < _mi_option_last; i++)
		mw_mi_text_add(&text, "option '%s': %ld%s\n", rows[i].name, (long)values[i],
			       rows[i].kind == KIB ? " KiB" : "");
	mw_mi_text_print(&text, out, arg);
}

void mi_options_print(void) {
	mi_options_print_out(NULL, NULL);
}

/* ---- variables ---- */

/* `words` end with a blank each. */
static bool is_word(const char *text, const char *words) {
	size_t length = strlen(text);
	for (; *words; words += strcspn(words, " ") + 1)
		if (strcspn(words, " ") == length && strncasecmp(words, text, length) == 0)
			return true;
	return false;
}

/* A number, of KiB with a suffix K, M, G or T, perhaps followed by B or iB. */
static bool parse_number(const char *text, bool is_kib, long *value) {
	char *end;
	errno = 0;
	*value = strtol(text, &end, 10);
	if (errno != 0 || end == text)
		return false;
	if (is_kib) {
		static const char suffixes[] = "KMGT";
		const char *suffix = *end ? strchr(suffixes, *end & ~0x20) : NULL;
		int shift = suffix ? 10 * (int)(suffix - suffixes) : -10;
		if (suffix)
			end++;
		if (strncasecmp(end, "iB", sizeof "iB") == 0 ||
		    strncasecmp(end, "B", sizeof "B") == 0)
			end += strlen(end);
		if (*value < 0 || (shift > 0 && *value > LONG_MAX >> shift))
			return false;
		*value = shift < 0 ? (*value + 1023) >> 10 : *value << shift;
	}
	return *end == '\0';
}

static bool parse(const char *text, kind_t kind, long *value) {
	if (*text == '\0' || is_word(text, "1 true yes on "))
		*value = 1;
	else if (is_word(text, "0 false no off "))
		*value = 0;
	else
		return parse_number(text, kind == KIB, value);
	return true;
}

/* `entry`: NAME=VALUE behind the prefix. */
static void take_variable(const char *entry) {
	size_t length = strcspn(entry, "=");
	if (entry[length] != '=')
		return;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const option_t *row = &rows[i];
		if (strncasecmp(row->name, entry, length) != 0 || row->name[length] != '\0')
			continue;
		long value;
		if (parse(entry + length + 1, rows[row->option].kind, &value))
			mi_option_set(row->option, value);
		else
			mw_warn("%s%.*s: '%.100s' is not a number%s; the variable is ignored",
				PREFIX, (int)length, entry, entry + length + 1,
				rows[row->option].kind == FLAG ? ", true or false" : "");
		return;
	}
	mw_warn("%s%.*s: not an option of mimalloc that mallow knows; the variable is ignored",
		PREFIX, (int)length, entry);
}

static void print_stats_at_exit(void) {
	mi_stats_print(NULL);
}

static MW_COLD void take_variables(void) {
	mi_process_init();
	for (char **entry = mw_environment_all(); *entry; entry++)
		if (strncmp(*entry, PREFIX, PREFIX_LENGTH) == 0)
			take_variable(*entry + PREFIX_LENGTH);
	if (values[mi_option_verbose]) {
		mw_mi_print("mallow %s with the interface of mimalloc %d.%d.%d\n", MALLOW_VERSION,
			    mi_version() / 100, mi_version() / 10 % 10, mi_version() % 10);
		mi_options_print();
	}
	if (values[mi_option_show_stats] || values[mi_option_verbose])
		atexit(print_stats_at_exit);
}

__attribute__((constructor)) static void look_for_variables(void) {
	for (char **entry = mw_environment_all(); *entry; entry++) {
		const char *name = *entry;
		if (name[0] == 'M' && name[1] == 'I' && strncmp(name, PREFIX, PREFIX_LENGTH) == 0) {
			take_variables();
			return;
		}
	}
}
