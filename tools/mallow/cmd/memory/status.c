/* SPDX-License-Identifier: MIT
 * status.c -- `mallow status`: one process, without its stacks. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/cpu_rate.h"
#include "cmd/input/load.h"
#include "cmd/input/selected_processes.h"
#include "cmd/memory/mapping_owners.h"
#include "cmd/memory/memory_commands.h"
#include "cmd/process/settings.h"
#include "live/control.h"
#include "live/process/process.h"
#include "live/process/resident_memory.h"
#include "model/text.h"
#include "report/interval.h"
#include "report/text/resident_text.h"
#include "report/text/units.h"
#include "state/attach.h"

typedef enum stat_unit { unit_bytes, unit_count, unit_ns } stat_unit_t;

static void print_memory(const mw_memory_t *memory) {
	char text[MW_SHOW_BYTES], time_text[MW_SHOW_BYTES];
	printf("  resident   %s now, of which",
	       mw_format_bytes((int64_t)memory->resident_bytes, text, sizeof(text)));
	if (memory->walked_ns > 0)
		printf(" (the heap as of %s)",
		       mw_show_time((uint64_t)memory->walked_ns, time_text));
	putchar('\n');
	for (int use = 0; use < MW_MEMORY_USES; use++) {
		double share = memory->resident_bytes > 0 ? 100.0 * (double)memory->bytes[use] /
								    (double)memory->resident_bytes
							  : 0;
		printf("    %12s  %4.1f%%  %s\n",
		       mw_format_bytes((int64_t)memory->bytes[use], text, sizeof(text)), share,
		       mw_memory_text((mw_memory_use_t)use));
	}
	if (memory->walked_ns <= 0)
		printf("    the process has not walked its heap yet: no counter explains the "
		       "heap\n");
	if (memory->ranges_missing > 0)
		printf("    %llu huge blocks or chunks did not fit into the heap walk: no counter "
		       "explains them\n",
		       (unsigned long long)memory->ranges_missing);
}

static json_t *memory_json(const mw_memory_t *memory) {
	json_t *value = json_object();
	json_object_set_new(value, "resident", json_integer((json_int_t)memory->resident_bytes));
	for (int use = 0; use < MW_MEMORY_USES; use++)
		json_object_set_new(value, mw_memory_name((mw_memory_use_t)use),
				    json_integer((json_int_t)memory->bytes[use]));
	json_object_set_new(value, "blocks", json_integer((json_int_t)memory->blocks_bytes));
	json_object_set_new(value, "heap_walked_ns", json_integer((json_int_t)memory->walked_ns));
	json_object_set_new(value, "ranges_missing",
			    json_integer((json_int_t)memory->ranges_missing));
	return value;
}

static const struct {
	const char *name;
	stat_unit_t unit;
	const char *help;
} stat_rows[] = {
#define MW_STAT(name, unit, help) {#name, unit_##unit, help},
#include "state/stats.def"
#undef MW_STAT
};

typedef struct status_range {
	int64_t estimate;
	mw_interval_t interval;
} status_range_t;

typedef struct status_view {
	const mw_target_t *target;
	const mw_snapshot_t *snapshot;
	const mw_profile_t *profile; /* profile without stacks */
	mw_fate_t fate;
	uint64_t started_ns;
	size_t stat_count;
	bool has_memory; /* the process exists, and smaps can be read */
	mw_memory_t memory;
	mw_resident_t resident; /* of now, or at the peak of a process that has ended */
	const char *arenas;     /* see mw_arenas_of() */
	bool has_interval;      /* the interval of memory in use is known */
	status_range_t bytes, objects;
	char program[64];
	char args[256];
} status_view_t;

static void print_resident(const status_view_t *view) {
	char text[MW_RESIDENT_TEXT_BYTES];
	mw_resident_print(stdout, mw_resident_text(&view->resident, view->arenas, text),
			  mw_terminal_columns(stdout), "  memory     ", "             ");
}

static void line(const char *label, const char *format, ...) MW_PRINTF(2, 3);

static void line(const char *label, const char *format, ...) {
	va_list args;
	printf("  %-10s ", label);
	char *text = NULL;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	mw_text_print(stdout, length >= 0 ? text : "?");
	putchar('\n');
	if (length >= 0)
		free(text);
}

