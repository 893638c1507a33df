/* SPDX-License-Identifier: MIT
 * test_options.c -- the option parser: values, order of the sources, and the exact messages. */
#include "config/options.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static mw_options_t options;
static char messages[65536];

/* Parses and returns what was written to stderr. */
static const char *configure_from(const mw_conf_sources_t *sources) {
	FILE *file = tmpfile();
	int kept = dup(2);
	CHECK(file && kept >= 0 && dup2(fileno(file), 2) == 2);
	mw_ctl_configure(&options, sources);
	CHECK(dup2(kept, 2) == 2);
	close(kept);
	rewind(file);
	messages[fread(messages, 1, sizeof messages - 1, file)] = '\0';
	fclose(file);
	return messages;
}

static const char *configure(const char *malloc_conf, const char *mallow_conf) {
	return configure_from(
		&(mw_conf_sources_t){.environment = malloc_conf, .mallow = mallow_conf});
}

static void defaults(void) {
	CHECK_STR(configure(NULL, NULL), "");
	CHECK(options.prof && options.prof_active && !options.prof_keep && !options.abort_conf);
	CHECK_EQ(options.prof_sample, 524288);
	CHECK_EQ(options.prof_bt_max, 128);
	CHECK_EQ(options.prof_state_min, 1048576);
	CHECK_EQ(options.dirty_decay_ms, 1000);
	CHECK_STR(options.prof_session, "");
	CHECK_STR(configure("", ""), "");
}

static void values_are_read(void) {
	CHECK_STR(configure(NULL, "prof:false,prof_sample:1,prof_session:a b-7,prof_bt_max:0x40,"
				  "dirty_decay_ms:-1"),
		  "");
	CHECK(!options.prof);
	CHECK_EQ(options.prof_sample, 1);
	CHECK_EQ(options.prof_bt_max, 64);
	CHECK_EQ(options.dirty_decay_ms, -1);
	CHECK_STR(options.prof_session, "a b-7");
	CHECK_STR(configure(NULL, "prof_sample:64K"), "");
	CHECK_EQ(options.prof_sample, 65536);
	CHECK_STR(configure(NULL, "prof_sample:1m"), "");
	CHECK_EQ(options.prof_sample, 1048576);
	CHECK_STR(configure(NULL, "prof_sample:1T,"), "");
	CHECK_EQ(options.prof_sample, 1099511627776);
	CHECK_STR(configure(NULL, "lg_prof_sample:0"), "");
	CHECK_EQ(options.prof_sample, 1);
}

static void choices(void) {
	CHECK_STR(configure(NULL, NULL), "");
	CHECK_EQ(options.thp, 0);
	CHECK_STR(configure(NULL, "thp:never,hugetlb:true"), "");
	CHECK_EQ(options.thp, 2);
	CHECK(options.hugetlb);
	CHECK_STR(configure(NULL, "thp:always,thp:nev"),
		  "mallow: MALLOW_CONF: thp:nev is not a known value; allowed: default, always, "
		  "never\n");
	CHECK_EQ(options.thp, 1);
	CHECK_STR(configure(NULL, "thp:"),
		  "mallow: MALLOW_CONF: thp: is not a known value; allowed: default, always, "
		  "never\n");
	char help[16384];
	CHECK(mw_ctl_help(help, sizeof help) < sizeof help);
	CHECK(strstr(help, "\nthp:default  ") && strstr(help, "; default, always, never\n"));
}

static void later_wins(void) {
	CHECK_STR(configure("prof_sample:100,lg_prof_sample:10", NULL), "");
	CHECK_EQ(options.prof_sample, 1024);
	CHECK_STR(configure("lg_prof_sample:10,prof_sample:100", NULL), "");
	CHECK_EQ(options.prof_sample, 100);
	CHECK_STR(configure("prof_sample:100,prof:false", "prof_sample:200"), "");
	CHECK_EQ(options.prof_sample, 200);
	CHECK(!options.prof);
}

