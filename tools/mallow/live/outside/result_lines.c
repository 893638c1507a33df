/* SPDX-License-Identifier: MIT
 * result_lines.c -- "R" of the whole, "M" of a mapping, "T" of a thread, "S" of a stack. */
#include "live/outside/result_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

static void write_sum(FILE *out, const mw_outside_sum_t *sum) {
	fprintf(out, " %a %a %" PRIu64, sum->blocks, sum->bytes, sum->samples);
}

/* A name may have any bytes: all but letters of ASCII and the like are written as '?'. */
static void write_threads(FILE *out, const mw_outside_samples_t *samples) {
	size_t count;
	const mw_outside_thread_t *threads = mw_outside_samples_threads(samples, &count);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "T %d ", threads[i].id);
		for (const char *at = threads[i].name; *at != '\0'; at++)
			fputc(*at >= ' ' && *at <= '~' ? *at : '?', out);
		fputc('\n', out);
	}
}

void mw_outside_lines_write(FILE *out, const mw_outside_result_t *r,
			    const mw_outside_modules_t *modules,
			    const mw_outside_samples_t *samples) {
	size_t count;
	const mw_outside_stack_t *stacks = mw_outside_samples_stacks(samples, &count);
	fprintf(out,
		"R %d %a %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %a %a %a %a %d %d %" PRIu64 "\n",
		(int)r->end, r->seconds, r->end_ns, r->calls, r->bytes, r->samples, r->lost,
		r->unfollowed, r->calls_per_second, r->share, r->hit_ns, r->end_share,
		r->follows_new, r->is_user_only, mw_outside_samples_truncated(samples));
	for (size_t i = 0; i < modules->range_count; i++) {
		const mw_outside_range_t *range = &modules->ranges[i];
		const mw_outside_module_t *module = &modules->all[range->module];
		fprintf(out, "M %" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s\n", range->start,
			range->limit, range->offset,
			module->build_id[0] != '\0' ? module->build_id : "-", module->path);
	}
	write_threads(out, samples);
	for (size_t i = 0; i < count; i++) {
		fputc('S', out);
		write_sum(out, &stacks[i].allocated);
		write_sum(out, &stacks[i].live);
		write_sum(out, &stacks[i].old);
		fprintf(out, " %" PRIu64 " %zu", stacks[i].oldest_ns, stacks[i].thread);
		for (size_t k = 0; k < stacks[i].depth; k++)
			fprintf(out, " %" PRIx64, stacks[i].frames[k]);
		fputc('\n', out);
	}
}

static bool read_sum(char **at, mw_outside_sum_t *sum) {
	char *start = *at;
	sum->blocks = strtod(start, at);
	sum->bytes = strtod(*at, at);
	sum->samples = strtoull(*at, at, 10);
	return *at != start;
}

static bool read_stack(char *at, mw_outside_result_t *out) {
	mw_outside_stack_t stack = {.depth = 0};
	size_t capacity = 0;
	bool is_read = read_sum(&at, &stack.allocated) && read_sum(&at, &stack.live) &&
		       read_sum(&at, &stack.old);
	stack.oldest_ns = strtoull(at, &at, 10);
	stack.thread = strtoull(at, &at, 10);
	while (is_read && *at == ' ') {
		char *start = at;
		uint64_t frame = strtoull(at, &at, 16);
		if (at == start)
			break;
		stack.frames = mw_grow(stack.frames, &capacity, stack.depth + 1, sizeof(uint64_t));
		stack.frames[stack.depth++] = frame;
	}
	out->stacks = mw_grow(out->stacks, &out->stack_capacity, out->stack_count + 1,
			      sizeof(*out->stacks));
	out->stacks[out->stack_count++] = stack;
	return is_read && stack.depth > 0 && stack.thread <= out->thread_count;
}

static bool read_mapping(const char *at, mw_outside_result_t *out) {
	mw_outside_mapping_t mapping = {.path = NULL};
	char build_id[130];
	int path_at = 0;
	if (sscanf(at, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %129s%n", &mapping.start,
		   &mapping.limit, &mapping.offset, build_id, &path_at) != 4 ||
	    at[path_at] != ' ')
		return false;
	mapping.path = mw_xstrdup(at + path_at + 1);
	mapping.build_id = mw_xstrdup(build_id[0] != '-' ? build_id : "");
	out->mappings = mw_grow(out->mappings, &out->mapping_capacity, out->mapping_count + 1,
				sizeof(*out->mappings));
	out->mappings[out->mapping_count++] = mapping;
	return true;
}

static bool read_thread(const char *at, mw_outside_result_t *out) {
	mw_outside_thread_t thread = {.id = 0};
	int name_at = 0;
	if (sscanf(at, "%d%n", &thread.id, &name_at) != 1 || at[name_at] != ' ')
		return false;
	snprintf(thread.name, sizeof(thread.name), "%s", at + name_at + 1);
	out->threads = mw_grow(out->threads, &out->thread_capacity, out->thread_count + 1,
			       sizeof(*out->threads));
	out->threads[out->thread_count++] = thread;
	return true;
}

static bool read_whole(const char *at, mw_outside_result_t *r) {
	int end, follows_new, is_user_only;
	bool is_read = sscanf(at,
			      "%d %la %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			      " %" SCNu64 " %la %la %la %la %d %d %" SCNu64,
			      &end, &r->seconds, &r->end_ns, &r->calls, &r->bytes, &r->samples,
			      &r->lost, &r->unfollowed, &r->calls_per_second, &r->share, &r->hit_ns,
			      &r->end_share, &follows_new, &is_user_only, &r->truncated) == 15;
	r->end = is_read ? (mw_outside_end_t)end : MW_OUTSIDE_TIME;
	r->follows_new = is_read && follows_new;
	r->is_user_only = is_read && is_user_only;
	return is_read;
}

int mw_outside_lines_read(char *text, mw_outside_result_t *out, mw_error_t *error) {
	char *rest = NULL;
	bool is_read = false;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		bool is_good = (line[0] == 'R' && read_whole(line + 1, out)) ||
			       (line[0] == 'M' && read_mapping(line + 1, out)) ||
			       (line[0] == 'T' && read_thread(line + 1, out)) ||
			       (line[0] == 'S' && read_stack(line + 1, out));
		if (!is_good)
			return mw_error_set(error, "the process that sampled wrote a damaged line");
		is_read |= line[0] == 'R';
	}
	return is_read ? 0 : mw_error_set(error, "the process that sampled wrote nothing");
}
