/* SPDX-License-Identifier: MIT
 * fuzz_object.c -- libFuzzer target: any bytes as the program's file, which is asked for the names
 * and lines at addresses all over it, its symbols and its instructions.  What follows in the input
 * from a second ELF header on is the program's package of split debug information (.dwp).
 *
 * The command does this in a process of limited memory, because libelf and libdw are not proof
 * against all files.  So is it done here: an input is tried in a forked process first, and done in
 * this one, where the fuzzer sees what is reached, only when that one came through.  A fault in
 * libdw, or one of limited time or memory, is passed over; one in our own code is not. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "model/memory.h"
#include "symbol/code/code.h"
#include "symbol/elf/elf_object.h"
#include "symbol/workers/address_lookup.h"
#include "symbol/workers/confine.h"
#include "symbol/workers/found.h"
#include "symbol/workers/job_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
/* Of the address sanitizer: who called what found fault, and what is called then. */
void *__asan_get_report_pc(void);
void __asan_on_error(void);

/* How the trial ends. */
enum { GOOD = 0, OTHERS_FAULT = 98, OUR_FAULT = 99 };
#define TRIAL_SECONDS 5
/* More than it has: half of what the fuzzer may use. */
#define TRIAL_BYTES ((size_t)512 << 20)
/* Spread over each segment of code. */
#define ADDRESSES 48

static bool is_trial;

static bool is_ours(const void *pc) {
	Dl_info us, it;
	return dladdr((const void *)(uintptr_t)&LLVMFuzzerTestOneInput, &us) != 0 &&
	       dladdr(pc, &it) != 0 && us.dli_fbase == it.dli_fbase;
}

/* A trial ends quietly if it was not our code. */
void __asan_on_error(void) {
	if (is_trial && !is_ours(__asan_get_report_pc()))
		_exit(OTHERS_FAULT);
}

static void take_fault(int signal, siginfo_t *info, void *context) {
	(void)signal, (void)info;
	const ucontext_t *c = context;
	_exit(is_ours((const void *)c->uc_mcontext.gregs[REG_RIP]) ? OUR_FAULT : OTHERS_FAULT);
}

static _Noreturn void end_as_ours(const char *what) {
	fprintf(stderr, "%s\n", what);
	if (is_trial)
		_exit(OUR_FAULT);
	abort();
}

static void take_found(void *context, uint32_t location, const mw_line_t *lines, size_t count) {
	const mw_profile_t *p = mw_found_profile(context);
	if (location == 0 || count > MW_OBJECT_INLINE_MAX)
		end_as_ours("a location that is none was found");
	for (size_t i = 0; i < count; i++)
		if (lines[i].function == 0 || lines[i].function >= p->function_count)
			end_as_ours("a function that is none was found");
}

static void before_unit(void *context) {
	(void)context;
}

/* Where the first segment of code is, as far as the bytes say so. */
static Elf64_Phdr find_code(const uint8_t *bytes, size_t length) {
	Elf64_Ehdr header;
	Elf64_Phdr segment = {.p_filesz = length};
	if (length < sizeof(header))
		return segment;
	memcpy(&header, bytes, sizeof(header));
	for (uint64_t i = 0; i < header.e_phnum && i < 64; i++) {
		uint64_t at = header.e_phoff + i * sizeof(segment);
		if (at > length || length - at < sizeof(segment))
			break;
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
			return segment;
	}
	return (Elf64_Phdr){.p_filesz = length};
}

/* A profile with the file mapped at a round address, and addresses all over its code. */
static mw_profile_t *make_profile(const char *path, const uint8_t *bytes, size_t length) {
	Elf64_Phdr code = find_code(bytes, length);
	mw_profile_t *p = mw_profile_new();
	const uint64_t start = 0x10000000;
	mw_mapping_t mapping = {
		.start = start, .limit = start + length + 4096, .path = mw_profile_intern(p, path)};
	uint32_t m = mw_profile_add_mapping(p, &mapping);
	for (uint64_t i = 0; i < ADDRESSES; i++)
		mw_profile_add_location(
			p, m, start + code.p_vaddr + i * (code.p_filesz % 65536 / ADDRESSES + 1),
			false);
	/* Objects that are not linked have their code at 0. */
	for (uint64_t i = 0; i < ADDRESSES; i++)
		mw_profile_add_location(p, m, start + length + i * 7, false);
	return p;
}