/* True if a request that changes a setting is pending.  A heap walk is a request, too, but
 * changes nothing. */
static bool has_pending_request(const status_view_t *view) {
	const mw_state_control_t *control = &view->snapshot->control;
	const mw_state_live_t *live = &view->snapshot->live;
	return view->target->alive && control->sequence != live->sequence_seen &&
	       (control->want_active != live->active ||
		control->want_mean_bytes != live->mean_bytes ||
		control->want_resets != live->resets_done ||
		control->want_dumps != live->dumps_done);
}

static void print_sampling(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	char rate[MW_SHOW_BYTES], since[MW_SHOW_BYTES], reset[MW_SHOW_BYTES];
	line("sampling", "%s since %s, T = %s", live->active ? "on" : "off",
	     mw_show_time(live->changed_realtime_ns, since), mw_show_rate(live->mean_bytes, rate));
	char pauses[160];
	if (mw_format_pauses(view->profile, pauses, sizeof(pauses))[0] != '\0')
		line("unseen", "%s", pauses);
	if (live->reset_realtime_ns)
		line("reset", "at %s", mw_show_time(live->reset_realtime_ns, reset));
	if (has_pending_request(view))
		line("pending", "%s, T = %s; takes effect once the process allocates",
		     view->snapshot->control.want_active ? "on" : "off",
		     mw_show_rate(view->snapshot->control.want_mean_bytes, rate));
}

/* Returns the larger distance between the estimate and an end of its interval. */
static int64_t half_of(status_range_t range) {
	int64_t below = range.estimate - range.interval.low;
	int64_t above = range.interval.high - range.estimate;
	return below > above ? below : above;
}

static const char *walk_age(const status_view_t *view, char text[MW_SHOW_BYTES]) {
	uint64_t now_ns = mw_now_ns(), walked_ns = (uint64_t)view->memory.walked_ns;
	return mw_show_duration(now_ns > walked_ns ? now_ns - walked_ns : 0, text);
}

/* Entry 0 of stacks and records means none. */
static int64_t used(uint64_t entries) {
	return entries > 0 ? (int64_t)(entries - 1) : 0;
}

static void print_estimates(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	char bytes[MW_SHOW_BYTES], objects[MW_SHOW_BYTES], count[MW_SHOW_BYTES];
	char bytes_off[MW_SHOW_BYTES], objects_off[MW_SHOW_BYTES];
	mw_format_bytes(live->live_bytes, bytes, sizeof(bytes));
	mw_format_count(view->objects.estimate, objects, sizeof(objects));
	if (!view->has_interval)
		line("live", "%s in %s", bytes,
		     mw_format_counted(view->objects.estimate, "object", objects, sizeof(objects)));
	else
		line("live", "%s ± %s in %s ± %s objects (95 %% of cases)", bytes,
		     mw_format_bytes(half_of(view->bytes), bytes_off, sizeof(bytes_off)), objects,
		     mw_format_count(half_of(view->objects), objects_off, sizeof(objects_off)));
	if (view->has_memory && view->memory.walked_ns > 0)
		line("walked", "%s in blocks, by the heap's pages; walked %s ago",
		     mw_format_bytes((int64_t)view->memory.blocks_bytes, bytes, sizeof(bytes)),
		     walk_age(view, count));
	line("allocated", "%s in %s", mw_format_bytes(live->alloc_bytes, bytes, sizeof(bytes)),
	     mw_format_counted(mw_whole_count(live->alloc_objects_q16), "object", objects,
			       sizeof(objects)));
	line("samples", "%s taken, %s, %s",
	     mw_format_count((int64_t)live->samples, bytes, sizeof(bytes)),
	     mw_format_counted(used(live->stacks_used), "stack", objects, sizeof(objects)),
	     mw_format_counted(used(live->records_used), "record", count, sizeof(count)));
	if (live->stacks_forgotten)
		line("forgotten", "%s to which nothing refers: they count as [stack unknown]",
		     mw_format_counted((int64_t)live->stacks_forgotten, "stack", objects,
				       sizeof(objects)));
	if (live->doublings)
		line("cost limit", "reached: a thread was sampled at %u times T",
		     1u << (live->doublings & 31));
	if (live->resident_bytes && !view->has_memory)
		line("resident", "%s in the whole process when it was last seen",
		     mw_format_bytes((int64_t)live->resident_bytes, bytes, sizeof(bytes)));
}

