/* SPDX-License-Identifier: MIT
 * test_modules.c -- PCs of the program, of libraries, of the vdso and of nowhere; libraries that go
 * and come; with _dl_find_object and without. */
#include "prof/modules/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "os/platform/libc_calls.h"
#include "os/unwind/object.h"
#include "prof_fixture.h"

/* Encodes one return address behind `pc`. */
static uint64_t frame_of(uintptr_t pc) {
	uint64_t frame = pc + 1;
	mw_modules_encode(&frame, 1);
	return frame;
}

static unsigned module_index(uint64_t frame) {
	return (unsigned)(frame >> MW_FRAME_MODULE_SHIFT & MW_FRAME_MODULE_MAX);
}

static const mw_state_module_t *module_of(uint64_t frame) {
	CHECK(module_index(frame) > 0);
	return mw_store_private(MW_SECTION_MODULES, module_index(frame) - 1);
}

typedef struct truth {
	const char *name;
	uintptr_t bias;
	uint64_t file_offset; /* of the executable segment, as mapped */
	const uint8_t *build_id;
	size_t build_id_bytes;
} truth_t;

/* The build-id as the loader's own list leads to it. */
static int find_truth(struct dl_phdr_info *info, size_t size, void *context) {
	(void)size;
	truth_t *truth = context;
	if (info->dlpi_addr != truth->bias)
		return 0;
	truth->name = info->dlpi_name;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			truth->file_offset = segment->p_offset & ~(uint64_t)4095;
		if (segment->p_type != PT_NOTE || truth->build_id)
			continue;
		const char *notes = (const char *)(info->dlpi_addr + segment->p_vaddr);
		for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= segment->p_memsz;) {
			const ElfW(Nhdr) *note = (const void *)(notes + at);
			size_t name_bytes = (note->n_namesz + 3u) & ~3u;
			if (note->n_type == NT_GNU_BUILD_ID) {
				truth->build_id = (const uint8_t *)(note + 1) + name_bytes;
				truth->build_id_bytes = note->n_descsz;
				break;
			}
			at += sizeof *note + name_bytes + ((note->n_descsz + 3u) & ~3u);
		}
	}
	return 1;
}

static void check_against_loader(uint64_t frame, uintptr_t pc) {
	const mw_state_module_t *module = module_of(frame);
	CHECK_EQ((frame & MW_FRAME_ADDRESS_MASK) + module->bias, pc + 1);
	CHECK(pc >= module->start && pc < module->limit);
	CHECK_EQ(module->unloaded_ns, 0);
	CHECK(module->loaded_ns > 0);
	truth_t truth = {.bias = module->bias};
	CHECK(dl_iterate_phdr(find_truth, &truth));
	CHECK_EQ(module->build_id_bytes, truth.build_id_bytes);
	CHECK(memcmp(module->build_id, truth.build_id, truth.build_id_bytes) == 0);
	CHECK(truth.build_id_bytes == 20);
	CHECK_EQ(module->file_offset, truth.file_offset);
}

static void finds_program_library_and_vdso(void) {
	CHECK(mw_store_start());
	uint64_t own = frame_of((uintptr_t)find_truth);
	check_against_loader(own, (uintptr_t)find_truth);
	char exe[512] = "";
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	CHECK_STR(module_of(own)->path, exe);
	uint64_t libc = frame_of((uintptr_t)gnu_get_libc_version);
	check_against_loader(libc, (uintptr_t)gnu_get_libc_version);
	CHECK(strstr(module_of(libc)->path, "/libc.so.6"));
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	if (vdso) {
		uint64_t frame = frame_of(vdso + 0x800);
		CHECK_STR(module_of(frame)->path, "[vdso]");
	}
	CHECK_EQ(frame_of((uintptr_t)find_truth + 4), own + 4);
	CHECK_EQ(mw_store_live()->modules_used, vdso ? 3 : 2);
}

static void exact_pcs_keep_their_mark(void) {
	CHECK(mw_store_start());
	uint64_t frame = (uintptr_t)find_truth | MW_FRAME_EXACT;
	mw_modules_encode(&frame, 1);
	CHECK(frame & MW_FRAME_EXACT);
	CHECK_EQ((frame & MW_FRAME_ADDRESS_MASK) + module_of(frame)->bias, (uintptr_t)find_truth);
}

