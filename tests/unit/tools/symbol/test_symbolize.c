/* SPDX-License-Identifier: MIT
 * test_symbolize.c -- names, files and lines of this test's own functions; files that do not fit;
 * names of C++ and Rust. */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_module.h"
#include "symbol/elf/demangle.h"
#include "symbol/symbolize.h"
#include "symbol/workers/confine.h"
#include "test.h"

/* The lines of the calls, for the checks. */
static int plain_line, inner_line, outer_line;

static __attribute__((noinline)) uint64_t plain_function(void) {
	plain_line = __LINE__ + 1;
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return pc;
}

static inline __attribute__((always_inline)) uint64_t inner_function(void) {
	inner_line = __LINE__ + 1;
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory");
	return pc;
}

static __attribute__((noinline)) uint64_t outer_function(void) {
	outer_line = __LINE__ + 1;
	uint64_t pc = inner_function();
	__asm__ volatile("" ::: "memory");
	return pc;
}

static self_module_t self;
static int note_count;
static char last_note[600];

static void take_note(void *context, const char *text) {
	CHECK(context == &self);
	note_count++;
	snprintf(last_note, sizeof(last_note), "%s", text);
}

static const mw_symbolize_options_t options = {.note = take_note, .context = &self};

/* A profile with one location for each PC, in one mapping. */
static mw_profile_t *make_profile(const char *path, const char *build_id, bool bias_known,
				  const uint64_t *pcs, size_t count) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_mapping_t mapping = {.start = self.start,
				.limit = self.limit,
				.offset = self.file_offset,
				.bias = bias_known ? self.bias : 0,
				.bias_known = bias_known,
				.path = mw_profile_intern(p, path),
				.build_id = mw_profile_intern(p, build_id)};
	uint32_t m = mw_profile_add_mapping(p, &mapping);
	for (size_t i = 0; i < count; i++)
		mw_profile_add_location(p, m, pcs[i] - 1, false);
	return p;
}

static const char *function_of(const mw_profile_t *p, uint32_t location, uint32_t line) {
	CHECK(p->locations[location].line_count > line);
	const mw_line_t *l = &p->lines[p->locations[location].line_first + line];
	return mw_profile_string(p, p->functions[l->function].name);
}

static int64_t line_of(const mw_profile_t *p, uint32_t location, uint32_t line) {
	const mw_line_t *l = &p->lines[p->locations[location].line_first + line];
	const char *file = mw_profile_string(p, p->functions[l->function].file);
	const char *slash = strrchr(file, '/');
	CHECK_STR(slash != NULL ? slash + 1 : file, "test_symbolize.c");
	return l->line;
}

static void check_own_functions(bool bias_known) {
	uint64_t pcs[] = {plain_function(), outer_function()};
	mw_profile_t *p = make_profile(self.path, self.build_id, bias_known, pcs, 2);
	note_count = 0;
	mw_symbolize_result_t result = mw_symbolize(p, &options);
	CHECK_EQ(note_count, 0);
	CHECK_EQ(result.resolved, 2);
	CHECK_EQ(result.unresolved, 0);
	CHECK_STR(function_of(p, 1, 0), "plain_function");
	CHECK_EQ(line_of(p, 1, 0), plain_line);
	/* The inlined function first, then where it was inlined. */
	CHECK_EQ(p->locations[2].line_count, 2);
	CHECK_STR(function_of(p, 2, 0), "inner_function");
	CHECK_EQ(line_of(p, 2, 0), inner_line);
	CHECK_STR(function_of(p, 2, 1), "outer_function");
	CHECK_EQ(line_of(p, 2, 1), outer_line);
	CHECK(p->mappings[1].has_functions && p->mappings[1].has_inline_frames);
	mw_profile_free(p);
}

static void own_functions_are_named(void) {
	check_own_functions(true);
}

/* As after reading profile.proto, which does not hold the bias. */
static void bias_is_worked_out(void) {
	check_own_functions(false);
}