static void print_heap(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	puts("  heap");
	for (size_t i = 0; i < view->stat_count; i++) {
		char text[MW_SHOW_BYTES];
		int64_t value = (int64_t)live->stats[i];
		switch (stat_rows[i].unit) {
		case unit_bytes:
			mw_format_bytes(value, text, sizeof(text));
			break;
		case unit_count:
			mw_format_count(value, text, sizeof(text));
			break;
		case unit_ns:
			mw_show_duration((uint64_t)value, text);
			break;
		}
		printf("    %-20s %12s  %s\n", stat_rows[i].name, text, stat_rows[i].help);
	}
}

/* Prints the settings that differ from their defaults. */
static void print_settings(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	char name[MW_STATE_DUMP_NAME_BYTES], path[MW_STATE_DUMP_PATH_BYTES];
	for (size_t i = 0; i < MW_SETTING_COUNT && i < live->setting_count; i++) {
		char text[MW_SHOW_BYTES];
		if (live->settings[i] != mw_setting_standard((mw_setting_t)i))
			line("set", "%s = %s", mw_setting_name((mw_setting_t)i),
			     mw_show_setting((mw_setting_t)i, live->settings[i], text));
	}
	if (live->dumps_written + live->dumps_failed == 0)
		return;
	line("dumps", "%" PRIu64 " written, %" PRIu64 " failed; name %s", live->dumps_written,
	     live->dumps_failed, mw_show_text(live->dump_name, name, sizeof(name)));
	if (live->last_dump[0])
		line("last dump", "%s", mw_show_text(live->last_dump, path, sizeof(path)));
}

static void print_cpu(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	char since[MW_SHOW_BYTES], used[MW_SHOW_BYTES], wall[MW_SHOW_BYTES];
	if (live->cpu_used == 0)
		return;
	const char *trouble = mw_control_cpu_trouble(live->cpu_error);
	mw_show_time(live->cpu_changed_ns, since);
	if (live->cpu_hz > 0)
		line("CPU time",
		     "sampled since %s, %" PRIu32 " Hz%s, %" PRIu32 " threads, signal %" PRIu32,
		     since, mw_cpu_hz(live->cpu_hz), mw_cpu_of_source(live->cpu_hz),
		     live->cpu_threads, live->cpu_signal);
	else if (trouble != NULL)
		line("CPU time", "not sampled: %s", trouble);
	else if (live->cpu_changed_ns == 0)
		line("CPU time", "not sampled yet");
	else
		line("CPU time", "not sampled since %s", since);
	line("  so far",
	     "%s%s%s in %" PRIu64 " samples; %" PRIu64 " truncated, %" PRIu64 " dropped, %" PRIu64
	     " threads without a timer",
	     mw_show_duration(live->cpu_ns, used), live->wall_ns > 0 ? ", wall-clock " : "",
	     live->wall_ns > 0 ? mw_show_duration(live->wall_ns, wall) : "", live->cpu_samples,
	     live->cpu_truncated, live->cpu_dropped, live->cpu_refused);
}

static void print_attached(const mw_state_live_t *live) {
	char text[MW_SHOW_BYTES];
	if (!(live->flags & MW_STATE_ATTACHED))
		return;
	line("attached", "since %s: what was allocated before is not in the profile",
	     mw_show_time(live->attached_realtime_ns, text));
	line("slots", "%" PRIu32 " in %" PRIu32 " modules, %" PRIu32 " of them loaded since",
	     live->attach_slots, live->attach_modules, live->attach_modules_later);
	if (live->flags & MW_STATE_DETACHED)
		line("detached", "at %s%s", mw_show_time(live->detached_realtime_ns, text),
		     live->attach_reason == MW_ATTACH_REASON_DETACH_TIME
			     ? ", as --detach-after said"
		     : live->attach_reason == MW_ATTACH_REASON_FILTER
			     ? ", because the program was about to filter its system calls"
		     : live->attach_reason != MW_ATTACH_REASON_NONE ? ", by itself after an error"
								    : "");
}

