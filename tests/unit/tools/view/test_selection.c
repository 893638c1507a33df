/* SPDX-License-Identifier: MIT
 * test_selection.c -- each option that chooses, alone and with others, on one small profile: what
 * is left, as folded stacks in their order. */
#include "made_profile.h"
#include "view/common/view.h"
#include "view/select/drop_frames.h"
#include "view/select/selection.h"
#include "view/table/tables.h"

static mw_error_t error;

/* Threads are texts, sizes numbers of bytes. */
static mw_profile_t *make_profile(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	const mw_string_t thread = mw_profile_intern(p, "thread"),
			  bytes = mw_profile_intern(p, "bytes");
	const mw_label_t one = {.key = thread, .text = mw_profile_intern(p, "one")};
	const mw_label_t two = {.key = thread, .text = mw_profile_intern(p, "two")};
	const mw_label_t size = {.key = bytes, .number = 4096, .unit = bytes};
	made_stack(p, "main;parse;read;malloc", (const int64_t[]){100}, &one);
	made_stack(p, "main;parse;parse;malloc", (const int64_t[]){20}, &two);
	made_stack(p, "main;serve+route;malloc", (const int64_t[]){3}, &size);
	made_stack(p, "start;serve;read;malloc", (const int64_t[]){-4}, NULL);
	return p;
}

static char *folded(mw_profile_t *p, mw_granularity_t granularity) {
	char *text;
	size_t length;
	mw_view_t view = {.name = "collapsed",
			  .profile = p,
			  .ratio = 1,
			  .graph = {.granularity = granularity}};
	view.out = open_memstream(&text, &length);
	CHECK(view.out != NULL && mw_view_collapsed(&view, &error) == 0);
	fclose(view.out);
	return text;
}

#define ALL_PARSE "main;parse;read;malloc 100\nmain;parse;parse;malloc 20\n"
#define MAIN_SERVE "main;serve;route;malloc 3\n"
#define START "start;serve;read;malloc -4\n"

static const struct {
	const char *what;
	mw_selection_t selection;
	const char *left;
} cases[] = {
	{"nothing", {0}, ALL_PARSE MAIN_SERVE START},
	{"focus", {.focus = "^read$"}, "main;parse;read;malloc 100\n" START},
	{"focus on inlined", {.focus = "route"}, MAIN_SERVE},
	{"focus on a file", {.focus = "src/route"}, MAIN_SERVE},
	{"focus on the module", {.focus = "/bin/made"}, ALL_PARSE MAIN_SERVE START},
	{"focus on nothing", {.focus = "nowhere"}, ""},
	{"ignore", {.ignore = "parse"}, MAIN_SERVE START},
	{"focus and ignore", {.focus = "read", .ignore = "start"}, "main;parse;read;malloc 100\n"},
	{"hide", {.hide = "^parse$"}, "main;read;malloc 100\nmain;malloc 20\n" MAIN_SERVE START},
	{"hide inlined", {.hide = "route"}, ALL_PARSE "main;serve;malloc 3\n" START},
	{"hide all", {.hide = "."}, ""},
	{"show", {.show = "^(main|read)$"}, "main;read 100\nmain 23\nread -4\n"},
	{"show from", {.show_from = "parse"}, "parse;read;malloc 100\nparse;parse;malloc 20\n"},
	{"show from inlined", {.show_from = "route"}, "route;malloc 3\n"},
	/* Down to the match next to the leaf. */
	{"prune from",
	 {.prune_from = "read|parse"},
	 "main;parse;read 100\nmain;parse;parse 20\n" MAIN_SERVE "start;serve;read -4\n"},
	{"retain", {.retain = "^(parse|serve)$"}, "parse 100\nparse;parse 20\nserve -1\n"},
	{"exclude",
	 {.exclude = "malloc|main"},
	 "parse;read 100\nparse;parse 20\nserve;route 3\nstart;serve;read -4\n"},
	{"tagfocus", {.tag_focus = "one"}, "main;parse;read;malloc 100\n"},
	{"tagfocus with key", {.tag_focus = "thread=two"}, "main;parse;parse;malloc 20\n"},
	{"tagfocus on a size", {.tag_focus = "4kb"}, MAIN_SERVE},
	{"tagfocus on a range", {.tag_focus = "1kb:8kb"}, MAIN_SERVE},
	{"tagfocus beyond it", {.tag_focus = "5kb:"}, ""},
	{"tagignore", {.tag_ignore = "thread=one|two"}, MAIN_SERVE START},
	{"thread", {.thread = "two"}, "main;parse;parse;malloc 20\n"},
	{"tagroot",
	 {.tag_root = "thread"},
	 "one;main;parse;read;malloc 100\ntwo;main;parse;parse;malloc 20\n"
	 "<unknown>;main;serve;route;malloc 3\n<unknown>;start;serve;read;malloc -4\n"},
	{"tagleaf",
	 {.tag_leaf = "thread"},
	 "main;parse;read;malloc;one 100\nmain;parse;parse;malloc;two 20\n"
	 "main;serve;route;malloc;<unknown> 3\nstart;serve;read;malloc;<unknown> -4\n"},
	{"no inlines", {.no_inlines = true}, ALL_PARSE "main;serve;malloc 3\n" START},
	{"focus comes before hide",
	 {.focus = "read", .hide = "read"},
	 "main;parse;malloc 100\nstart;serve;malloc -4\n"},
};

