/* SPDX-License-Identifier: MIT
 * leaks_text.c -- the result of a leak check as text: sums of all blocks, and a paragraph for each
 * stack of sampled ones. */
#include "cmd/leaks/leaks_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "formats/state/state_file.h"
#include "model/text.h"
#include "report/text/style.h"
#include "report/text/units.h"

/* Rates over a shorter time mean nothing. */
#define RATE_MIN_NS INT64_C(1000000000)

static const char *bytes_of(uint64_t value, char buffer[32]) {
	return mw_format_bytes((int64_t)(value & INT64_MAX), buffer, 32);
}

static const char *plural(uint64_t count) {
	return count == 1 ? "" : "s";
}

void mw_leaks_print_amount(FILE *out, int64_t bytes, int64_t objects) {
	char size[32], blocks[32];
	fprintf(out, "%s in %s", mw_format_bytes(bytes, size, sizeof(size)),
		mw_format_counted(objects, "block", blocks, sizeof(blocks)));
}

static int64_t number_of(const mw_profile_t *p, size_t sample, const char *key) {
	const mw_label_t *label = mw_profile_label(p, sample, key);
	return label != NULL ? label->number : 0;
}

static int64_t value_of(const mw_profile_t *p, size_t sample, const char *type) {
	int index = mw_profile_find_type(p, type);
	return index >= 0 ? mw_profile_values(p, sample)[index] : 0;
}

mw_leak_stack_t mw_leak_stack_of(const mw_profile_t *p, const mw_stack_t *stack) {
	mw_leak_stack_t sums = {.oldest_ns = INT64_MAX, .peek = ""};
	size_t i = stack->sample;
	do {
		const mw_label_t *kind = mw_profile_label(p, i, MW_LABEL_LEAK);
		const mw_label_t *peek = mw_profile_label(p, i, MW_LABEL_PEEK);
		bool is_direct =
			kind != NULL && strcmp(mw_profile_string(p, kind->text), "direct") == 0;
		int k = is_direct ? MW_LEAK_KIND_DIRECT : MW_LEAK_KIND_INDIRECT;
		sums.objects[k] += value_of(p, i, "inuse_objects");
		sums.bytes[k] += value_of(p, i, "inuse_space");
		sums.below_bytes += value_of(p, i, "below_space");
		sums.least_bytes += number_of(p, i, MW_LABEL_LEAST);
		sums.most_bytes += number_of(p, i, MW_LABEL_MOST);
		int64_t oldest_ns = number_of(p, i, MW_LABEL_OLDEST);
		int64_t newest_ns = number_of(p, i, MW_LABEL_NEWEST);
		sums.oldest_ns = oldest_ns < sums.oldest_ns ? oldest_ns : sums.oldest_ns;
		if (newest_ns < sums.newest_ns)
			continue;
		sums.newest_ns = newest_ns;
		sums.peek = peek != NULL ? mw_profile_string(p, peek->text) : sums.peek;
	} while (++i < p->sample_count && mw_profile_same_stack(p, stack->sample, i));
	return sums;
}

static void print_title(FILE *out, const mw_leak_report_t *r) {
	const mw_profile_t *p = r->profile;
	const mw_state_leak_check_t *c = r->check;
	char leaked[32], all[32];
	uint64_t blocks = c->direct_blocks + c->indirect_blocks;
	mw_text_print(out, mw_profile_string(p, p->origin.program));
	fprintf(out, " (pid %" PRIu32 "): ", p->origin.pid);
	if (c->live_blocks == 0) {
		fputs("no leaks: no block is in use\n", out);
		return;
	}
	if (blocks == 0) {
		fprintf(out, "%sno leaks%s: pointers lead to all %" PRIu64 " block%s, %s\n",
			mw_style(MW_STYLE_GOOD), mw_style(MW_STYLE_PLAIN), c->live_blocks,
			plural(c->live_blocks), bytes_of(c->live_bytes, all));
		return;
	}
	fprintf(out, "%s%" PRIu64 " block%s leaked%s, %s of %s in %" PRIu64 " block%s\n",
		mw_style(MW_STYLE_BAD), blocks, plural(blocks), mw_style(MW_STYLE_PLAIN),
		bytes_of(c->direct_bytes + c->indirect_bytes, leaked), bytes_of(c->live_bytes, all),
		c->live_blocks, plural(c->live_blocks));
}

