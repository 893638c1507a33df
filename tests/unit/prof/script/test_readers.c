/* SPDX-License-Identifier: MIT
 * test_readers.c -- the readers of Perl, PHP and Ruby on random words as structures, which lead
 * nowhere outside of readable pages; versions that are not known; texts. Their answers are compared
 * with the interpreters' own in tests/tool/script_languages.sh. */
#include <pthread.h>
#include <sys/mman.h>

#include "made_object.h"
#include "os/platform/libc_calls.h"
#include "prof/script/reader/script_reader.h"
#include "prof/script/script.h"
#include "prof/store/store.h"
#include "prof/unwind/place.h"
#include "random_memory.h"
#include "test.h"

enum { ROUNDS = 10000 / TEST_SLOWNESS, NATIVE = 6, ROOM = 40 };
#define MODULE ((uint64_t)7 << MW_FRAME_MODULE_SHIFT)

static random_memory_t memory;

/* What the interpreters have. */
static pthread_key_t thread_key;
static uint8_t perl_version;
static uintptr_t perl_first = 1;
static _Thread_local uintptr_t ruby_context;
static char ruby_version[] = "3.1.2", zend_version[] = "Zend Engine v4.2.36, Copyright";
static _Alignas(16) char zend_globals[2048];

/* The program's block of thread-local variables has the number 1. */
static const size_t own_block = 1;
typedef struct variable {
	size_t module, offset;
} variable_t;
void *__tls_get_addr(variable_t *variable);

static const char *this_zend(void) {
	return zend_version;
}

static void make_object(made_object_t *o, mw_script_kind_t kind) {
	made_object_begin(o);
	if (kind == MW_SCRIPT_PERL) {
		made_object_add(o, "PL_thr_key", &thread_key, 4);
		made_object_add(o, "PL_curinterp", &perl_first, 8);
		made_object_add(o, "PL_version", &perl_version, 1);
		made_object_add(o, "Perl_runops_standard", o, 16);
	} else if (kind == MW_SCRIPT_PHP) {
		made_object_add(o, "executor_globals", zend_globals, sizeof zend_globals);
		made_object_add(o, "get_zend_version", (const void *)(uintptr_t)this_zend, 8);
		made_object_add(o, "execute_ex", o, 16);
	} else {
		variable_t first = {.module = own_block};
		made_object_add(o, "ruby_current_vm_ptr", zend_globals, 8);
		made_object_add(o, "ruby_version", ruby_version, 6);
		made_object_add_thread_local(o, "ruby_current_ec", &own_block,
					     (uintptr_t)&ruby_context -
						     (uintptr_t)__tls_get_addr(&first));
		made_object_add(o, "rb_vm_exec", o, 16);
	}
	made_object_finish(o);
}

/* Returns the kind that is recognised; it is read from now on. */
static mw_script_kind_t begin(mw_script_kind_t kind) {
	static made_object_t o;
	mw_script_unloaded((uintptr_t)&o);
	CHECK(!mw_script_is_on());
	make_object(&o, kind);
	const mw_script_object_t object = {.link_map = &o.link_map,
					   .start = (uintptr_t)&o,
					   .limit = (uintptr_t)(&o + 1),
					   .is_permanent = true};
	mw_script_kind_t found = mw_script_recognise(&object);
	if (found != MW_SCRIPT_KINDS)
		mw_script_start(found, &object, MODULE);
	return found;
}

/* ---- random words ---- */

/* Where the walks begin. */
static void set_roots(void) {
	uint64_t word = random_word(&memory);
	CHECK(pthread_setspecific(thread_key, (void *)(uintptr_t)word) == 0);
	ruby_context = random_word(&memory);
	for (unsigned i = 0; i < sizeof zend_globals / 8; i++) {
		word = random_word(&memory);
		memcpy(zend_globals + 8 * i, &word, 8);
	}
}

static uintptr_t at(unsigned page, unsigned offset) {
	return (uintptr_t)memory.pages + page * RANDOM_PAGE + offset;
}

static void set(uintptr_t address, uint64_t word) {
	memcpy((void *)address, &word, sizeof word);
}

