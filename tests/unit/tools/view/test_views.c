/* SPDX-License-Identifier: MIT
 * test_views.c -- tables on terminals of any width: golden files at two, no line longer than the
 * terminal at all others, whatever the names. */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "made_profile.h"
#include "view/common/view.h"
#include "view/picture/pictures.h"
#include "view/table/tables.h"

static mw_error_t error;

static mw_profile_t *make_profile(const char *const *stacks, size_t count) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "inuse_space", "bytes");
	p->origin.program = mw_profile_intern(p, "made");
	for (size_t i = 0; i < count; i++)
		made_stack(p, stacks[i], (const int64_t[]){(int64_t)(count - i) * 1000000}, NULL);
	return p;
}

static char *shown(const mw_profile_t *p, mw_view_print_t *print, int columns, bool header) {
	char *text;
	size_t length;
	mw_view_t view = {.name = "view",
			  .profile = p,
			  .total = mw_profile_total(p, 0),
			  .ratio = 1,
			  .pattern = ".",
			  .columns = columns,
			  .no_header = !header};
	view.out = open_memstream(&text, &length);
	CHECK(view.out != NULL && print(&view, &error) == 0);
	fclose(view.out);
	return text;
}

static const struct {
	const char *name;
	mw_view_print_t *print;
} tables[] = {{"top", mw_view_top}, {"tree", mw_view_tree}, {"peek", mw_view_peek}};
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

static const char *const usual[] = {"main;parse_command_line;read_file;malloc",
				    "main;serve_requests+route;keep", "main;serve_requests;malloc"};

/* A difference says how fast it grew, and whether sampling alone could make it. */
static void differences_say_how_fast(void) {
	static const struct {
		double sampling_error;
		const char *want;
	} all[] = {{0, "Change: +3.81 MiB from 3.81 MiB in 60 s, 65.1 KiB/s\n"},
		   {1 << 20, "65.1 KiB/s\n        more than chance: sampling alone makes up to "
			     "1.00 MiB in 95 of 100 cases\n"},
		   {8 << 20, "65.1 KiB/s\n        perhaps chance: sampling alone makes up to "
			     "8.00 MiB in 95 of 100 cases\n"}};
	static const char *const one[] = {"main;serve"};
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "inuse_space", "bytes");
	made_stack(p, one[0], (const int64_t[]){4000000}, NULL);
	p->origin.base_time_ns = 1700000000000000000;
	p->time_ns = p->origin.base_time_ns + 60000000000;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text;
		size_t length;
		mw_view_t view = {.name = "diff",
				  .base = "before.pb.gz",
				  .profile = p,
				  .total = 4000000,
				  .ratio = 1,
				  .sampling_error = all[i].sampling_error};
		view.out = open_memstream(&text, &length);
		CHECK(view.out != NULL && mw_view_diff(&view, &error) == 0);
		fclose(view.out);
		CHECK(strstr(text, all[i].want) != NULL);
		free(text);
	}
	mw_profile_free(p);
}

static void golden_tables(void) {
	mw_profile_t *p = make_profile(usual, sizeof(usual) / sizeof(usual[0]));
	for (size_t i = 0; i < 2; i++)
		for (int columns = 20; columns <= 110; columns += 30) {
			char name[64], *text = shown(p, tables[i].print, columns, true);
			snprintf(name, sizeof(name), "%s-%d-columns", tables[i].name, columns);
			check_golden(name, text);
			free(text);
		}
	mw_profile_free(p);
}

/* Threads, sizes, and a key and a name that nobody should have. */
static mw_profile_t *make_labelled(void) {
	mw_profile_t *p = make_profile(NULL, 0);
	const mw_string_t thread = mw_profile_intern(p, MW_LABEL_THREAD);
	const mw_string_t id = mw_profile_intern(p, MW_LABEL_THREAD_ID);
	const mw_string_t size = mw_profile_intern(p, MW_LABEL_SIZE);
	const mw_string_t odd = mw_profile_intern(p, "a key that is rather long\033[2J for this");
	static const char *const names[] = {"redis-server", "bio_close_file", "größe\r\n"};
	for (int i = 0; i < 3; i++) {
		const mw_label_t labels[] = {
			{.key = thread, .text = mw_profile_intern(p, names[i])},
			{.key = id, .number = 4711234 + i},
			{.key = size,
			 .number = 48 << (6 * i),
			 .unit = mw_profile_intern(p, "bytes")},
			{.key = odd,
			 .text = mw_profile_intern(p, "a text\a no terminal of 20 has room for")}};
		const int64_t value = (i + 1) * 33333333;
		mw_profile_add_sample(p, NULL, 0, &value, labels, 4);
	}
	return p;
}

