/* SPDX-License-Identifier: MIT
 * doctor.c -- `mallow doctor`: finds problems before they occur, and says what to do. */
#include "cmd/doctor/doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "formats/state/state_file.h"
#include "live/control.h"
#include "live/process/resident_memory.h"
#include "report/text/style.h"
#include "report/text/units.h"

/* How long a process has to update its statistics. */
#define WALK_SECONDS 0.2

static void look_at_snapshot(mw_doctor_t *doctor, const mw_target_t *target,
			     const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	if (strcmp(header->library_version, MALLOW_VERSION) != 0)
		mw_doctor_say(
			doctor, MW_HEALTH_FINDING, "library",
			"the process runs libmallow.so %s, this command is mallow " MALLOW_VERSION
			"; restart it with the library of this build",
			header->library_version);
	mw_doctor_say_unused(doctor, header->unused_options);
	if (!snapshot->live.active)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "sampling",
			      "sampling is off, so the profile does not change; 'mallow start %d' "
			      "switches it on",
			      target->pid);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINE, "sampling", "sampling is on");
	for (unsigned bit = 0; bit < 32; bit++)
		if (snapshot->live.flags & (1u << bit) && mw_flag_text(bit) != NULL)
			mw_doctor_say(doctor, MW_HEALTH_FINDING, "profile", "%s",
				      mw_flag_text(bit));
	if (snapshot->live.dumps_failed > 0)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "dumps",
			      "%llu dumps could not be written; check the path in dump_name "
			      "('mallow status %d')",
			      (unsigned long long)snapshot->live.dumps_failed, target->pid);
}

/* Compares the heap with the memory that the process has. */
static void look_at_memory(mw_doctor_t *doctor, const mw_target_t *target,
			   const mw_snapshot_t *snapshot) {
	char heap[MW_SHOW_BYTES], all[MW_SHOW_BYTES];
	uint64_t heap_bytes = mw_snapshot_heap_bytes(snapshot);
	uint64_t bytes = mw_memory_anonymous(target->pid);
	if (mw_heap_is_minor(heap_bytes, bytes))
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "memory",
			"the heap has %s of %s of the process's anonymous memory; the rest came "
			"past malloc, from an allocator of the program's own or from mmap: 'mallow "
			"status %d' divides it, and MALLOW_CONF=prof_mappings:true names the calls",
			mw_format_bytes((int64_t)heap_bytes, heap, sizeof(heap)),
			mw_format_bytes((int64_t)bytes, all, sizeof(all)), target->pid);
}

static void look_at_profile(mw_doctor_t *doctor, int pid) {
	char text[16];
	mw_target_t target;
	mw_error_t error;
	mw_snapshot_t *snapshot;
	mw_profile_t *profile;
	snprintf(text, sizeof(text), "%d", pid);
	if (mw_target_resolve(text, &target, &error) != 0) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "profile", "%s", error.text);
		return;
	}
	/* Has the process write its statistics. */
	mw_control_send(&target, &(mw_request_t){.kind = MW_REQUEST_WALK}, WALK_SECONDS,
			&(mw_reply_t){0}, &error);
	if (mw_target_read(&target, 0, &snapshot, &error) != 0) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "profile", "%s", error.text);
	} else {
		look_at_snapshot(doctor, &target, snapshot);
		look_at_memory(doctor, &target, snapshot);
		mw_snapshot_free(snapshot);
	}
	if (mw_load(&target, MW_LOAD_SYMBOLS, MW_LOAD_STACKS, &profile, &error) == 0) {
		mw_doctor_look_at_symbols(doctor, profile);
		mw_profile_free(profile);
	}
	mw_target_release(&target);
}