static void another_build_is_not_used(void) {
	uint64_t pcs[] = {plain_function(), outer_function()};
	mw_profile_t *p =
		make_profile(self.path, "00112233445566778899aabbccddeeff00112233", true, pcs, 2);
	note_count = 0;
	mw_symbolize_result_t result = mw_symbolize(p, &options);
	CHECK_EQ(result.resolved, 0);
	CHECK_EQ(note_count, 1); /* once for the module */
	CHECK(strstr(last_note, "is another build than the one profiled") != NULL);
	char name[300], want[300];
	const char *base = strrchr(self.path, '/') + 1;
	snprintf(want, sizeof(want), "%s+0x%llx", base,
		 (unsigned long long)(pcs[0] - 1 - self.bias));
	CHECK_STR(mw_location_name(p, 1, name, sizeof(name)), want);
	mw_profile_free(p);
}

static void missing_files_are_noted(void) {
	uint64_t pcs[] = {plain_function()};
	mw_profile_t *p = make_profile("/nonexistent/lib.so", "", true, pcs, 1);
	note_count = 0;
	CHECK_EQ(mw_symbolize(p, &options).resolved, 0);
	CHECK_EQ(note_count, 1);
	CHECK(strstr(last_note, "/nonexistent/lib.so: cannot open") != NULL);
	mw_profile_free(p);
	/* Memory without a file is no reason for a note. */
	p = make_profile("[vdso]", "", true, pcs, 1);
	note_count = 0;
	CHECK_EQ(mw_symbolize(p, &options).unresolved, 1);
	CHECK_EQ(note_count, 0);
	mw_profile_free(p);
}

static unsigned char *load_self(size_t *length) {
	FILE *file = fopen(self.path, "rb");
	struct stat status;
	CHECK(file != NULL && fstat(fileno(file), &status) == 0);
	*length = (size_t)status.st_size;
	unsigned char *bytes = malloc(*length);
	CHECK(bytes != NULL && fread(bytes, 1, *length, file) == *length);
	fclose(file);
	return bytes;
}

/* Debug information with bytes changed all over, and cut short: no crash, no hang. */
static void damaged_files_do_no_harm(void) {
	uint64_t pcs[] = {plain_function(), outer_function(), (uint64_t)&mw_symbolize + 9};
	size_t length;
	unsigned char *good = load_self(&length), *bad = malloc(length);
	CHECK(bad != NULL);
	char path[] = "/tmp/mallow-test-symbolize.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	srand(20240602);
	for (int round = 0; round < 40; round++) {
		memcpy(bad, good, length);
		size_t kept = length;
		if (round % 4 == 3)
			kept = 64 + (size_t)rand() % (length - 64);
		/* Not the ELF header itself: what is behind it matters. */
		for (int k = 0; k < 1 << (round % 13); k++)
			bad[64 + (size_t)rand() % (length - 64)] = (unsigned char)rand();
		CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bad, kept, 0) == (ssize_t)kept);
		mw_profile_t *p = make_profile(path, "", round % 2 == 0, pcs, 3);
		mw_symbolize_result_t result = mw_symbolize(p, NULL);
		CHECK_EQ(result.resolved + result.unresolved, 3);
		mw_profile_free(p);
	}
	close(fd);
	unlink(path);
	free(good);
	free(bad);
}

/* Calls of libdwfl in this process and its children until one crashes; negative: never. */
static int calls_until_crash = -1;

/* Stands before libdw's: the worker dies as it would of a fault in there. */
Dwfl *dwfl_begin(const Dwfl_Callbacks *callbacks) {
	static Dwfl *(*real)(const Dwfl_Callbacks *);
	if (real == NULL) {
		void *found = dlsym(RTLD_NEXT, "dwfl_begin");
		memcpy(&real, &found, sizeof(real));
	}
	if (calls_until_crash-- == 0)
		_exit(139);
	return real(callbacks);
}

/* The same file a second time. */
static void add_second_job(mw_profile_t *p, uint64_t pc) {
	mw_mapping_t second = p->mappings[1];
	second.limit += 4096;
	mw_profile_add_location(p, mw_profile_add_mapping(p, &second), pc - 1, false);
}