static void code_without_an_object(void) {
	CHECK(mw_store_start());
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	uint64_t frame = frame_of((uintptr_t)page + 100);
	CHECK_EQ(module_index(frame), 0);
	CHECK_EQ(frame, (uintptr_t)page + 101);
	CHECK_EQ(mw_store_live()->modules_used, 0);
}

/* Two small libraries, made by the compiler of this program. */
static bool build_library_with(const char *option, const char *name, const char *code) {
	char command[512];
	snprintf(command, sizeof command,
		 "echo '%s' | '" MALLOW_TEST_COMPILER "' -shared -fPIC %s -x c -o %s/%s.so -", code,
		 option, root, name);
	return system(command) == 0;
}

static bool build_library(const char *name, const char *code) {
	return build_library_with("-Wl,--build-id", name, code);
}

static void *open_library(const char *name) {
	char path[128];
	snprintf(path, sizeof path, "%s/%s.so", root, name);
	void *library = dlopen(path, RTLD_NOW);
	CHECK(library);
	return library;
}

static void libraries_go_and_come(void) {
	if (!build_library("one", "int f(void) { return 1; }") ||
	    !build_library("two", "int f(void) { return 2; } int g(void) { return f(); }")) {
		printf("# skipped: no compiler\n");
		return;
	}
	CHECK(mw_store_start());
	void *one = open_library("one");
	uintptr_t pc = (uintptr_t)dlsym(one, "f");
	uint64_t first = frame_of(pc);
	check_against_loader(first, pc);
	const mw_state_module_t *first_module = module_of(first);
	CHECK(strstr(first_module->path, "/one.so"));
	mw_modules_check();
	CHECK_EQ(first_module->unloaded_ns, 0);
	CHECK(dlclose(one) == 0);
	mw_modules_check();
	CHECK(first_module->unloaded_ns > 0);
	mw_state_event_t *events = mw_store_private(MW_SECTION_EVENTS, 0);
	CHECK(events[0].kind == MW_EVENT_UNLOAD && events[0].a == module_index(first) - 1);

	/* The same library again: the same entry when it lies at the same place. */
	one = open_library("one");
	bool same_place = (uintptr_t)dlsym(one, "f") == pc;
	uint64_t again = frame_of((uintptr_t)dlsym(one, "f"));
	CHECK_EQ(again == first, same_place);
	CHECK_EQ(module_of(again)->unloaded_ns, 0);
	CHECK(dlclose(one) == 0);

	/* Another one, which the kernel puts where the first was: noticed without a check. */
	void *two = open_library("two");
	uint64_t other = frame_of((uintptr_t)dlsym(two, "f"));
	CHECK(strstr(module_of(other)->path, "/two.so"));
	CHECK(module_index(other) != module_index(again));
	CHECK(strstr(module_of(again)->path, "/one.so"));
	if (module_of(other)->start < module_of(again)->limit &&
	    module_of(again)->start < module_of(other)->limit)
		CHECK(module_of(again)->unloaded_ns > 0);
	else
		printf("# the second library came to lie elsewhere\n");
}

/* Loads two libraries in turn that differ in nothing but their functions' order, or in the code of
 * one function: same sizes, same addresses, same entry of the loader. */
static void each_has_its_own_module(const char *option, const char *const code[2]) {
	if (!build_library_with(option, "one", code[0]) ||
	    !build_library_with(option, "two", code[1])) {
		printf("# skipped: no compiler\n");
		return;
	}
	CHECK(mw_store_start());
	static const char *const names[] = {"one", "two"};
	enum { LOADS = 100 };
	int repeats = 0;
	uintptr_t last = 0;
	for (int i = 0; i < LOADS; i++) {
		char path[16];
		void *library = open_library(names[i % 2]);
		uintptr_t pc = (uintptr_t)dlsym(library, "f");
		repeats += pc - last < 4096 || last - pc < 4096;
		last = pc;
		uint64_t frame = frame_of(pc);
		snprintf(path, sizeof path, "/%s.so", names[i % 2]);
		CHECK(strstr(module_of(frame)->path, path));
		CHECK_EQ(module_of(frame)->unloaded_ns, 0);
		CHECK(dlclose(library) == 0);
	}
	/* Entries with the same addresses: all but the newest are marked as unloaded. */
	const mw_state_module_t *newest =
		module_of(frame_of((uintptr_t)dlsym(open_library("two"), "f")));
	for (uint64_t i = 0; i < mw_store_live()->modules_used; i++) {
		const mw_state_module_t *module = mw_store_private(MW_SECTION_MODULES, i);
		CHECK(module == newest || module->unloaded_ns != 0 ||
		      module->start >= newest->limit || newest->start >= module->limit);
	}
	printf("# %d of %d loads at the place of the one before, %d entries\n", repeats, LOADS,
	       (int)mw_store_live()->modules_used);
	CHECK(mw_store_live()->modules_used < LOADS / 2 || repeats < LOADS / 2);
}

