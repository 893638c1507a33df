/* SPDX-License-Identifier: MIT
 * test_parse.c -- command lines, and the table they are parsed by. */
#include <unistd.h>

#include "cli/options.h"
#include "cmd/command.h"
#include "test.h"

static char complaint[1024];

/* Parses the words up to NULL; what was complained about is in `complaint`. */
static bool parse(mw_arguments_t *out, const char *name, char **words) {
	int count = 0;
	while (words[count])
		count++;
	int keep = dup(2);
	FILE *catch = tmpfile();
	CHECK(keep >= 0 && catch);
	fflush(stderr);
	dup2(fileno(catch), 2);
	bool good = mw_arguments_parse(out, mw_subcommand_find(name), count, words);
	fflush(stderr);
	dup2(keep, 2);
	close(keep);
	rewind(catch);
	complaint[fread(complaint, 1, sizeof(complaint) - 1, catch)] = '\0';
	fclose(catch);
	return good;
}

#define WORDS(...) ((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void test_bytes(void) {
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"1", 1},           {"524288", 524288}, {"512K", 524288},    {"512k", 524288},
		{"512KiB", 524288}, {"4M", 4194304},    {"2GB", 2147483648}, {"1T", 1099511627776},
		{"100B", 100},
	};
	static const char *const bad[] = {"",
					  "0",
					  "-1",
					  "+1",
					  "K",
					  "1X",
					  "1Kx",
					  "1 K",
					  "2T",
					  "0x10",
					  "1e6",
					  "512Ki",
					  "99999999999999999999999"};
	uint64_t bytes;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(mw_parse_bytes(good[i].text, &bytes));
		CHECK_EQ(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!mw_parse_bytes(bad[i], &bytes));
}

static void test_options_and_operands_mix(void) {
	mw_arguments_t a;
	CHECK(parse(&a, "report",
		    WORDS("--lines", "77", "--top=5", "--sample-type", "alloc_space")));
	CHECK(a.options.lines.given);
	CHECK_EQ(a.options.top.number, 5);
	CHECK_STR(a.options.sample_type.text, "alloc_space");
	CHECK(!a.options.all.given);
	CHECK_EQ(a.operand_count, 1);
	CHECK_STR(a.operands[0], "77");
	CHECK(parse(&a, "dump", WORDS("-oa.pb", "77")));
	CHECK_STR(a.options.output.text, "a.pb");
	CHECK(parse(&a, "dump", WORDS("77", "-o", "-")));
	CHECK_STR(a.options.output.text, "-");
	CHECK(parse(&a, "start", WORDS("--wait", "0.5", "--", "-1", "2")));
	CHECK(a.options.wait.seconds == 0.5);
	CHECK_EQ(a.operand_count, 2);
	CHECK_STR(a.operands[0], "-1");
}

static void test_run_leaves_the_program_its_options(void) {
	mw_arguments_t a;
	CHECK(parse(&a, "run", WORDS("--exact", "ls", "-l", "--exact", "--", "--rate")));
	CHECK_EQ(a.operand_count, 5);
	CHECK_STR(a.operands[1], "-l");
	CHECK_STR(a.operands[3], "--");
	CHECK(a.operands[5] == NULL);
	CHECK(parse(&a, "run", WORDS("--rate", "64K", "--", "ls", "--rate")));
	CHECK_EQ(a.options.rate.number, 65536);
	CHECK_EQ(a.operand_count, 2);
	CHECK_STR(a.operands[0], "ls");
}

static void test_pprofs_spellings(void) {
	mw_arguments_t a;
	CHECK(parse(&a, "top", WORDS("-focus=a|b", "-show_from", "main", "-cum", "77")));
	CHECK_STR(a.options.focus.text, "a|b");
	CHECK_STR(a.options.show_from.text, "main");
	CHECK(a.options.cum.given);
	CHECK_STR(a.operands[0], "77");
	CHECK(parse(&a, "top", WORDS("--inuse_space", "-trim=false", "-oout.svg", "77")));
	CHECK(a.options.inuse_space.given);
	CHECK(a.options.trim.given && a.options.trim.is_off);
	CHECK_STR(a.options.output.text, "out.svg");
	CHECK(parse(&a, "top", WORDS("-noinlines=false", "-nodefraction", "0.25", "77")));
	CHECK(!a.options.noinlines.given);
	CHECK((int)(a.options.nodefraction.fraction * 100) == 25);
	CHECK(!parse(&a, "top", WORDS("-noinlines=perhaps", "77")));
	CHECK(!parse(&a, "top", WORDS("-nodefraction=-1", "77")));
	CHECK(!parse(&a, "status", WORDS("-json", "77")));
}

