/* SPDX-License-Identifier: MIT
 * builder.c -- makes mappings, locations, stacks and names of threads of a snapshot. */
#include "formats/state/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Farthest that data lies behind the start of a module's code. */
#define DATA_DISTANCE_MAX ((uint64_t)1 << 30)

/* No process has addresses from here to the kernel's (MW_OS_ADDRESS_BITS). */
#define DISPLACEMENT_SHIFT MW_FRAME_MODULE_SHIFT

/* Returns what is added to the addresses of an unloaded module, if another one had or has them. */
static uint64_t displacement_of(const mw_snapshot_t *snapshot, size_t module_index) {
	const mw_state_module_t *module = &snapshot->modules[module_index];
	for (size_t i = 0; i < snapshot->module_count && module->unloaded_ns != 0; i++)
		if (i != module_index && snapshot->modules[i].start < module->limit &&
		    module->start < snapshot->modules[i].limit)
			return (uint64_t)(module_index + 1) << DISPLACEMENT_SHIFT;
	return 0;
}

static uint32_t module_mapping(mw_builder_t *b, size_t module_index) {
	if (b->mappings[module_index] != 0)
		return b->mappings[module_index];
	const mw_state_module_t *module = &b->snapshot->modules[module_index];
	char build_id[2 * sizeof(module->build_id) + 1] = "";
	for (size_t i = 0; i < module->build_id_bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	mw_mapping_t mapping = {
		.start = module->start,
		.limit = module->limit,
		.offset = module->file_offset,
		.bias = module->bias,
		.bias_known = true,
		.displacement = displacement_of(b->snapshot, module_index),
		.loaded_ns = mw_clamped(module->loaded_ns),
		.is_unloaded = module->unloaded_ns != 0,
		.path = mw_profile_intern(b->profile, module->path),
		.build_id = mw_profile_intern(b->profile, build_id),
	};
	if (mw_script_is_module(module->start))
		mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
	b->mappings[module_index] = mw_profile_add_mapping(b->profile, &mapping);
	return b->mappings[module_index];
}

/* Interns a text of the snapshot; 0: it is damaged, or a full file system did not keep it. */
static mw_string_t script_text(mw_builder_t *b, uint32_t number) {
	const mw_snapshot_t *snapshot = b->snapshot;
	if (number == 0 || number + (uint64_t)MW_TEXT_HEAD_ENTRIES > snapshot->text_count)
		return 0;
	uint64_t bytes = snapshot->texts[number + 1];
	size_t room = (snapshot->text_count - number - MW_TEXT_HEAD_ENTRIES) * sizeof(uint64_t);
	if (bytes > MW_TEXT_BYTES_MAX || bytes > room)
		return 0;
	const char *text = (const char *)&snapshot->texts[number + MW_TEXT_HEAD_ENTRIES];
	return mw_profile_intern_bytes(b->profile, text, (size_t)bytes);
}

static uint32_t script_function(mw_builder_t *b, uint64_t number) {
	bool is_known = number > 0 && number < b->snapshot->function_count;
	if (!is_known)
		number = 0;
	if (b->functions[number] != 0)
		return b->functions[number];
	mw_function_t function = {.name = 0};
	if (is_known) {
		const mw_state_function_t *entry = &b->snapshot->functions[number];
		function.name = script_text(b, entry->name);
		function.file = script_text(b, entry->file);
		function.start_line = entry->first_line;
	}
	if (function.name == 0)
		function.name = mw_profile_intern(b->profile, "[unknown]");
	function.system_name = function.name;
	b->functions[number] = mw_profile_add_function(b->profile, &function);
	return b->functions[number];
}

/* A frame of a script has its name and line already. */
static uint32_t script_location(mw_builder_t *b, uint32_t mapping, uint64_t address) {
	uint64_t place = address & MW_FRAME_ADDRESS_MASK;
	mw_line_t line = {.function = script_function(b, place >> MW_SCRIPT_LINE_BITS),
			  .line = (int64_t)(place & MW_SCRIPT_LINE_MAX)};
	uint32_t location = mw_profile_add_location(b->profile, mapping, address, true);
	mw_profile_set_lines(b->profile, location, &line, 1);
	return location;
}

static uint32_t make_location(mw_builder_t *b, uint64_t frame) {
	bool is_exact = (frame & MW_FRAME_EXACT) != 0;
	size_t module = (frame >> MW_FRAME_MODULE_SHIFT) & MW_FRAME_MODULE_MAX;
	bool is_kernel = module == MW_FRAME_MODULE_MAX;
	uint64_t address = frame & MW_FRAME_ADDRESS_MASK;
	if (module > b->snapshot->module_count)
		module = 0;
	if (module > 0)
		address += b->snapshot->modules[module - 1].bias;
	/* A return address lies after the call, perhaps in another line or function, so 1 is
	 * subtracted. */
	if (!is_exact && address > 0)
		address--;
	uint32_t mapping = module > 0 ? module_mapping(b, module - 1) : 0;
	if (is_kernel) {
		address |= MW_KERNEL_START;
		mapping = mw_profile_add_kernel_mapping(b->profile);
	}
	if (module > 0 && mw_script_is_module(b->snapshot->modules[module - 1].start))
		return script_location(b, mapping, address);
	return mw_profile_add_location(b->profile, mapping, address, is_exact);
}

/* Returns the location of a frame.  A few thousand frames make up all stacks, so each frame is
 * looked up once. */
static uint32_t frame_location(mw_builder_t *b, uint64_t number) {
	if (b->by_frame[number] == 0)
		b->by_frame[number] = make_location(b, b->snapshot->frames[number]);
	return b->by_frame[number];
}

uint32_t mw_builder_named_location(mw_builder_t *b, const char *name) {
	mw_function_t function = {.name = mw_profile_intern(b->profile, name)};
	function.system_name = function.name;
	mw_line_t line = {.function = mw_profile_add_function(b->profile, &function)};
	uint32_t location = mw_profile_append_location(b->profile, 0, 0, true);
	mw_profile_set_lines(b->profile, location, &line, 1);
	return location;
}

/* Data follows a module's code, in the order of addresses, and the next module follows it. */
uint32_t mw_builder_data_location(mw_builder_t *b, uint64_t address) {
	const mw_state_module_t *modules = b->snapshot->modules;
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < b->snapshot->module_count; i++)
		if (modules[i].unloaded_ns == 0 && modules[i].start <= address &&
		    address - modules[i].start < DATA_DISTANCE_MAX &&
		    (found == SIZE_MAX || modules[i].start > modules[found].start))
			found = i;
	uint32_t mapping = found != SIZE_MAX ? module_mapping(b, found) : 0;
	return mw_profile_add_location(b->profile, mapping, address, true);
}