static void bad_values_are_named_and_left_out(void) {
	CHECK_STR(configure(NULL, "prof_sample:0,prof_keep:true"),
		  "mallow: MALLOW_CONF: prof_sample:0 is out of range; allowed: 1 .. 1099511627776 "
		  "bytes\n");
	CHECK_EQ(options.prof_sample, 524288);
	CHECK(options.prof_keep);
	CHECK_STR(configure("prof_sample:2T", NULL),
		  "<jemalloc>: Out-of-range conf value: prof_sample:2T (mallow: out of range; "
		  "allowed: 1 .. 1099511627776 bytes)\n");
	CHECK_STR(
		configure(NULL, "prof_sample:99999999999999999999999999999999999999999999"),
		"mallow: MALLOW_CONF: prof_sample:99999999999999999999999999999999999999999999 is "
		"out of range; allowed: 1 .. 1099511627776 bytes\n");
	CHECK_STR(
		configure(NULL, "prof_sample:12x"),
		"mallow: MALLOW_CONF: prof_sample:12x is not a number; allowed: 1 .. 1099511627776 "
		"bytes\n");
	CHECK_STR(
		configure(NULL, "prof_bt_max:12K"),
		"mallow: MALLOW_CONF: prof_bt_max:12K is not a number; allowed: 1 .. 512 frames\n");
	CHECK_STR(configure(NULL, "prof_bt_max:"),
		  "mallow: MALLOW_CONF: prof_bt_max: is not a number; allowed: 1 .. 512 frames\n");
	CHECK_STR(configure(NULL, "prof:yes"),
		  "mallow: MALLOW_CONF: prof:yes is not a known value; allowed: true, false\n");
	CHECK_STR(configure(NULL, "lg_prof_sample:64"),
		  "mallow: MALLOW_CONF: lg_prof_sample:64 is out of range; allowed: 0 .. 63\n");
	CHECK_STR(configure(NULL, "lg_prof_sample:63"), "");
	CHECK_EQ(options.prof_sample, 1099511627776);
	CHECK_STR(configure(NULL, "dirty_decay_ms:-2"),
		  "mallow: MALLOW_CONF: dirty_decay_ms:-2 is out of range; allowed: -1 .. "
		  "315360000000 ms\n");
	char conf[128] = "prof_session:";
	memset(conf + 13, 'x', 64);
	char want[256];
	snprintf(want, sizeof want,
		 "mallow: MALLOW_CONF: %s is too long; allowed: up to 63 characters\n", conf);
	CHECK_STR(configure(NULL, conf), want);
	CHECK_STR(options.prof_session, "");
}

/* The complaint about an unknown name that resembles none. */
static const char *unknown(const char *name) {
	static const char *const names[] = {
#define MW_OPTION(name, kind, standard, min, max, unit, help) #name,
#define MW_OPTION_LOG2(name, target, standard, min, max, help) #name,
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit)
#include "config/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
	};
	static char text[4096];
	int length = snprintf(text, sizeof text,
			      "mallow: MALLOW_CONF: unknown option \"%s\"; allowed: ", name);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		length += snprintf(text + length, sizeof text - (size_t)length, "%s%s",
				   i ? ", " : "", names[i]);
	snprintf(text + length, sizeof text - (size_t)length, "\n");
	return text;
}

static void unknown_options_are_named(void) {
	CHECK_STR(configure(NULL, "prof_smaple:1"),
		  "mallow: MALLOW_CONF: unknown option \"prof_smaple\"; did you mean "
		  "\"prof_sample\"?\n");
	CHECK_STR(configure("g_prof_interval:20", NULL),
		  "<jemalloc>: Invalid conf pair: g_prof_interval:20 (mallow: did you mean "
		  "\"lg_prof_interval\"?)\n");
	CHECK_STR(configure(NULL, "opt.prof:true"),
		  "mallow: MALLOW_CONF: unknown option \"opt.prof\"; did you mean \"prof\"?\n");
	CHECK_STR(configure(NULL, "colour:blue"), unknown("colour"));
	CHECK_STR(configure(NULL, "prof=true"),
		  "mallow: MALLOW_CONF: \"prof=true\" has no value; write name:value, as in "
		  "\"prof:true\"\n");
	CHECK_STR(configure(NULL, "a\nb\x1b[31m:1"), unknown("a?b?[31m"));
	CHECK_EQ(options.prof_sample, 524288);
}