static void a_fault_costs_one_module(void) {
	uint64_t pcs[] = {plain_function()};
	for (int good = 0; good < 3; good++) {
		mw_profile_t *p = make_profile(self.path, self.build_id, true, pcs, 1);
		add_second_job(p, pcs[0]);
		note_count = 0;
		calls_until_crash = good;
		mw_symbolize_result_t result = mw_symbolize(p, &options);
		calls_until_crash = -1;
		CHECK_EQ(result.resolved, (size_t)good);
		CHECK_EQ(note_count, 2 - good);
		if (good < 2)
			CHECK(strstr(last_note, "its debug information is damaged") != NULL);
		mw_profile_free(p);
	}
}

/* What the processes that share a file tell each other here. */
typedef struct partners {
	_Atomic pid_t first;   /* which looked a line up first */
	_Atomic bool is_dying; /* the other one, or this one */
	bool first_dies;
} partners_t;
static partners_t *partners; /* NULL: nobody dies */

/* Stands before libdw's: one of two processes dies as it would of a fault in there, with the places
 * it has taken; the other one waits for that. */
Dwarf_Line *dwarf_getsrc_die(Dwarf_Die *unit, Dwarf_Addr address) {
	static Dwarf_Line *(*real)(Dwarf_Die *, Dwarf_Addr);
	if (real == NULL) {
		void *found = dlsym(RTLD_NEXT, "dwarf_getsrc_die");
		memcpy(&real, &found, sizeof(real));
	}
	pid_t nobody = 0;
	if (partners != NULL) {
		bool is_first =
			atomic_compare_exchange_strong(&partners->first, &nobody, getpid()) ||
			nobody == getpid();
		for (int i = 0; i < 3000 && !partners->is_dying; i++)
			if (is_first == partners->first_dies &&
			    (!is_first || i > 20)) { /* time for the other one to begin */
				partners->is_dying = true;
				_exit(139);
			} else {
				usleep(10000);
			}
	}
	return real(unit, address);
}