static void print_text(const status_view_t *view, bool is_brief) {
	const mw_state_header_t *header = &view->snapshot->header;
	char time_text[MW_SHOW_BYTES], exe[512], started[576], version[32], title[256];
	uint64_t now_ns = mw_now_ns();
	char age[MW_SHOW_BYTES];
	printf("%s (pid %d): %s\n", view->program, view->target->pid, mw_fate_name(view->fate));
	print_resident(view);
	line("program", "%s",
	     mw_show_text(mw_path_as_started(header, started, sizeof(started)), exe, sizeof(exe)));
	line("arguments", "%s", view->args);
	if (mw_target_title(view->target, title, sizeof(title)))
		line("title", "%s", title);
	line("started", "%s, %s ago", mw_show_time(view->started_ns, time_text),
	     mw_show_duration(now_ns > view->started_ns ? now_ns - view->started_ns : 0, age));
	if (header->parent_pid)
		line("forked", "from pid %u", header->parent_pid);
	if (!view->target->alive)
		line("last seen", "%s",
		     mw_show_time(view->snapshot->live.updated_realtime_ns, time_text));
	print_attached(&view->snapshot->live);
	print_sampling(view);
	print_cpu(view);
	print_estimates(view);
	print_settings(view);
	mw_show_flags(stdout, "  incomplete ", view->snapshot->live.flags);
	line("state file", "%s (mallow %s, layout %u)", view->target->shown,
	     mw_show_text(header->library_version, version, sizeof(version)),
	     header->layout_version);
	if (view->has_memory) {
		print_memory(&view->memory);
		mw_mapping_owners_print(view->snapshot, &view->memory, view->target->pid);
	}
	if (!is_brief && !(view->snapshot->live.flags & MW_STATE_ATTACHED))
		print_heap(view);
}

static json_t *flags_json(uint32_t flags) {
	json_t *list = json_array();
	for (unsigned bit = 0; bit < 32; bit++)
		if (flags & (1u << bit))
			json_array_append_new(list, mw_json_text(mw_flag_name(bit)));
	return list;
}

static json_t *heap_json(const status_view_t *view) {
	json_t *heap = json_object();
	for (size_t i = 0; i < view->stat_count; i++)
		json_object_set_new(heap, stat_rows[i].name,
				    json_integer((json_int_t)view->snapshot->live.stats[i]));
	return heap;
}

static json_t *cpu_json(const mw_state_live_t *live) {
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"hz", mw_cpu_hz(live->cpu_hz)}, {"since_ns", live->cpu_changed_ns},
		{"signal", live->cpu_signal},    {"threads", live->cpu_threads},
		{"cpu_ns", live->cpu_ns},        {"wall_ns", live->wall_ns},
		{"samples", live->cpu_samples},  {"truncated", live->cpu_truncated},
		{"dropped", live->cpu_dropped},  {"refused", live->cpu_refused},
	};
	json_t *cpu = json_object();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(cpu, rows[i].name, json_integer((json_int_t)rows[i].value));
	json_object_set_new(cpu, "by_wall_clock", json_boolean(mw_cpu_is_wall(live->cpu_hz)));
	json_object_set_new(cpu, "source", json_string(mw_cpu_source(live->cpu_hz)));
	return cpu;
}

static json_t *settings_json(const status_view_t *view) {
	json_t *settings = json_object();
	for (size_t i = 0; i < MW_SETTING_COUNT && i < view->snapshot->live.setting_count; i++)
		json_object_set_new(settings, mw_setting_name((mw_setting_t)i),
				    json_integer((json_int_t)view->snapshot->live.settings[i]));
	json_object_set_new(settings, "dump_name", mw_json_text(view->snapshot->live.dump_name));
	return settings;
}

/* Makes a list of the texts between commas. */
static json_t *json_list(const char *texts) {
	json_t *list = json_array();
	while (*texts) {
		char text[sizeof(((mw_state_header_t *)0)->unused_options)];
		size_t length = strcspn(texts, ",");
		snprintf(text, sizeof(text), "%.*s", (int)length, texts);
		json_array_append_new(list, mw_json_text(text));
		texts += length + (texts[length] == ',');
	}
	return list;
}