/* Each as Debian's jemalloc 5.3.0 says it (tests/jemalloc/conf.sh compares). */
static void jemalloc_sources_complain_in_its_words(void) {
	CHECK_STR(configure("colour:blue,prof_sample:100", NULL),
		  "<jemalloc>: Invalid conf pair: colour:blue\n");
	CHECK_EQ(options.prof_sample, 100);
	CHECK_STR(configure("prof:maybe", NULL),
		  "<jemalloc>: Invalid conf value: prof:maybe (mallow: not a known value; "
		  "allowed: true, false)\n");
	CHECK_STR(configure("narenas:0", NULL),
		  "<jemalloc>: Out-of-range conf value: narenas:0 (mallow: out of range; "
		  "allowed: 1 or more)\n");
	CHECK_STR(configure("prof", NULL),
		  "<jemalloc>: Conf string ends with key (mallow: \"prof\" has no value; write "
		  "name:value, as in \"prof:true\")\n");
	CHECK_STR(configure("prof_sample:7,", NULL), "<jemalloc>: Conf string ends with comma\n");
	CHECK_EQ(options.prof_sample, 7);
	CHECK_STR(configure("prof_sample:7,,prof_sample:8", NULL),
		  "<jemalloc>: Malformed conf string\n");
	CHECK_EQ(options.prof_sample, 7);
	CHECK_STR(configure("log=.,prof_sample:8", NULL),
		  "<jemalloc>: Malformed conf string (mallow: \"log=.\" has no value; write "
		  "name:value, as in \"prof:true\"; the rest is not read)\n");
	CHECK_EQ(options.prof_sample, 524288);
	CHECK_STR(configure("opt.prof_dump:true", NULL),
		  "<jemalloc>: Malformed conf string (mallow: \"opt.prof_dump:true\" is not of "
		  "the form name:value; did you mean \"prof_gdump\"?)\n");
	CHECK_STR(configure("prof_leak_error:true", NULL),
		  "<jemalloc>: prof_leak_error is set w/o prof_final.\n");
	CHECK(options.prof_leak && options.prof);
	/* Cut, as there, instead of complaints. */
	CHECK_STR(configure("lg_prof_sample:99,tcache_max:99999999999,lg_tcache_max:-1", NULL), "");
	CHECK_EQ(options.prof_sample, 1099511627776);
	CHECK_EQ(options.tcache_max, 8388608);
	CHECK_STR(configure("prof_bt_max:010", NULL), "");
	CHECK_EQ(options.prof_bt_max, 8);
}

static void sources_in_their_order(void) {
	mw_conf_sources_t sources = {.built_in = "prof_sample:1"};
	const char **texts[] = {&sources.built_in,    &sources.variable,        &sources.symlink,
				&sources.environment, &sources.variable_harder, &sources.mallow};
	static const char *const values[] = {"prof_sample:1", "prof_sample:2", "prof_sample:3",
					     "prof_sample:4", "prof_sample:5", "prof_sample:6"};
	for (size_t i = 0; i < 6; i++) {
		*texts[i] = values[i];
		CHECK_STR(configure_from(&sources), "");
		CHECK_EQ(options.prof_sample, i + 1);
	}
	/* What ends one source leaves the others. */
	sources = (mw_conf_sources_t){.variable = "a b,prof_sample:1", .environment = "prof:false"};
	CHECK(strncmp(configure_from(&sources), "<jemalloc>: Malformed conf string", 33) == 0);
	CHECK_EQ(options.prof_sample, 524288);
	CHECK(!options.prof);
}

static void unused_options_are_listed_once(void) {
	configure("narenas:4,prof:true,retain:false,narenas:2,dss:primary,hpa_sec_nshards:1", NULL);
	CHECK_STR(options.unused, "narenas,retain,dss,hpa_sec_nshards");
	CHECK_EQ(options.narenas, 2);
	configure("narenas:none", NULL);
	CHECK_STR(options.unused, "");
}

static void jemalloc_options_pass(void) {
	CHECK_STR(configure("narenas:4,background_thread:true,slab_sizes:1-4096:17|100-200:1,"
			    "prof_prefix:jeprof.out,lg_prof_interval:-1,percpu_arena:percpu",
			    NULL),
		  "");
	CHECK_STR(configure(NULL, "narenas:4"),
		  "mallow: MALLOW_CONF: narenas is jemalloc's option and has no effect here\n");
}

static void a_prefix_that_names_nothing_is_told(void) {
	static const char warning[] =
		"mallow: MALLOW_CONF: prof_prefix has no effect without jemalloc's options for "
		"dumps in MALLOC_CONF; dump_name sets the names of dumps, and %P in it is the "
		"prefix\n";
	CHECK_STR(configure(NULL, "prof_prefix:/tmp/x"), warning);
	CHECK_STR(configure(NULL, "prof_prefix:/tmp/x,prof_final:true"), warning);
	CHECK_STR(configure(NULL, "prof_prefix:/tmp/x,dump_name:%P.%p.pb"), "");
	CHECK_STR(configure("prof_final:true", "prof_prefix:/tmp/x"), "");
	CHECK(strncmp(options.dump_name, "/tmp/x.", 7) == 0);
	CHECK_STR(configure("prof_prefix:/tmp/x", "dump_name:y.%p"), "");
}