static const char *const in_two_orders[2] = {
	"int g(int x) { return x * 3; } int f(int x) { return x * 5; }",
	"int f(int x) { return x * 5; } int g(int x) { return x * 3; }",
};
static const char *const two_bodies[2] = {"int f(int x) { return x + 3; }",
					  "int f(int x) { return x + 5; }"};

static void reordered_at_the_same_place(void) {
	each_has_its_own_module("-Wl,--build-id", in_two_orders);
}

static void reordered_without_build_ids(void) {
	each_has_its_own_module("-Wl,--build-id=none", in_two_orders);
}

static void other_code_without_build_ids(void) {
	each_has_its_own_module("-Wl,--build-id=none", two_bodies);
}

static void reordered_without_find_object(void) {
	mw_modules_use_maps(true);
	each_has_its_own_module("-Wl,--build-id", in_two_orders);
}

/* A server that loads and unloads a plug-in all day does not fill the table. */
static void reloading_takes_no_entries(void) {
	if (!build_library("one", "int f(void) { return 1; }")) {
		printf("# skipped: no compiler\n");
		return;
	}
	CHECK(mw_store_start());
	enum { LOADS = 300 };
	void *held[LOADS];
	uintptr_t first = 0;
	int repeats = 0;
	for (int i = 0; i < LOADS; i++) {
		void *library = open_library("one");
		uintptr_t pc = (uintptr_t)dlsym(library, "f");
		first = first ? first : pc;
		repeats += pc == first;
		/* An emulator may map each at a place of its own: each is another module then. */
		if (i == 10 && repeats == 1) {
			printf("# skipped: no library comes to lie where one was before\n");
			return;
		}
		uint64_t frame = frame_of(pc);
		CHECK_EQ(module_of(frame)->unloaded_ns, 0);
		CHECK(dlclose(library) == 0);
		if (i % 3 == 0)
			mw_modules_check();
		/* So that the loader's own entry does not always lie at the same place. */
		held[i] = malloc(1200);
	}
	for (int i = 0; i < LOADS; i++)
		free(held[i]);
	CHECK(mw_store_live()->modules_used < 20);
	printf("# %d loads, %d entries\n", LOADS, (int)mw_store_live()->modules_used);
}

static void without_find_object(void) {
	mw_modules_use_maps(true);
	finds_program_library_and_vdso();
}

static void nothing_without_find_object(void) {
	mw_modules_use_maps(true);
	code_without_an_object();
}

enum { THREADS = 8 };

static void *encode_all(void *unused) {
	(void)unused;
	for (int i = 0; i < 20000; i++) {
		uint64_t frames[] = {(uintptr_t)find_truth + 1, (uintptr_t)gnu_get_libc_version + 1,
				     (uintptr_t)getauxval + 1, (uintptr_t)encode_all + 1};
		mw_modules_encode(frames, 4);
		CHECK_EQ(module_index(frames[0]), module_index(frames[3]));
		CHECK_EQ(module_index(frames[1]), module_index(frames[2]));
		CHECK(module_index(frames[0]) != module_index(frames[1]));
	}
	return NULL;
}

static void threads_agree(void) {
	CHECK(mw_store_start());
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, encode_all, NULL) == 0);
	for (int i = 0; i < 50; i++)
		mw_modules_check();
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(mw_store_live()->modules_used, 2);
}