static void look_up(mw_profile_t *p, const mw_symbolize_options_t *options, uint64_t bias) {
	mw_error_t error;
	mw_object_t *object = mw_object_open(p, &p->mappings[1], options, &error);
	if (object == NULL)
		return;
	mw_found_t *names = mw_found_new();
	size_t count = p->location_count - 1;
	mw_queue_t *queue = mw_queue_new(count);
	const mw_lookup_t lookup = {.profile = p,
				    .mapping = &p->mappings[1],
				    .options = options,
				    .bias = bias,
				    .names = names,
				    .queue = queue,
				    .found = take_found,
				    .before_unit = before_unit,
				    .context = names};
	uint32_t *locations = mw_xcalloc(count, sizeof(uint32_t));
	for (size_t i = 0; i < count; i++)
		locations[i] = (uint32_t)i + 1;
	mw_object_has_debug(object);
	if (queue != NULL) {
		mw_lookup_list(&lookup, object, locations, count);
		mw_lookup_all(&lookup, &object);
	}
	mw_object_close(object);
	mw_queue_free(queue);
	mw_found_free(names);
	free(locations);
}

static void disassemble(const mw_profile_t *p, const mw_symbolize_options_t *options) {
	mw_error_t error;
	mw_code_t *code = mw_code_open(p, 1, options, MW_SYNTAX_ATT, &error);
	for (size_t i = 1; code != NULL && i < p->location_count; i += 8) {
		mw_code_range_t range;
		mw_instruction_t *instructions;
		mw_code_place_t places[MW_CODE_PLACES_MAX];
		size_t count;
		uint64_t address = p->locations[i].address - mw_code_bias(code);
		mw_code_places(code, address, places);
		if (!mw_code_find(code, address, &range))
			continue;
		if (mw_code_read(code, &range, &instructions, &count, &error) == 0) {
			for (size_t k = 0; k < count; k++)
				free(instructions[k].text);
			free(instructions);
		}
		free(range.name);
	}
	mw_code_close(code);
}

/* All that is done to a file. */
static void do_all(const char *path, const uint8_t *bytes, size_t length) {
	static const mw_symbolize_options_t options;
	mw_profile_t *p = make_profile(path, bytes, length);
	mw_error_t error;
	mw_object_t *object = mw_object_open(p, &p->mappings[1], &options, &error);
	uint64_t bias = 0;
	bool is_mapped = object != NULL && mw_object_bias(object, &p->mappings[1], &bias);
	mw_object_close(object);
	if (object != NULL) {
		look_up(p, &options, is_mapped ? bias : p->mappings[1].start);
		/* Code that is not linked, behind the others. */
		look_up(p, &options, p->mappings[1].start + length);
		disassemble(p, &options);
	}
	mw_profile_free(p);
}

static void limit_trial(void) {
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	struct sigaction action = {.sa_sigaction = take_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	is_trial = true;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &action, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(TRIAL_SECONDS);
	mw_confine_memory(TRIAL_BYTES);
}

/* False: the libraries cannot take it. */
static bool try_it(const char *path, const uint8_t *bytes, size_t length) {
	pid_t child = fork();
	if (child == 0) {
		limit_trial();
		do_all(path, bytes, length);
		_exit(GOOD);
	}
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == GOOD)
		return true;
	bool is_others = WIFEXITED(status)
				 ? WEXITSTATUS(status) == OTHERS_FAULT
				 : WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGABRT;
	if (!is_others) {
		fprintf(stderr, "a file does harm: status %d\n", status);
		abort();
	}
	return false;
}

/* Files of the input: the command looks for a package beside the program. */
static char folder[] = "/tmp/mallow-fuzz.XXXXXX", object[64], package[64];

static void remove_files(void) {
	unlink(object);
	unlink(package);
	rmdir(folder);
}

static void make_folder(void) {
	if (object[0] != '\0')
		return;
	if (mkdtemp(folder) == NULL) {
		perror(folder);
		exit(1);
	}
	snprintf(object, sizeof(object), "%s/object", folder);
	snprintf(package, sizeof(package), "%s/object.dwp", folder);
	atexit(remove_files);
}

static bool save(const char *path, const uint8_t *bytes, size_t length) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool is_saved = fd >= 0 && write(fd, bytes, length) == (ssize_t)length;
	if (fd >= 0)
		close(fd);
	return is_saved;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	static const uint8_t header[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	const uint8_t *second =
		length > 1 ? memmem(bytes + 1, length - 1, header, sizeof(header)) : NULL;
	size_t first_length = second != NULL ? (size_t)(second - bytes) : length;
	make_folder();
	if (!save(object, bytes, first_length) ||
	    (second != NULL && !save(package, second, length - first_length)))
		return 0;
	if (second == NULL)
		unlink(package);
	if (try_it(object, bytes, first_length))
		do_all(object, bytes, first_length);
	return 0;
}