static json_t *interval_json(const mw_interval_t *interval) {
	json_t *pair = json_array();
	json_array_append_new(pair, json_integer((json_int_t)interval->low));
	json_array_append_new(pair, json_integer((json_int_t)interval->high));
	return pair;
}

static int print_json(const status_view_t *view) {
	const mw_state_live_t *live = &view->snapshot->live;
	const mw_state_header_t *header = &view->snapshot->header;
	json_t *value = json_object();
	json_object_set_new(value, "pid", json_integer(view->target->pid));
	json_object_set_new(value, "pid_namespace",
			    json_integer((json_int_t)header->pid_namespace));
	json_object_set_new(value, "parent_pid", json_integer(header->parent_pid));
	json_object_set_new(value, "program", mw_json_text(view->program));
	json_object_set_new(value, "exe", mw_json_text(header->exe));
	json_object_set_new(value, "arguments", mw_json_text(view->args));
	json_object_set_new(value, "session", mw_json_text(header->session));
	json_object_set_new(value, "unused_options", json_list(header->unused_options));
	json_object_set_new(value, "state", mw_json_text(mw_fate_name(view->fate)));
	json_object_set_new(value, "active", json_boolean(live->active != 0));
	json_object_set_new(value, "cpu", cpu_json(live));
	json_object_set_new(value, "active_since_ns",
			    json_integer((json_int_t)live->changed_realtime_ns));
	json_object_set_new(value, "stops", json_integer((json_int_t)live->stops));
	json_object_set_new(value, "unseen_ns",
			    json_integer((json_int_t)view->profile->origin.off_ns));
	json_object_set_new(value, "seen_share", json_real(mw_seen_share(view->profile)));
	json_object_set_new(value, "request_pending", json_boolean(has_pending_request(view)));
	json_object_set_new(value, "mean_bytes", json_integer((json_int_t)live->mean_bytes));
	json_object_set_new(value, "started_ns", json_integer((json_int_t)view->started_ns));
	json_object_set_new(value, "updated_ns",
			    json_integer((json_int_t)live->updated_realtime_ns));
	json_object_set_new(value, "reset_ns", json_integer((json_int_t)live->reset_realtime_ns));
	json_object_set_new(value, "live_bytes", json_integer((json_int_t)live->live_bytes));
	json_object_set_new(value, "live_objects",
			    json_real((double)live->live_objects_q16 / 65536));
	if (view->has_interval) {
		json_object_set_new(value, "live_bytes_interval",
				    interval_json(&view->bytes.interval));
		json_object_set_new(value, "live_objects_interval",
				    interval_json(&view->objects.interval));
	}
	json_object_set_new(value, "alloc_bytes", json_integer((json_int_t)live->alloc_bytes));
	json_object_set_new(value, "alloc_objects",
			    json_real((double)live->alloc_objects_q16 / 65536));
	json_object_set_new(value, "samples", json_integer((json_int_t)live->samples));
	json_object_set_new(value, "most_times_mean",
			    json_integer((json_int_t)1 << (live->doublings & 31)));
	json_object_set_new(value, "stacks", json_integer(used(live->stacks_used)));
	json_object_set_new(value, "stacks_forgotten",
			    json_integer((json_int_t)live->stacks_forgotten));
	json_object_set_new(value, "records", json_integer(used(live->records_used)));
	json_object_set_new(value, "resident_bytes",
			    json_integer((json_int_t)live->resident_bytes));
	if (view->resident.bytes > 0)
		json_object_set_new(value, "resident",
				    mw_resident_json(&view->resident, view->arenas));
	if (view->has_memory) {
		json_object_set_new(value, "memory", memory_json(&view->memory));
		json_object_set_new(
			value, "mapped_by",
			mw_mapping_owners_json(view->snapshot, &view->memory, view->target->pid));
	}
	json_object_set_new(value, "flags", flags_json(live->flags));
	json_object_set_new(value, "dumps_written", json_integer((json_int_t)live->dumps_written));
	json_object_set_new(value, "dumps_failed", json_integer((json_int_t)live->dumps_failed));
	json_object_set_new(value, "last_dump", mw_json_text(live->last_dump));
	json_object_set_new(value, "settings", settings_json(view));
	json_object_set_new(value, "heap", heap_json(view));
	json_object_set_new(value, "version", mw_json_text(header->library_version));
	json_object_set_new(value, "state_file", mw_json_text(view->target->shown));
	return mw_print_json(value);
}