static void golden_labels(void) {
	mw_profile_t *p = make_labelled();
	for (int columns = 20; columns <= 80; columns += 30) {
		char name[64], *text = shown(p, mw_view_tags, columns, true);
		snprintf(name, sizeof(name), "tags-%d-columns", columns);
		check_golden(name, text);
		free(text);
	}
	mw_profile_free(p);
}

/* Everything a picture is made of: boxes of texts and sizes, of what is cut off, inlined calls,
 * what shrank, and names with all that graphviz takes for its own. */
static void golden_picture(void) {
	mw_profile_t *p = make_profile(NULL, 0);
	const mw_label_t request = {.key = mw_profile_intern(p, "request"),
				    .text = mw_profile_intern(p, "get \"a\\b\"\r")};
	const mw_label_t thread = {.key = mw_profile_intern(p, MW_LABEL_THREAD),
				   .text = mw_profile_intern(p, "worker")};
	mw_label_t labels[] = {request, thread, {.key = mw_profile_intern(p, MW_LABEL_SIZE)}};
	static const struct {
		const char *stack;
		int64_t value, size;
	} stacks[] = {
		{"main;std::map<a::b, c>::find;keep", 4000000, 48},
		{"main;std::map<a::b, c>::find;keep", 1000000, 4096},
		{"main;std::map<a::b, c>::find+\"odd\"\n\\name", 2000000, 64},
		{"main;thin;keep", 30000, 48},
		{"main;thin;shrunk", -900000, 48},
		{"main;little", 1000, 16},
	};
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		labels[2].number = stacks[i].size;
		made_labelled(p, stacks[i].stack, &stacks[i].value, labels + i % 2, 3 - i % 2);
	}
	char *text;
	size_t length;
	mw_view_t view = {.name = "graph",
			  .profile = p,
			  .total = 7931000,
			  .ratio = 1,
			  .filters = "   focus=a|\"b\"\n",
			  .graph = {.is_picture = true,
				    .node_count = 80,
				    .node_fraction = 0.005,
				    .edge_fraction = 0.001}};
	view.out = open_memstream(&text, &length);
	CHECK(view.out != NULL && mw_view_dot(&view, &error) == 0);
	fclose(view.out);
	check_golden("picture", text);
	free(text);
	mw_profile_free(p);
}

/* The longest line in columns; -1 if a control character is in the text. */
static int longest_line(const char *text) {
	int longest = 0, now = 0;
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if ((c < ' ' && c != '\n') || c == 0x7f)
			return -1;
		now = c == '\n' ? 0 : now + ((c & 0xc0) != 0x80);
		longest = now > longest ? now : longest;
	}
	return longest;
}

static void check_widths(const mw_profile_t *p, const char *name, mw_view_print_t *print) {
	for (int columns = 20; columns < 160; columns++) {
		char *text = shown(p, print, columns, true);
		int longest = longest_line(text);
		if (longest > columns || longest < 0)
			fprintf(stderr, "%s at %d: %d\n%s\n", name, columns, longest, text);
		CHECK(longest <= columns && longest >= 0);
		free(text);
	}
}

static void no_line_is_longer(void) {
	static char absurd[900];
	memset(absurd, 'x', sizeof(absurd) - 1);
	const char *const stacks[] = {absurd,
				      "main;std::vector<std::map<int, std::string>>::push_back",
				      "main;\033[2J\r\nclear;\x7f", "main;größe;größe;日本",
				      "main;serve_requests;serve_requests;serve_requests"};
	mw_profile_t *p = make_profile(stacks, sizeof(stacks) / sizeof(stacks[0]));
	p->origin.program = mw_profile_intern(p, "a program with a name\033 that is long");
	for (size_t i = 0; i < TABLE_COUNT; i++)
		check_widths(p, tables[i].name, tables[i].print);
	check_widths(p, "diff", mw_view_diff);
	mw_profile_free(p);
	p = make_labelled();
	check_widths(p, "tags", mw_view_tags);
	check_widths(p, "sizes", mw_view_sizes);
	check_widths(p, "threads", mw_view_threads);
	mw_profile_free(p);
}

int main(void) {
	RUN(golden_tables);
	RUN(differences_say_how_fast);
	RUN(golden_labels);
	RUN(golden_picture);
	RUN(no_line_is_longer);
	CHECK(!golden_failed);
	return 0;
}