static unsigned pick(unsigned count) {
	return random_pick(&memory, count);
}

/* Part of a chain, so that walks get far: 30 calls of one function that call each other. */
static void plant_php(void) {
	uintptr_t string = at(1, 64), function = at(2, 0);
	set(string + 16, pick(2000));
	set(function, 1 + pick(2));
	set(function + 8, string);
	set(function + 16, pick(2) ? 0 : random_word(&memory));
	set(function + 152, string);
	for (unsigned i = 0; i < 30; i++) {
		set(at(4, 96 * i + 24), function);
		set(at(4, 96 * i + 48), at(4, 96 * pick(30)));
	}
	uint64_t first = at(4, 96 * pick(30));
	memcpy(zend_globals + 488, &first, sizeof first);
}

/* Control frames of one iseq. */
static void plant_ruby(void) {
	uintptr_t string = at(1, 64), iseq = at(2, 0), body = at(2, 512), frames = at(4, 0);
	set(string, 5 | (uint64_t)pick(32) << 14);
	set(iseq + 16, body);
	set(body + 64, string);
	set(body + 80, string);
	set(body + 136, pick(4));
	for (unsigned i = 0; i < 30; i++) {
		set(frames + 64 * i, body + 8 * pick(100));
		set(frames + 64 * i + 16, iseq);
		set(frames + 64 * i + 32, at(5, 8 * pick(100)));
	}
	ruby_context = at(6, 0);
	set(ruby_context, frames);
	set(ruby_context + 8, pick(2) ? 8 * 30 : random_word(&memory));
	set(ruby_context + 16, frames + 64 * pick(30));
}

/* Contexts of one sub. */
static void plant_perl(void) {
	uintptr_t sub = at(1, 0), glob = at(1, 1024), contexts = at(4, 0), my = at(6, 0);
	set(sub, at(1, 256));
	set(sub + 8, (uint64_t)13 << 32);
	set(at(1, 256 + 0x38), glob);
	set(glob, at(1, 2048));
	set(glob + 8, (uint64_t)9 << 32);
	for (unsigned i = 0; i < 30; i++) {
		set(contexts + 104 * i, pick(3) ? 9 : 11);
		set(contexts + 104 * i + 0x10, at(2, 64 * pick(30)));
		set(contexts + 104 * i + 0x48, sub);
	}
	set(at(5, 8), contexts);
	set(at(5, 0x20), pick(32));
	set(my + 0xd0, at(2, 64 * pick(30)));
	set(my + 0xe0, at(5, 0));
	CHECK(pthread_setspecific(thread_key, (void *)my) == 0);
}

static void plant(mw_script_kind_t kind) {
	if (kind == MW_SCRIPT_PERL)
		plant_perl();
	else if (kind == MW_SCRIPT_PHP)
		plant_php();
	else
		plant_ruby();
}

static unsigned walk_once(void) {
	uint64_t frames[ROOM];
	uint32_t places[NATIVE];
	for (unsigned i = 0; i < NATIVE; i++) {
		places[i] = MW_UNWIND_PLACE(memory.pages) + 100 * i;
		frames[i] = i;
	}
	mw_script_stack_t stack = {
		.frames = frames, .places = places, .depth = NATIVE, .max = ROOM};
	mw_script_sum_t sum = mw_script_sum();
	CHECK(sum.count <= MW_STATE_DEPTH_MAX);
	CHECK_EQ(sum.key == 0, sum.count == 0);
	mw_script_merge(&stack);
	CHECK(stack.depth >= NATIVE && stack.depth <= ROOM);
	CHECK(stack.depth == NATIVE + sum.count || stack.truncated);
	return sum.count;
}

static void check_random(mw_script_kind_t kind) {
	unsigned frames = 0;
	CHECK_EQ(begin(kind), kind);
	for (unsigned round = 0; round < ROUNDS; round++) {
		random_memory_fill(&memory);
		set_roots();
		if (pick(2))
			plant(kind);
		frames += walk_once();
	}
	CHECK(frames > ROUNDS);
}