/* Computes the interval of memory in use from its samples. */
static void set_intervals(status_view_t *view) {
	const mw_snapshot_t *snapshot = view->snapshot;
	mw_spread_t bytes = {0}, objects = {0};
	double mean_bytes = (double)snapshot->live.mean_bytes;
	view->has_interval = snapshot->live.mean_bytes > 1 && snapshot->record_count > 0;
	for (size_t i = 0; i < snapshot->record_count; i++) {
		const mw_state_record_t *record = &snapshot->records[i];
		double weight = (double)record->weight_q16 / 65536;
		mw_spread_add(&bytes, 1, weight, weight * (double)record->usable_bytes, mean_bytes,
			      true);
		mw_spread_add(&objects, 1, weight, weight, mean_bytes, false);
	}
	view->bytes.estimate = snapshot->live.live_bytes;
	view->objects.estimate = mw_whole_count(snapshot->live.live_objects_q16);
	view->bytes.interval = mw_interval_of(view->bytes.estimate, &bytes);
	view->objects.interval = mw_interval_of(view->objects.estimate, &objects);
}

static int show_status(const mw_target_t *target, const void *context, mw_error_t *error) {
	if (!target->is_state)
		return mw_error_set(error,
				    "%s: this is not a state file; 'mallow status' takes a pid or "
				    "a state file, 'mallow report' takes any profile",
				    target->shown);
	mw_snapshot_t *snapshot;
	mw_heap_walk_request(target);
	if (mw_target_read(target, 0, &snapshot, error) != 0)
		return -1;
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_HEAP_WALK;
	/* With every allocation recorded there may be millions of samples, and the values have
	 * no error. */
	if (snapshot->live.mean_bytes > 1)
		what |= MW_SNAPSHOT_RECORDS;
	mw_snapshot_free(snapshot);
	if (mw_target_read(target, what, &snapshot, error) != 0)
		return -1;
	status_view_t view = {
		.target = target,
		.snapshot = snapshot,
		.fate = mw_fate_of(snapshot, mw_target_process(target)),
		.started_ns = mw_target_process(target) > 0
				      ? mw_process_start_realtime_ns(snapshot->header.start_ticks)
				      : snapshot->header.created_realtime_ns,
		.stat_count = sizeof(stat_rows) / sizeof(stat_rows[0]),
	};
	/* A library of another version may have fewer or more statistics. */
	if (snapshot->live.stat_count < view.stat_count)
		view.stat_count = snapshot->live.stat_count;
	mw_error_t unreadable;
	view.has_memory = mw_target_process(target) > 0 &&
			  mw_memory_read(target->pid, snapshot, &view.memory, &unreadable) == 0;
	view.resident = view.has_memory ? mw_memory_parts(&view.memory)
					: mw_resident_from_snapshot(snapshot);
	set_intervals(&view);
	mw_profile_t *profile = mw_profile_from_snapshot(snapshot);
	view.profile = profile;
	view.arenas = mw_arenas_of_snapshot(snapshot);
	mw_show_text(snapshot->header.program, view.program, sizeof(view.program));
	mw_show_arguments(snapshot->header.args, sizeof(snapshot->header.args), view.args,
			  sizeof(view.args));
	const mw_arguments_t *arguments = context;
	int status = MW_EXIT_FINE;
	if (arguments->options.json.given)
		status = print_json(&view);
	else
		print_text(&view, arguments->options.brief.given);
	mw_profile_free(profile);
	mw_snapshot_free(snapshot);
	return status;
}

int mw_cmd_status(const mw_arguments_t *arguments) {
	mw_pager_begin(arguments);
	return mw_on_selected(arguments, show_status, arguments);
}