static void print_check(FILE *out, const mw_leak_report_t *r) {
	const mw_state_leak_check_t *c = r->check;
	char a[MW_SHOW_BYTES], b[32], d[32];
	if (c->direct_blocks + c->indirect_blocks > 0) {
		fprintf(out, "  direct    %s in %" PRIu64 " block%s that no pointer leads to\n",
			bytes_of(c->direct_bytes, b), c->direct_blocks, plural(c->direct_blocks));
		fprintf(out,
			"  indirect  %s in %" PRIu64 " block%s that only leaked blocks lead to\n",
			bytes_of(c->indirect_bytes, b), c->indirect_blocks,
			plural(c->indirect_blocks));
	}
	fprintf(out, "  checked   %s: paused for %s, ", mw_show_time(c->realtime_ns, a),
		mw_format_nanoseconds((int64_t)(c->pause_ns & INT64_MAX), b, sizeof(b)));
	fprintf(out, "searched for %s\n",
		mw_format_nanoseconds((int64_t)(c->scan_ns & INT64_MAX), b, sizeof(b)));
	fprintf(out, "  read      %s of blocks and %s of other memory; %" PRIu32 " thread%s\n",
		bytes_of(c->read_block_bytes, b), bytes_of(c->root_bytes, d), c->threads,
		plural(c->threads));
	if (c->unread_bytes > 0)
		fprintf(out,
			"  note      %s could not be read: what only they lead to counts as "
			"leaked\n",
			bytes_of(c->unread_bytes, b));
	if (mw_heap_is_minor(c->live_bytes, c->root_bytes))
		fprintf(out,
			"  note      most of the process's memory came past malloc, from an "
			"allocator of its own or from mmap, and is not searched for leaks; "
			"'mallow doctor %" PRIu32 "' tells more\n",
			r->profile->origin.pid);
	if (c->running_threads > 0)
		fprintf(out,
			"  note      %" PRIu32 " thread%s %s every signal: the registers are not "
			"known, and the whole stack counts\n",
			c->running_threads, plural(c->running_threads),
			c->running_threads == 1 ? "blocks" : "block");
	if (r->estimate.is_more)
		fprintf(out,
			"  note      about %s in %.3g blocks leaked, as the sampled ones say: "
			"pointers "
			"to ends of arrays hide the others; 'mallow run --exact' shows each\n",
			mw_format_bytes((int64_t)fmin(r->estimate.bytes, 0x1p62), b, sizeof(b)),
			r->estimate.blocks);
	if (r->earlier != NULL)
		fprintf(out,
			"  before    %s: %" PRIu64 " block%s leaked, %s; stacks are of blocks that "
			"both checks found\n",
			mw_show_time(r->earlier->realtime_ns, a),
			r->earlier->direct_blocks + r->earlier->indirect_blocks,
			plural(r->earlier->direct_blocks + r->earlier->indirect_blocks),
			bytes_of(r->earlier->direct_bytes + r->earlier->indirect_bytes, b));
}

static void print_classes(FILE *out, const mw_state_leak_check_t *c) {
	char size[32], live[32], leaked[32];
	fprintf(out, "\n%s%12s %12s %12s %12s %12s %12s%s\n", mw_style(MW_STYLE_HEAD), "block size",
		"blocks", "direct", "indirect", "leaked bytes", "of", mw_style(MW_STYLE_PLAIN));
	for (uint64_t i = 0; i < c->class_count; i++) {
		const mw_state_leak_class_t *its = &c->classes[i];
		if (its->direct_blocks + its->indirect_blocks == 0)
			continue;
		fprintf(out, "%12s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12s %12s\n",
			its->block_bytes != 0 ? bytes_of(its->block_bytes, size) : "larger",
			its->live_blocks, its->direct_blocks, its->indirect_blocks,
			bytes_of(its->direct_bytes + its->indirect_bytes, leaked),
			bytes_of(its->live_bytes, live));
	}
}