static void test_complaints_name_what_is_allowed(void) {
	mw_arguments_t a;
	CHECK(!parse(&a, "report", WORDS("--line", "77")));
	CHECK_STR(complaint, "mallow: report: unknown option '--line'; did you mean '--lines'? "
			     "'mallow report --help' lists all\n");
	CHECK(!parse(&a, "report", WORDS("--nonsense", "77")));
	CHECK_STR(complaint,
		  "mallow: report: unknown option '--nonsense'; allowed: --name REGEX, "
		  "--top N, --all, --interval, --stacks, and what 'mallow report --help' "
		  "lists\n");
	CHECK(!parse(&a, "report", WORDS("-l", "77")));
	CHECK(strstr(complaint, "unknown option '-l'"));
	CHECK(!parse(&a, "report", WORDS("--top", "0", "77")));
	CHECK_STR(complaint,
		  "mallow: report: --top does not take '0'; allowed: a whole number from 1\n");
	CHECK(!parse(&a, "report", WORDS("77", "--top")));
	CHECK_STR(complaint, "mallow: report: --top needs a value: N\n");
	CHECK(!parse(&a, "report", WORDS("--lines=perhaps", "77")));
	CHECK_STR(complaint, "mallow: report: --lines does not take 'perhaps'; allowed: true or "
			     "false\n");
	CHECK(!parse(&a, "dump", WORDS("77", "--format", "xml")));
	CHECK_STR(complaint, "mallow: dump: --format does not take 'xml'; allowed: "
			     "proto|jemalloc|symbolized|gperftools|growth\n");
	CHECK(!parse(&a, "dump", WORDS("77", "--format", "")));
	CHECK(!parse(&a, "run", WORDS("--rate", "0", "ls")));
	CHECK(strstr(complaint, "--rate does not take '0'"));
	CHECK(!parse(&a, "start", WORDS("--wait", "nan", "1")));
	CHECK(!parse(&a, "start", WORDS("--wait", "-1", "1")));
	CHECK(!parse(&a, "check", WORDS()));
	CHECK(strstr(complaint, "too few arguments"));
	CHECK(!parse(&a, "peek", WORDS()));
	CHECK(strstr(complaint, "too few arguments"));
	CHECK(!parse(&a, "diff", WORDS("1")));
	CHECK(strstr(complaint, "too few arguments"));
	/* The only process is the target. */
	CHECK(parse(&a, "report", WORDS()) && a.operand_count == 0);
	mw_arguments_release(&a);
	CHECK(parse(&a, "peek", WORDS("main")) && a.operand_count == 1);
	mw_arguments_release(&a);
	CHECK(parse(&a, "diff", WORDS("1", "2", "3")) && a.operand_count == 3);
	mw_arguments_release(&a);
	CHECK(!parse(&a, "doctor", WORDS("1", "2")));
	CHECK(strstr(complaint, "does not take '2'"));
	CHECK(parse(&a, "status", WORDS("--help")));
	CHECK(a.help);
}

static void test_table_is_sound(void) {
	for (size_t i = 0; i < mw_command_table.subcommand_count; i++) {
		const mw_subcommand_t *s = &mw_command_table.subcommands[i];
		CHECK(s->name && s->operands && s->summary && s->details && s->examples && s->run);
		CHECK(s->operands_min <= s->operands_max);
		CHECK(mw_subcommand_find(s->name) == s);
		size_t options = 0;
		for (const mw_option_t *o = s->options; o->name; o++, options++) {
			CHECK(o->help != NULL);
			CHECK((o->value != NULL) == (o->kind != MW_OPTION_FLAG));
			bool has_choices =
				o->kind == MW_OPTION_CHOICE || o->kind == MW_OPTION_WORDS;
			CHECK((o->choices != NULL) == has_choices);
			for (const mw_option_t *other = s->options; other < o; other++)
				CHECK(strcmp(o->name, other->name) != 0);
		}
		/* The last entry ends the list. */
		CHECK(options < MW_OPTIONS_MAX);
	}
	CHECK(mw_subcommand_find("nosuch") == NULL);
}