/* Of a file that two processes read, what one has taken is lost when it dies, and nothing else. */
static void a_fault_costs_one_part(void) {
	enum { LOCATIONS = 12000, A_TURN = 4096 };
	cpu_set_t processors;
	CHECK(sched_getaffinity(0, sizeof(processors), &processors) == 0);
	if (CPU_COUNT(&processors) != 2) /* more take more */
		return;
	uint64_t pcs[] = {plain_function()};
	for (int first_dies = 0; first_dies < 2; first_dies++) {
		mw_profile_t *p = make_profile(self.path, self.build_id, true, pcs, 1);
		while (p->location_count < LOCATIONS + 1)
			mw_profile_append_location(p, 1, pcs[0] - 1, false);
		partners = mmap(NULL, sizeof(*partners), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(partners != MAP_FAILED);
		partners->first_dies = first_dies;
		note_count = 0;
		mw_symbolize_result_t result = mw_symbolize(p, &options);
		CHECK(partners->is_dying);
		munmap(partners, sizeof(*partners));
		partners = NULL;
		CHECK_EQ(note_count, 1);
		CHECK(strstr(last_note, "its debug information is damaged") != NULL);
		CHECK_EQ(result.unresolved, A_TURN);
		mw_profile_free(p);
	}
}

/* A file with many locations and one with few are read at once: when a process dies, neither is
 * blamed for the other. */
static void a_fault_is_told_from_what_is_beside(void) {
	uint64_t pcs[] = {plain_function()};
	for (int good = 0; good < 3; good++) {
		mw_profile_t *p = make_profile(self.path, self.build_id, true, pcs, 1);
		for (size_t i = 0; i < 1500; i++)
			mw_profile_append_location(p, 1, pcs[0] - 1, false);
		size_t large = p->location_count - 1;
		add_second_job(p, pcs[0]);
		note_count = 0;
		calls_until_crash = good;
		mw_symbolize_result_t result = mw_symbolize(p, &options);
		calls_until_crash = -1;
		/* The second handle is that of either file, or of a thread of the first. */
		if (good == 0)
			CHECK_EQ(note_count, 2);
		CHECK(note_count <= 2 - good + (good == 2));
		CHECK(result.unresolved == 0 || note_count > 0);
		if (good > 0)
			CHECK(p->locations[1].line_count > 0 ||
			      p->locations[large + 1].line_count > 0);
		mw_profile_free(p);
	}
}

/* Asked of the kernel: AddressSanitizer's malloc ends the process where it gets no memory. */
static bool can_map(size_t bytes) {
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

/* A process that reads what nobody vouches for. */
static void memory_is_limited(void) {
	pid_t child = fork();
	if (child == 0) {
		mw_confine_memory((size_t)64 << 20);
		_exit(can_map((size_t)32 << 20) && !can_map((size_t)128 << 20) ? 0 : 1);
	}
	int status = 1;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static void names_are_demangled(void) {
	static const char *const names[][2] = {
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZN5boost4noneE", "boost::none"},
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		 "core::fmt::Formatter::write_str"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"malloc", "malloc"},
		{"_Z", "_Z"},
		{"_Znonsense!", "_Znonsense!"},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *name = mw_demangle(names[i][0]);
		CHECK_STR(name, names[i][1]);
		free(name);
	}
	char *huge = malloc(100001);
	CHECK(huge != NULL);
	memset(huge, 'S', 100000);
	memcpy(huge, "_Z", 2);
	huge[100000] = '\0';
	char *same = mw_demangle(huge);
	CHECK_STR(same, huge);
	free(same);
	free(huge);
}

/* --- generated code, by the map its compiler writes --- */

static const char *name_at(const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	return l->line_count == 1
		       ? mw_profile_string(p, p->functions[p->lines[l->line_first].function].name)
		       : "";
}

static void test_generated_code(void) {
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	CHECK(map != NULL);
	fputs("1000 100 Old:first\n"
	      "1100 80 LazyCompile:*second /a b.js:3\n"
	      "not a line\n"
	      "1200\n"
	      "1200 zz name\n"
	      "ffffffffffffffff 2 wraps\n"
	      "1300 10 \n"
	      "1000 80 New:first\n",
	      map);
	for (unsigned i = 0; i < 3000; i++) /* one line, longer than any name */
		fputs(i == 0 ? "1400 10 x" : "x", map);
	fputs("\n1500 10 bell\a\n", map);
	CHECK(fclose(map) == 0);
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	p->origin.pid = (uint32_t)getpid();
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{0xfff, ""},
		{0x1000, "New:first"},
		{0x1085, "Old:first"},
		{0x1100, "LazyCompile:*second /a b.js:3"},
		{0x117f, "LazyCompile:*second /a b.js:3"},
		{0x1180, ""},
		{0x1200, ""},
		{0x1300, ""},
		{0x1505, "bell?"},
		{UINT64_MAX, ""},
	};
	enum { CASES = sizeof(cases) / sizeof(cases[0]) };
	uint32_t locations[CASES];
	for (unsigned i = 0; i < CASES; i++)
		locations[i] = mw_profile_add_location(p, 0, cases[i].address, false);
	uint32_t in_long_line = mw_profile_add_location(p, 0, 0x1400, false);
	mw_symbolize(p, NULL);
	for (unsigned i = 0; i < CASES; i++)
		CHECK_STR(name_at(p, locations[i]), cases[i].name);
	CHECK(strlen(name_at(p, in_long_line)) > 900 && strlen(name_at(p, in_long_line)) < 1024);
	mw_profile_free(p);
	CHECK(unlink(path) == 0);
}

int main(void) {
	self_module_find(&self);
	CHECK(self.build_id[0] != '\0');
	RUN(own_functions_are_named);
	RUN(bias_is_worked_out);
	RUN(another_build_is_not_used);
	RUN(missing_files_are_noted);
	RUN(damaged_files_do_no_harm);
	RUN(a_fault_costs_one_part);
	RUN(a_fault_is_told_from_what_is_beside);
	RUN(memory_is_limited);
	RUN(a_fault_costs_one_module);
	RUN(names_are_demangled);
	RUN(test_generated_code);
	return 0;
}