static void each_option(void) {
	int failed = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mw_profile_t *p = make_profile();
		CHECK(mw_selection_apply(p, &cases[i].selection, &error) == 0);
		char *left = folded(p, MW_BY_FUNCTION);
		if (strcmp(left, cases[i].left) != 0) {
			fprintf(stderr, "%s: left is\n%snot\n%s\n", cases[i].what, left,
				cases[i].left);
			failed++;
		}
		free(left);
		mw_profile_free(p);
	}
	CHECK_EQ(failed, 0);
}

static void bad_patterns_are_errors(void) {
	const mw_selection_t bad[] = {{.focus = "("},   {.ignore = "["},    {.hide = "*"},
				      {.show = "(?<"},  {.show_from = "("}, {.prune_from = "("},
				      {.retain = "("},  {.exclude = "("},   {.tag_show = "("},
				      {.tag_hide = "("}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mw_profile_t *p = make_profile();
		CHECK(mw_selection_apply(p, &bad[i], &error) != 0);
		CHECK(strstr(error.text, "regular expression") != NULL);
		mw_profile_free(p);
	}
}

static void labels_are_kept_by_key(void) {
	const mw_selection_t selections[] = {{.tag_show = "thread"}, {.tag_hide = "thread"}};
	for (int i = 0; i < 2; i++) {
		mw_profile_t *p = make_profile();
		CHECK(mw_selection_apply(p, &selections[i], &error) == 0);
		size_t labels = 0;
		for (size_t k = 0; k < p->sample_count; k++)
			labels += p->samples[k].label_count;
		CHECK_EQ(labels, i == 0 ? 2 : 1);
		CHECK_EQ(mw_profile_total(p, 0), 119);
		mw_profile_free(p);
	}
}

static void paths_are_trimmed(void) {
	mw_profile_t *p = make_profile();
	const mw_selection_t selection = {.trim_path = "src:/elsewhere", .focus = "route"};
	CHECK(mw_selection_apply(p, &selection, &error) == 0);
	char *left = folded(p, MW_BY_FILE);
	CHECK_STR(left, "main.c;serve.c;route.c;malloc.c 3\n");
	free(left);
	mw_profile_free(p);
}

static const struct {
	const char *what, *drop, *keep, *left;
} drops[] = {
	{"nothing", "", "", ALL_PARSE MAIN_SERVE START},
	{"leaves", "malloc", "",
	 "main;parse;read 100\nmain;parse;parse 20\nmain;serve;route 3\nstart;serve;read -4\n"},
	{"whole names only", "mallo|alloc", "", ALL_PARSE MAIN_SERVE START},
	{"what is inlined", "route", "", ALL_PARSE "main;serve 3\n" START},
	{"from the outermost match", "parse", "", "main 120\n" MAIN_SERVE START},
	{"not the outermost frame", "main|start", "", ALL_PARSE MAIN_SERVE START},
	{"but for some", "read|malloc", "read|main",
	 "main;parse;read 100\nmain;parse;parse 20\nmain;serve;route 3\nstart;serve;read -4\n"},
	{"a bad pattern", "read|(", "", ALL_PARSE MAIN_SERVE START},
};

static void dropped_frames(void) {
	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		mw_profile_t *p = make_profile();
		p->drop_frames = mw_profile_intern(p, drops[i].drop);
		p->keep_frames = mw_profile_intern(p, drops[i].keep);
		bool bad = strcmp(drops[i].what, "a bad pattern") == 0;
		CHECK_EQ(mw_drop_frames(p, &error), bad ? -1 : 0);
		char *left = folded(p, MW_BY_FUNCTION);
		CHECK_STR(left, drops[i].left);
		free(left);
		mw_profile_free(p);
	}
}

static void dropped_names_have_no_parameters(void) {
	static const struct {
		const char *name, *left;
	} names[] = {
		{"operator new(unsigned long)", "main"},
		{"operator new[](unsigned long)", "main"},
		{"Pool::operator()(int)", "main"},
		{"(anonymous namespace)::take(int)", "main"},
		{"renew(operator new)", "main;renew(operator new)"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		mw_profile_t *p = mw_profile_new();
		char stack[256], want[256];
		mw_profile_add_type(p, "space", "bytes");
		snprintf(stack, sizeof(stack), "main;%s", names[i].name);
		snprintf(want, sizeof(want), "%s 1\n", names[i].left);
		made_stack(p, stack, (const int64_t[]){1}, NULL);
		p->drop_frames =
			mw_profile_intern(p, "operator new(\\[\\])?|.*operator\\(\\)|.*::take");
		CHECK_EQ(mw_drop_frames(p, &error), 0);
		char *left = folded(p, MW_BY_FUNCTION);
		CHECK_STR(left, want);
		free(left);
		mw_profile_free(p);
	}
}

int main(void) {
	RUN(dropped_frames);
	RUN(dropped_names_have_no_parameters);
	RUN(each_option);
	RUN(bad_patterns_are_errors);
	RUN(labels_are_kept_by_key);
	RUN(paths_are_trimmed);
	return 0;
}