/* ---- versions ---- */

static void check_versions(void) {
	for (unsigned version = 30; version < 50; version++) {
		perl_version = (uint8_t)version;
		CHECK_EQ(begin(MW_SCRIPT_PERL),
			 version >= 36 && version <= 40 ? MW_SCRIPT_PERL : MW_SCRIPT_KINDS);
	}
	strcpy(ruby_version, "2.7.0");
	CHECK_EQ(begin(MW_SCRIPT_RUBY), MW_SCRIPT_KINDS);
	strcpy(ruby_version, "3.1.2");
	/* PHP tells its version late: until then there are no frames. */
	strcpy(zend_version, "Zend Engine v5.2.0,");
	CHECK_EQ(begin(MW_SCRIPT_PHP), MW_SCRIPT_PHP);
	set_roots();
	CHECK_EQ(walk_once(), 0);
	strcpy(zend_version, "Zend Engine v4.2.36,");
	perl_version = 36;
	/* Before the interpreter has made its key, the key is somebody else's. */
	perl_first = 0;
	CHECK_EQ(begin(MW_SCRIPT_PERL), MW_SCRIPT_PERL);
	set_roots();
	CHECK_EQ(walk_once(), 0);
	perl_first = 1;
}

/* ---- texts ---- */

static void check_text(const char *bytes, const char *wanted) {
	mw_script_text_t text = {.bytes = 0};
	mw_script_put_bytes(&text, (mw_script_bytes_t){(uintptr_t)bytes, strlen(bytes)});
	text.text[text.bytes] = '\0';
	CHECK_STR(text.text, wanted);
}

static void check_texts(void) {
	check_text("main.pl", "main.pl");
	check_text("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x90\x8c",
		   "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x90\x8c");
	/* Latin-1; a character that is cut; one that is longer than it need be. */
	check_text("gr\xfcn", "gr\xc3\xbcn");
	check_text("\xe2\x82", "\xc3\xa2\xc2\x82");
	check_text("\xc0\xaf", "\xc3\x80\xc2\xaf");
	mw_script_text_t text = {.bytes = 0};
	for (unsigned i = 0; i < 2 * MW_TEXT_BYTES_MAX; i++)
		mw_script_put_literal(&text, "\xe9");
	CHECK(text.bytes >= MW_TEXT_BYTES_MAX - 2 && text.bytes <= MW_TEXT_BYTES_MAX);
	/* The end of the readable pages. */
	mw_script_memory_t known;
	mw_script_memory_begin(&known);
	char *end = memory.pages + 3 * RANDOM_PAGE;
	memset(end - 100, 'x', 100);
	CHECK_EQ(mw_script_until_nul(&known, (uintptr_t)end - 100).bytes, 0);
	end[-1] = '\0';
	CHECK_EQ(mw_script_until_nul(&known, (uintptr_t)end - 100).bytes, 99);
	CHECK_EQ(mw_script_bytes_at(&known, (uintptr_t)end - 100, 100).bytes, 100);
	CHECK_EQ(mw_script_bytes_at(&known, (uintptr_t)end - 100, 101).bytes, 0);
	CHECK_EQ(mw_script_bytes_at(&known, UINTPTR_MAX - 10, 100).bytes, 0);
}

int main(void) {
	CHECK(mw_store_start());
	mw_libc_calls_find();
	random_memory_start(&memory, 11);
	CHECK(pthread_key_create(&thread_key, NULL) == 0);
	check_texts();
	puts("ok texts");
	check_versions();
	puts("ok versions");
	/* Words that the readers look for: types of values, contexts and functions. */
	memory.special[0] = 5;
	memory.special[1] = 2;
	memory.special[2] = 9 | (uint64_t)9 << 32;
	memory.special[3] = (uint64_t)13 << 32;
	check_random(MW_SCRIPT_PERL);
	puts("ok perl");
	check_random(MW_SCRIPT_PHP);
	puts("ok php");
#if defined(__x86_64__) /* the only processor on which it is read */
	check_random(MW_SCRIPT_RUBY);
	puts("ok ruby");
#endif
	return 0;
}