static bool is_any_suppressed(const mw_suppressions_t *suppressions) {
	for (size_t i = 0; i < suppressions->count; i++)
		if (suppressions->rows[i].objects > 0)
			return true;
	return false;
}

/* Says why there is no stack. */
static void print_lack(FILE *out, const mw_leak_report_t *r) {
	char rate[32];
	if (r->sampled == 0)
		fprintf(out,
			"no stacks: no sampled block is among them (one sample in %s); 'mallow set "
			"PID rate=...' makes samples finer, 'mallow run --exact' takes each "
			"block\n",
			mw_format_bytes(r->profile->period, rate, sizeof(rate)));
	else if (is_any_suppressed(r->suppressions))
		fputs("no other stacks\n", out);
	else if (r->earlier != NULL)
		fputs("no stacks: no sampled block was leaked in both checks\n", out);
	else
		fputs("no stacks: the sampled blocks among them were freed since, or options leave "
		      "them out\n",
		      out);
}

/* Says what the stacks below stand for. */
static void print_meaning(FILE *out, const mw_leak_report_t *r, size_t stacks) {
	char rate[32];
	fputc('\n', out);
	if (r->check->leaks_used < r->check->leaks_found)
		fprintf(out,
			"the state file is full: it holds %" PRIu64 " of %" PRIu64
			" sampled leaks\n",
			r->check->leaks_used, r->check->leaks_found);
	if (stacks == 0)
		print_lack(out, r);
	else if (r->profile->period > 1)
		fprintf(out,
			"stacks of the sampled blocks among them, one sample in %s: sizes and "
			"counts are estimates\n\n",
			mw_format_bytes(r->profile->period, rate, sizeof(rate)));
}

static void print_ages(FILE *out, const mw_profile_t *p, const mw_leak_stack_t *sums) {
	char oldest[32], newest[32], rate[32];
	int64_t span_ns = sums->newest_ns - sums->oldest_ns;
	fprintf(out, "    allocated  %s ago",
		mw_format_nanoseconds(p->time_ns - sums->oldest_ns, oldest, sizeof(oldest)));
	if (span_ns > 0)
		fprintf(out, " to %s ago",
			mw_format_nanoseconds(p->time_ns - sums->newest_ns, newest,
					      sizeof(newest)));
	if (span_ns >= RATE_MIN_NS) {
		double bytes = (double)sums->bytes[0] + (double)sums->bytes[1];
		fprintf(out, ", %s per hour",
			mw_format_bytes((int64_t)(bytes / (double)span_ns * 3600e9), rate,
					sizeof(rate)));
	}
	fputc('\n', out);
}

static void print_peek(FILE *out, const char *hex) {
	char text[MW_LEAK_PEEK_BYTES + 1];
	size_t length = 0;
	if (*hex == '\0')
		return;
	fputs("    begins     ", out);
	for (; hex[0] != '\0' && hex[1] != '\0' && length < MW_LEAK_PEEK_BYTES; hex += 2) {
		const char pair[] = {hex[0], hex[1], '\0'};
		int byte = (int)strtol(pair, NULL, 16);
		fprintf(out, "%s%s", length % 8 == 0 && length > 0 ? " " : "", pair);
		text[length++] = byte < 128 && isprint(byte) ? (char)byte : '.';
	}
	text[length] = '\0';
	fprintf(out, "  %s\n", text);
}