/* Returns the location of a marker such as "[unknown]", which is added at its first use. */
static uint32_t marker_location(mw_builder_t *b, uint32_t *marker, const char *name) {
	if (*marker == 0)
		*marker = mw_builder_named_location(b, name);
	return *marker;
}

void mw_builder_take_stack(mw_builder_t *b, uint32_t number) {
	const mw_state_stack_t *stack = &b->snapshot->stacks[number];
	b->depth = 0;
	for (uint32_t node = stack->node; node != 0;) {
		uint64_t word = b->snapshot->nodes[node];
		b->locations[b->depth++] = frame_location(b, word >> MW_NODE_FRAME_SHIFT);
		node = (uint32_t)word;
	}
	if (b->depth == 0)
		b->locations[b->depth++] = marker_location(b, &b->unknown, "[stack unknown]");
	else if (stack->flags & MW_STACK_TRUNCATED)
		b->locations[b->depth++] = marker_location(b, &b->truncated, "[truncated]");
}

static const char *find_thread(const mw_builder_t *b, uint32_t thread_id, char *buffer,
			       size_t size) {
	for (size_t i = b->snapshot->thread_count; i-- > 0;)
		if (b->snapshot->threads[i].thread_id == thread_id &&
		    b->snapshot->threads[i].name[0] != '\0')
			return b->snapshot->threads[i].name;
	snprintf(buffer, size, "thread %u", thread_id);
	return buffer;
}

/* Returns a thread's name.  Groups are ordered by thread, so most calls ask for the name of the
 * last call. */
