/* SPDX-License-Identifier: MIT
 * attach_probes.c -- one program for each kind of function, one link for each file. */
#include "live/outside/attach_probes.h"

#include <stdlib.h>
#include <unistd.h>

#include "model/memory.h"

typedef struct choice {
	mw_probe_kind_t kind;
	bool is_any_emulated; /* all sites of the kind; else those where this is so: */
	bool is_emulated;
} choice_t;

/* Collects the sites of one file.  The caller frees the result. */
static uint64_t *sites_of(const mw_outside_functions_t *functions, size_t module,
			  const choice_t *choice, bool at_return, uint32_t *count) {
	uint64_t *offsets = mw_xcalloc(functions->count, sizeof(*offsets));
	*count = 0;
	for (size_t i = 0; i < functions->count; i++) {
		const mw_outside_function_t *function = &functions->all[i];
		if (function->module == module && function->kind == choice->kind &&
		    (choice->is_any_emulated || function->site.is_emulated == choice->is_emulated))
			offsets[(*count)++] =
				function->offset + (at_return ? 0 : function->site.offset);
	}
	return offsets;
}

static int attach(mw_uprobes_t *probes, int program, uint32_t type, const choice_t *choice,
		  const mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		  int pid, bool at_return, mw_error_t *error) {
	int result = program < 0 ? -1 : 0;
	for (size_t i = 0; result == 0 && i < modules->count; i++) {
		mw_uprobe_places_t places = {
			.file = modules->all[i].fd, .pid = pid, .at_return = at_return};
		uint64_t *offsets = sites_of(functions, i, choice, at_return, &places.count);
		places.offsets = offsets;
		result = mw_uprobes_attach(probes, program, type, &places, error);
		free(offsets);
	}
	return result;
}

static bool has_kind(const mw_outside_functions_t *functions, mw_probe_kind_t kind) {
	for (size_t i = 0; i < functions->count; i++)
		if (functions->all[i].kind == kind)
			return true;
	return false;
}

/* Probes free() first: a block that is sampled is then seen when it is freed. */
int mw_outside_probe(mw_uprobes_t *probes, const mw_probe_plan_t *plan,
		     const mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		     int pid, mw_error_t *error) {
	int result = 0;
	for (int kind = MW_PROBE_KINDS - 1; result == 0 && kind >= 0; kind--) {
		const choice_t choice = {.kind = (mw_probe_kind_t)kind, .is_any_emulated = true};
		if (!has_kind(functions, choice.kind))
			continue;
		if (kind != MW_PROBE_FREE && plan->way == MW_PROBE_RETURNS) {
			int program = mw_probe_load_return(plan, error);
			result = attach(probes, program, 0, &choice, functions, modules, pid, true,
					error);
			if (program >= 0)
				close(program);
		}
		int program = result == 0 ? mw_probe_load(plan, choice.kind, error) : -1;
		if (program < 0)
			return -1;
		result = attach(probes, program, mw_probe_attach_type(plan, choice.kind), &choice,
				functions, modules, pid, false, error);
		close(program);
	}
	return result;
}

int mw_outside_count(mw_uprobes_t *probes, const mw_probe_plan_t *plan,
		     const mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		     int pid, mw_error_t *error) {
	int result = 0;
	for (int kind = 0; result == 0 && kind < MW_PROBE_KINDS; kind++)
		for (int is_emulated = 0; result == 0 && is_emulated < 2; is_emulated++) {
			const choice_t choice = {.kind = (mw_probe_kind_t)kind,
						 .is_emulated = is_emulated != 0};
			if (!has_kind(functions, choice.kind))
				continue;
			int program =
				mw_probe_load_counter(plan, choice.kind, choice.is_emulated, error);
			result = attach(probes, program, mw_probe_counter_type(plan), &choice,
					functions, modules, pid, false, error);
			if (program >= 0)
				close(program);
		}
	return result;
}