static void values_that_mean_something_else_are_told(void) {
	static const char letter[] = "has no meaning; allowed: %p, %i, %h, %e, %n, %t, %r, %u, "
				     "%P, %%\n";
	char want[256];
	snprintf(want, sizeof want, "mallow: MALLOW_CONF: dump_name:a%%q.%%p: '%%q' %s", letter);
	CHECK_STR(configure(NULL, "dump_name:a%q.%p"), want);
	snprintf(want, sizeof want, "mallow: MALLOW_CONF: dump_name:a%%: '%%' %s", letter);
	CHECK_STR(configure(NULL, "dump_name:a%"), want);
	CHECK_STR(configure(NULL, "dump_name:%p%i%h%e%n%t%r%u%P%%q"), "");
	CHECK_STR(configure(NULL, "request_limit:65536"),
		  "mallow: MALLOW_CONF: request_limit:65536 counts as 65537 bytes, the smallest "
		  "limit\n");
	CHECK_STR(configure(NULL, "request_limit:65537"), "");
	CHECK_STR(configure(NULL, "request_limit:0"), "");
}

static void every_complaint_is_one_line(void) {
	/* Fixed seed; each piece is drawn from what the parser looks at. */
	static const char *const pieces[] = {
		"prof", "prof_sample", ":",       ",",    "true", "0x",   "-",           "9",
		"K",    "\n",          "narenas", "opt.", "::",   "\xff", "prof_session"};
	unsigned seed = 12345;
	for (int i = 0; i < 3000; i++) {
		char conf[512] = "";
		unsigned colons = 1;
		for (int n = 0; n < 30; n++) {
			seed = seed * 1103515245 + 12345;
			strcat(conf, pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
		}
		for (const char *c = conf; *c; c++)
			colons += *c == ',';
		configure(NULL, conf);
		unsigned lines = 0;
		for (const char *line = messages; *line; lines++) {
			CHECK(strncmp(line, "mallow: MALLOW_CONF: ", 21) == 0);
			line = strchr(line, '\n');
			CHECK(line);
			line++;
		}
		CHECK(lines <= colons);
	}
}

static void confirm_names_what_is_set(void) {
	CHECK_STR(configure(NULL, "confirm_conf:true,prof:false,prof_sample:2K"),
		  "<jemalloc>: malloc_conf #1 (string specified via --with-malloc-conf): \"\"\n"
		  "<jemalloc>: malloc_conf #2 (string pointed to by the global variable "
		  "malloc_conf): \"\"\n"
		  "<jemalloc>: malloc_conf #3 (\"name\" of the file referenced by the symbolic "
		  "link named /etc/malloc.conf): \"\"\n"
		  "<jemalloc>: malloc_conf #4 (value of the environment variable MALLOC_CONF): "
		  "\"\"\n"
		  "<jemalloc>: malloc_conf #5 (string pointed to by the global variable "
		  "malloc_conf_2_conf_harder): \"\"\n"
		  "mallow: MALLOW_CONF: confirm_conf:true\nmallow: MALLOW_CONF: prof:false\n"
		  "mallow: MALLOW_CONF: prof_sample:2K\n");
}

static void abort_conf_aborts(void) {
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		configure(NULL, "abort_conf:true,prof:maybe");
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_STR(configure(NULL, "abort_conf:true,prof:false"), "");
}

static void help_has_a_line_an_option(void) {
	char help[16384];
	size_t length = mw_ctl_help(help, sizeof help);
	CHECK_EQ(length, strlen(help));
	CHECK(strstr(help,
		     "prof_sample:524288  mean bytes between samples; 1 records every allocation; "
		     "1 .. 1099511627776 bytes\n"));
	CHECK(strstr(help, "prof:true  ") == help);
	CHECK(!strstr(help, "narenas"));
	char small[20];
	CHECK_EQ(mw_ctl_help(small, sizeof small), length);
	CHECK_EQ(strlen(small), sizeof small - 1);
}

int main(void) {
	RUN(defaults);
	RUN(values_are_read);
	RUN(choices);
	RUN(later_wins);
	RUN(bad_values_are_named_and_left_out);
	RUN(unknown_options_are_named);
	RUN(jemalloc_sources_complain_in_its_words);
	RUN(sources_in_their_order);
	RUN(unused_options_are_listed_once);
	RUN(jemalloc_options_pass);
	RUN(a_prefix_that_names_nothing_is_told);
	RUN(values_that_mean_something_else_are_told);
	RUN(every_complaint_is_one_line);
	RUN(confirm_names_what_is_set);
	RUN(abort_conf_aborts);
	RUN(help_has_a_line_an_option);
	return 0;
}