/* Checks a process.  Returns 0, or -1 with `error`: there is no such process. */
static int look_at_pid(mw_doctor_t *doctor, const char *text, mw_error_t *error) {
	mw_process_t process;
	char *end;
	errno = 0;
	unsigned long pid = strtoul(text, &end, 10);
	if (errno != 0 || pid > INT_MAX || !mw_process_read((int)pid, &process) || process.zombie)
		return mw_error_set(error,
				    "doctor: pid %s: no such process runs; 'mallow ls' lists the "
				    "processes that run mallow",
				    text);
	char *malloc_conf = mw_doctor_variable(process.pid, "MALLOC_CONF");
	char *mallow_conf = mw_doctor_variable(process.pid, "MALLOW_CONF");
	mw_doctor_look_at_library(doctor, malloc_conf, mallow_conf);
	free(malloc_conf);
	free(mallow_conf);
	mw_doctor_look_at_process(doctor, &process);
	if (mw_process_has_library(process.pid))
		look_at_profile(doctor, process.pid);
	/* What was found of it then is not true of it. */
	if (mw_process_has_ended(process.pid, process.start_ticks))
		return mw_error_set(error, "doctor: pid %s (%s): the process has ended", text,
				    process.name);
	return 0;
}

static const char *const health_names[] = {"fine", "note", "finding"};

enum { HEALTH_COLUMNS = 7, TOPIC_COLUMNS = 13, TEXT_COLUMN = HEALTH_COLUMNS + TOPIC_COLUMNS + 4 };

static void print_text(const mw_doctor_t *doctor) {
	int columns = mw_terminal_columns(stdout);
	for (size_t i = 0; i < doctor->count; i++) {
		const mw_diagnosis_t *item = &doctor->items[i];
		static const mw_style_t styles[] = {MW_STYLE_GOOD, MW_STYLE_WARM, MW_STYLE_BAD};
		printf("%s%-*s%s  %-*s  ", mw_style(styles[item->health]), HEALTH_COLUMNS,
		       health_names[item->health], mw_style(MW_STYLE_PLAIN), TOPIC_COLUMNS,
		       item->topic);
		mw_print_wrapped(stdout, item->text, TEXT_COLUMN, TEXT_COLUMN,
				 columns > 0 ? columns - 1 : INT_MAX);
	}
}

static size_t count_findings(const mw_doctor_t *doctor) {
	size_t count = 0;
	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->items[i].health == MW_HEALTH_FINDING;
	return count;
}

static int print_json(const mw_doctor_t *doctor) {
	json_t *value = json_object(), *list = json_array();
	for (size_t i = 0; i < doctor->count; i++) {
		json_t *item = json_object();
		json_object_set_new(item, "health",
				    json_string(health_names[doctor->items[i].health]));
		json_object_set_new(item, "topic", json_string(doctor->items[i].topic));
		json_object_set_new(item, "text", mw_json_text(doctor->items[i].text));
		json_array_append_new(list, item);
	}
	json_object_set_new(value, "version", json_string(MALLOW_VERSION));
	json_object_set_new(value, "findings", json_integer((json_int_t)count_findings(doctor)));
	json_object_set_new(value, "checks", list);
	return mw_print_json(value);
}

static int look(mw_doctor_t *doctor, const mw_arguments_t *arguments, mw_error_t *error) {
	const char *operand = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
	bool is_pid = operand != NULL && operand[strspn(operand, "0123456789")] == '\0';
	if (is_pid) {
		if (look_at_pid(doctor, operand, error) != 0)
			return -1;
	} else {
		mw_doctor_look_at_library(doctor, getenv("MALLOC_CONF"), getenv("MALLOW_CONF"));
		static const bool loaded[MW_DOCTOR_LIBRARIES] = {[MW_DOCTOR_HEAP] = true};
		mw_doctor_look_at_environment(doctor, 0, loaded);
		if (operand != NULL)
			mw_doctor_look_at_program(doctor, operand);
	}
	mw_doctor_look_at_system(doctor, "");
	return 0;
}

int mw_cmd_doctor(const mw_arguments_t *arguments) {
	mw_doctor_t doctor = {.items = NULL};
	mw_error_t error;
	int status = MW_EXIT_FINE;
	mw_load_take_options(arguments);
	if (look(&doctor, arguments, &error) != 0) {
		mw_complain("%s", error.text);
		status = MW_EXIT_TROUBLE;
	} else if (arguments->options.json.given) {
		status = print_json(&doctor);
	} else {
		mw_pager_begin(arguments);
		print_text(&doctor);
	}
	if (status == MW_EXIT_FINE && count_findings(&doctor) > 0)
		status = MW_EXIT_FINDING;
	mw_doctor_release(&doctor);
	return status;
}