static bool is_same_name(const char *a, const char *b) {
	while (*a != '\0' && (*a == *b || (strchr("-_", *a) && strchr("-_", *b) && *b != '\0')))
		a++, b++;
	return *a == *b;
}

/* Options of one name fill in one value, and others do not. A flag and an option with an argument
 * may be two. */
static void check_pair(const mw_option_t *a, const mw_option_t *b) {
	bool is_one = is_same_name(a->name, b->name);
	bool may_be_two =
		(mw_option_kind(a) == MW_OPTION_FLAG) != (mw_option_kind(b) == MW_OPTION_FLAG);
	if (a->value_at == 0 || b->value_at == 0)
		return;
	CHECK(a->value_at == b->value_at ? is_one : !is_one || may_be_two);
}

static void check_against(const mw_subcommand_t *s, const mw_option_t *a) {
	const mw_option_t *b;
	for (size_t i = 0; (b = mw_subcommand_option(s, i)) != NULL; i++)
		check_pair(a, b);
}

static void check_values(const mw_subcommand_t *s) {
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(s, i)) != NULL; i++) {
		mw_option_kind_t kind = mw_option_kind(option);
		CHECK(option->value_at < sizeof(mw_option_values_t));
		if (option->value_at == 0) {
			CHECK(s->more != NULL && option >= s->more &&
			      option < s->more + MW_UNBOUND_OPTIONS_MAX);
			CHECK(kind == MW_OPTION_SWITCH || kind == MW_OPTION_TEXT);
		}
		for (size_t k = 0; k < mw_command_table.subcommand_count; k++)
			check_against(&mw_command_table.subcommands[k], option);
	}
}

static void test_each_option_has_a_value(void) {
	for (size_t i = 0; i < mw_command_table.subcommand_count; i++)
		check_values(&mw_command_table.subcommands[i]);
	for (size_t i = 0; i < mw_command_table.program_count; i++)
		check_values(&mw_command_table.programs[i]);
}

/* `report` leaves what shapes a view to the views; what chooses samples is for both. */
static void test_report_knows_what_is_for_views(void) {
	static const struct {
		const char *name;
		bool of_views;
	} options[] = {
		{"focus", false}, {"json", false},     {"symbolize", false}, {"tls-key", false},
		{"unit", true},   {"nodecount", true}, {"diff-base", true},  {"output", true},
	};
	const mw_subcommand_t *report = mw_subcommand_find("report");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const mw_option_t *o = report->shared;
		while (o->name != NULL && strcmp(o->name, options[i].name) != 0)
			o++;
		CHECK(o->name != NULL);
		CHECK(((o->kind & MW_OPTION_OF_VIEWS) != 0) == options[i].of_views);
	}
}

static void test_words(void) {
	mw_arguments_t a;
	CHECK(parse(&a, "top", WORDS("--symbolize=remote:demangle=none", "1")));
	CHECK(mw_value_has_word(&a.options.symbolize, "remote"));
	CHECK(mw_value_has_word(&a.options.symbolize, "demangle=none"));
	CHECK(!mw_value_has_word(&a.options.symbolize, "local"));
	CHECK(!mw_value_has_word(&a.options.symbolize, "demangle"));
	mw_arguments_release(&a);
	static char *const bad[] = {"--symbolize=", "--symbolize=:", "--symbolize=local:",
				    "--symbolize=loca", "--symbolize=local:x"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!parse(&a, "top", WORDS(bad[i], "1")));
		CHECK(strstr(complaint, "allowed: none|local|") != NULL);
		mw_arguments_release(&a);
	}
}

int main(void) {
	mw_commands_register(&mw_command_table);
	RUN(test_words);
	RUN(test_bytes);
	RUN(test_options_and_operands_mix);
	RUN(test_run_leaves_the_program_its_options);
	RUN(test_pprofs_spellings);
	RUN(test_complaints_name_what_is_allowed);
	RUN(test_table_is_sound);
	RUN(test_each_option_has_a_value);
	RUN(test_report_knows_what_is_for_views);
	return 0;
}