/* Between segments that are aligned to more than a page, as all are on aarch64. */
static int has_holes(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	bool *found = argument;
	uintptr_t end = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD)
			continue;
		uintptr_t start = segment->p_vaddr & ~(uintptr_t)4095;
		*found = *found || (end != 0 && start > end);
		end = (segment->p_vaddr + segment->p_memsz + 4095) & ~(uintptr_t)4095;
	}
	return 1; /* the program comes first */
}

/* With the list of program start: the same frames as without, and only those objects are taken to
 * stay.  Without, a program with holes is known in pieces. */
static void objects_of_program_start_stay(void) {
	CHECK(mw_store_start());
	uint64_t frames[] = {(uintptr_t)find_truth + 1, (uintptr_t)gnu_get_libc_version + 1,
			     ((uintptr_t)find_truth + 8) | MW_FRAME_EXACT,
			     (uintptr_t)gnu_get_libc_version + 9};
	enum { DEPTH = sizeof frames / sizeof *frames };
	uint64_t want[DEPTH], got[DEPTH];
	bool is_in_pieces = false;
	dl_iterate_phdr(has_holes, &is_in_pieces);
	memcpy(want, frames, sizeof frames);
	CHECK(!mw_modules_encode(want, DEPTH));
	mw_os_object_start();
	for (int i = 0; i < 2; i++) {
		memcpy(got, frames, sizeof frames);
		CHECK(mw_modules_encode(got, DEPTH));
		CHECK_EQ(got[1], want[1]);
		CHECK_EQ(got[3], want[3]);
		CHECK(is_in_pieces || memcmp(got, want, sizeof want) == 0);
	}
	memcpy(want, got, sizeof want);
	if (!build_library("one", "int f(void) { return 1; }")) {
		printf("# not all: no compiler\n");
		return;
	}
	uint64_t mixed[] = {frames[0], (uintptr_t)dlsym(open_library("one"), "f") + 1, frames[1]};
	uint64_t nowhere[] = {frames[0], 0x1001};
	CHECK(!mw_modules_encode(mixed, 3));
	CHECK_EQ(mixed[0], want[0]);
	CHECK_EQ(mixed[2], want[1]);
	CHECK(strstr(module_of(mixed[1])->path, "/one.so"));
	CHECK(!mw_modules_encode(nowhere, 2));
	CHECK_EQ(nowhere[1], 0x1001);
}

/* Whatever its segments' alignment: with holes between them, the loader knows the program in
 * pieces. */
static void program_is_one_whole(void) {
	CHECK(mw_store_start());
	mw_os_object_start();
	uint64_t own = frame_of((uintptr_t)find_truth);
	check_against_loader(own, (uintptr_t)find_truth);
	char exe[512] = "";
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	CHECK_STR(module_of(own)->path, exe);
	CHECK_EQ(module_index(frame_of((uintptr_t)getauxval(AT_ENTRY))), module_index(own));
	mw_modules_check();
	CHECK_EQ(module_of(own)->unloaded_ns, 0);
	check_against_loader(frame_of((uintptr_t)find_truth + 4), (uintptr_t)find_truth + 4);
	CHECK_EQ(mw_store_live()->modules_used, 1);
}

int main(void) {
	mw_libc_calls_find();
	RUN_IN_CHILD(program_is_one_whole);
#ifdef MALLOW_TEST_HOLES
	return 0;
#endif
	RUN_IN_CHILD(finds_program_library_and_vdso);
	RUN_IN_CHILD(exact_pcs_keep_their_mark);
	RUN_IN_CHILD(code_without_an_object);
	RUN_IN_CHILD(libraries_go_and_come);
	RUN_IN_CHILD(reordered_at_the_same_place);
	RUN_IN_CHILD(reordered_without_build_ids);
	RUN_IN_CHILD(other_code_without_build_ids);
	RUN_IN_CHILD(reordered_without_find_object);
	RUN_IN_CHILD(reloading_takes_no_entries);
	RUN_IN_CHILD(without_find_object);
	RUN_IN_CHILD(nothing_without_find_object);
	RUN_IN_CHILD(threads_agree);
	RUN_IN_CHILD(objects_of_program_start_stay);
	return 0;
}