mw_string_t mw_builder_thread_name(mw_builder_t *b, uint32_t thread_id) {
	char buffer[32];
	if (b->thread_name == 0 || b->thread_id != thread_id)
		b->thread_name = mw_profile_intern(
			b->profile, find_thread(b, thread_id, buffer, sizeof(buffer)));
	b->thread_id = thread_id;
	return b->thread_name;
}

static void set_process(mw_profile_t *p, const mw_snapshot_t *snapshot) {
	const mw_state_header_t *header = &snapshot->header;
	const mw_state_live_t *live = &snapshot->live;
	char args[sizeof(header->args)];
	memcpy(args, header->args, sizeof(args));
	/* The arguments are padded with NULs, and an argument may be empty. */
	size_t length = sizeof(args);
	while (length > 0 && args[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++)
		if (args[i] == '\0')
			args[i] = ' ';
	p->origin.program = mw_profile_intern(p, header->program);
	p->origin.args = mw_profile_intern(p, args);
	p->origin.session = mw_profile_intern(p, header->session);
	p->origin.version = mw_profile_intern(p, header->library_version);
	p->origin.format = mw_profile_intern(p, "state file");
	p->origin.pid = header->pid;
	p->origin.uid = header->uid;
	p->origin.uid_known = true;
	p->origin.flags = live->flags;
	p->time_ns = snapshot->time_ns;
}

/* Adds comments for values that profile.proto has no field for. formats/proto/proto_read.c reads
 * them. */
static void add_comments(mw_profile_t *p) {
	char text[2048];
	snprintf(text, sizeof(text), "mallow %s", mw_profile_string(p, p->origin.version));
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "program: %s", mw_profile_string(p, p->origin.program));
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "pid: %u", p->origin.pid);
	mw_profile_add_comment(p, text);
	snprintf(text, sizeof(text), "command: %s", mw_profile_string(p, p->origin.args));
	mw_profile_add_comment(p, text);
}

const char *mw_path_as_started(const mw_state_header_t *header, char *buffer, size_t size) {
	const char *slash = strrchr(header->exe, '/');
	if (slash == NULL || *header->program == '\0' || strcmp(slash + 1, header->program) == 0 ||
	    (size_t)snprintf(buffer, size, "%.*s/%s", (int)(slash - header->exe), header->exe,
			     header->program) >= size)
		return header->exe;
	char *behind = realpath(buffer, NULL);
	bool is_same = behind != NULL && strcmp(behind, header->exe) == 0;
	free(behind);
	return is_same ? buffer : header->exe;
}

/* Functions without names are shown with the name that the program was started under. */
static void name_as_started(mw_profile_t *p, const mw_state_header_t *header) {
	char buffer[sizeof(header->exe) + sizeof(header->program)];
	const char *path = mw_path_as_started(header, buffer, sizeof(buffer));
	for (size_t i = 1; i < p->mapping_count && path != header->exe; i++)
		if (strcmp(mw_profile_string(p, p->mappings[i].path), header->exe) == 0)
			p->mappings[i].path = mw_profile_intern(p, path);
}

void mw_builder_begin(mw_builder_t *b, mw_profile_t *p, const mw_snapshot_t *snapshot) {
	*b = (mw_builder_t){
		.profile = p,
		.snapshot = snapshot,
		.mappings = mw_xcalloc(snapshot->module_count, sizeof(uint32_t)),
		.by_frame = mw_xcalloc(snapshot->frame_count, sizeof(uint32_t)),
		.functions = mw_xcalloc(snapshot->function_count + 1, sizeof(uint32_t)),
		.locations = mw_xcalloc(MW_STATE_DEPTH_MAX + 1, sizeof(uint32_t)),
	};
	set_process(p, snapshot);
	add_comments(p);
	/* The program's mapping comes first, because pprof takes the first mapping for the
	 * program. */
	for (size_t i = 0; i < snapshot->module_count; i++)
		if (strcmp(snapshot->modules[i].path, snapshot->header.exe) == 0)
			module_mapping(b, i);
}

void mw_builder_end(mw_builder_t *b) {
	name_as_started(b->profile, &b->snapshot->header);
	free(b->mappings);
	free(b->by_frame);
	free(b->functions);
	free(b->locations);
}
