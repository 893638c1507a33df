/* SPDX-License-Identifier: MIT
 * findings.c -- the list of findings: adds, sorts, and names the command that shows more. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/detect.h"
#include "model/memory.h"
#include "report/text/units.h"

typedef enum base { OF_TIME, OF_RESIDENT, OF_LIVE } base_t;

static const struct {
	const char *name, *title, *command;
	base_t of;
	mw_detector_t *detect;
} kinds[MW_FINDING_KINDS] = {
#define MW_FINDING(name, title, of, command) {#name, title, command, OF_##of, mw_detect_##name},
#include "advise/kinds.def"
#undef MW_FINDING
};

const char *mw_finding_name(mw_finding_kind_t kind) {
	return kinds[kind].name;
}

const char *mw_finding_kind_title(mw_finding_kind_t kind) {
	return kinds[kind].title;
}

const char *mw_finding_of(mw_finding_kind_t kind, const mw_facts_t *facts) {
	if (kinds[kind].of == OF_TIME)
		return facts->cpu_is_known ? "of CPU time, estimated" : "of the time, estimated";
	return kinds[kind].of == OF_RESIDENT && facts->resident_bytes > 0 ? "of resident memory"
									  : "of memory in use";
}

int64_t mw_fact_memory(const mw_facts_t *facts) {
	return facts->resident_bytes > 0 ? facts->resident_bytes : facts->live_bytes;
}

/* Returns a buffer that stays valid for the next seven calls. */
enum { TEXT_BYTES = 48, TEXT_COUNT = 8 };
static char *next_text(void) {
	static char texts[TEXT_COUNT][TEXT_BYTES];
	static size_t next;
	return texts[next++ % TEXT_COUNT];
}

const char *mw_say_bytes(int64_t bytes) {
	return mw_format_bytes(bytes, next_text(), TEXT_BYTES);
}

const char *mw_say_count(int64_t count) {
	return mw_format_count(count, next_text(), TEXT_BYTES);
}

const char *mw_say_time(int64_t ns) {
	return mw_format_nanoseconds(ns, next_text(), TEXT_BYTES);
}

const char *mw_say_share(double part, double whole) {
	char *text = next_text();
	double percent = whole > 0 ? 100 * part / whole : 0;
	snprintf(text, TEXT_BYTES, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
	return text;
}

void mw_finding_add(mw_findings_t *findings, const mw_finding_t *finding, const char *format, ...) {
	if (!(finding->share >= MW_FINDING_SHARE_MIN))
		return;
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		text = mw_xstrdup("?");
	findings->all = mw_grow(findings->all, &findings->capacity, findings->count + 1,
				sizeof(*findings->all));
	mw_finding_t *added = &findings->all[findings->count++];
	*added = *finding;
	/* Estimates may exceed what there is. */
	added->share = finding->share < 1 ? finding->share : 1;
	added->function = finding->function != NULL ? mw_xstrdup(finding->function) : NULL;
	added->text = text;
}

static int compare(const void *left, const void *right) {
	const mw_finding_t *a = left, *b = right;
	if (a->share > b->share || a->share < b->share)
		return a->share < b->share ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->text, b->text);
}

void mw_advise(const mw_facts_t *facts, mw_findings_t *findings) {
	for (size_t kind = 0; kind < MW_FINDING_KINDS; kind++)
		if (facts->unanswered[kind] == NULL)
			kinds[kind].detect(facts, findings);
	if (findings->count > 1)
		qsort(findings->all, findings->count, sizeof(*findings->all), compare);
}

void mw_findings_free(mw_findings_t *findings) {
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->all[i].function);
		free(findings->all[i].text);
	}
	free(findings->all);
	*findings = (mw_findings_t){0};
}

/* Writes a word for a shell, within single quotes unless each character is harmless. */
static void put_word(FILE *out, const char *word) {
	static const char harmless[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_-./:,+@%";
	if (*word != '\0' && word[strspn(word, harmless)] == '\0') {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word != '\0'; word++)
		fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
	putc('\'', out);
}

/* Writes a regular expression for the whole name.  Characters with a meaning for it or a shell
 * become '.', which matches them. */
static void put_pattern(FILE *out, const char *name) {
	fputs("'^", out);
	for (; *name != '\0'; name++)
		putc(strchr("\\^$.|?*+()[]{}'", *name) != NULL ? '.' : *name, out);
	fputs("$'", out);
}

char *mw_finding_command(const mw_finding_t *finding, const char *target) {
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return mw_xstrdup("");
	for (const char *at = kinds[finding->kind].command; *at != '\0'; at++) {
		if (at[0] != '%') {
			putc(*at, out);
			continue;
		}
		at++;
		if (*at == 'f')
			put_pattern(out, finding->function != NULL ? finding->function : "");
		else
			put_word(out, target);
	}
	return fclose(out) == 0 ? text : mw_xstrdup("");
}