static void print_stack(FILE *out, const mw_leak_report_t *r, const mw_stacks_t *stacks,
			size_t number) {
	static const char *const kinds[MW_LEAK_KINDS] = {"direct", "indirect"};
	const mw_stack_t *stack = &stacks->stacks[number];
	const mw_profile_t *p = r->profile;
	mw_leak_stack_t sums = mw_leak_stack_of(p, stack);
	int64_t value = stack->values[stacks->type];
	char a[32], b[32];
	fprintf(out, "#%zu  ", number + 1);
	mw_leaks_print_amount(out, value, sums.objects[0] + sums.objects[1]);
	if (sums.least_bytes < sums.most_bytes)
		fprintf(out, " (95 in 100: %s .. %s)",
			mw_format_bytes(sums.least_bytes, a, sizeof(a)),
			mw_format_bytes(sums.most_bytes, b, sizeof(b)));
	fputc('\n', out);
	for (int k = 0; k < MW_LEAK_KINDS; k++)
		if (sums.objects[k] > 0) {
			fprintf(out, "    %-10s ", kinds[k]);
			mw_leaks_print_amount(out, sums.bytes[k], sums.objects[k]);
			if (k == MW_LEAK_KIND_DIRECT && sums.below_bytes > 0)
				fprintf(out, ", and %s below",
					mw_format_bytes(sums.below_bytes, b, sizeof(b)));
			fputc('\n', out);
		}
	print_ages(out, p, &sums);
	mw_stack_print_shares(out, stack, MW_SHARE_SIZES, "sizes");
	mw_stack_print_shares(out, stack, MW_SHARE_THREADS, "threads");
	print_peek(out, sums.peek);
	mw_stack_print_frames(out, p, &p->samples[stack->sample], false, r->columns);
	fputc('\n', out);
}

static void print_suppressed(FILE *out, const mw_suppressions_t *suppressions) {
	for (size_t i = 0; i < suppressions->count; i++) {
		const mw_suppression_t *s = &suppressions->rows[i];
		if (s->objects == 0)
			continue;
		fputs("suppressed  ", out);
		mw_leaks_print_amount(out, s->bytes, s->objects);
		fputs(" by ", out);
		mw_text_print(out, s->pattern);
		fputc('\n', out);
	}
}

/* Of bytes in the title that no stack stands for. */
static void print_unsampled(FILE *out, const mw_leak_report_t *r) {
	const mw_state_leak_check_t *c = r->check;
	char bytes[32], all[32];
	if (r->estimate.unsampled_bytes == 0 || r->earlier != NULL)
		return;
	fprintf(out, "no stack    %s of the %s: these sizes have no sampled block\n",
		bytes_of(r->estimate.unsampled_bytes, bytes),
		bytes_of(c->direct_bytes + c->indirect_bytes, all));
}

bool mw_leaks_are_found(const mw_leak_report_t *r) {
	bool is_any = r->check->direct_blocks + r->check->indirect_blocks > 0;
	/* Nothing is known of leaks without samples but their sums. */
	if (r->earlier != NULL || is_any_suppressed(r->suppressions))
		return is_any && r->profile->sample_count > 0;
	return is_any;
}

int mw_leaks_print_text(FILE *out, const mw_leak_report_t *r, mw_error_t *error) {
	mw_stacks_t stacks;
	if (mw_stacks_init(&stacks, r->profile, "inuse_space", error) != 0)
		return -1;
	print_title(out, r);
	print_check(out, r);
	if (r->check->direct_blocks + r->check->indirect_blocks > 0) {
		print_classes(out, r->check);
		print_meaning(out, r, stacks.count);
	}
	size_t shown = 0;
	for (; shown < stacks.count && (r->row_limit == 0 || shown < r->row_limit); shown++)
		print_stack(out, r, &stacks, shown);
	if (shown < stacks.count)
		fprintf(out, "... and %zu more stacks\n", stacks.count - shown);
	if (stacks.count > 0)
		print_unsampled(out, r);
	print_suppressed(out, r->suppressions);
	mw_stacks_release(&stacks);
	return 0;
}
