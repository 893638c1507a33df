/* SPDX-License-Identifier: MIT
 * test_rules.c -- the agent's configuration file: what it sets, one line for each mistake, random
 * and changed texts. */
#include <unistd.h>

#include "agent/rules/rules.h"
#include "test.h"

#define SECOND 1000000000ull

static char said[32][600];
static unsigned said_count;

static void note(void *context, const char *line) {
	(void)context;
	CHECK(line[0] != '\0' && strchr(line, '\n') == NULL);
	if (said_count < 32)
		snprintf(said[said_count], sizeof(said[0]), "%s", line);
	said_count++;
}

static unsigned read_text(mw_rules_t *rules, const char *text, size_t length) {
	said_count = 0;
	mw_rules_init(rules);
	unsigned mistakes = mw_rules_read_text(rules, "agent.conf", text, length, note, NULL);
	CHECK_EQ(mistakes, said_count);
	return mistakes;
}

static const char whole_file[] =
	"# the agent of this host\n"
	"push clickhouse://mallow@127.0.0.1:8123/fleet\n"
	"\t password-file   \"/etc/mallow/pass word\"  # a comment\n"
	"period 5m\nscan 30s\nlimit 90s\nspool 1G\nmemory 32M\ncpu 99 10%\nworkers 3\nsymbols off\n"
	"host db-17\nfolder /var/tmp/agent\nmetrics 127.0.0.1:9464\r\n"
	"service container-label com.docker.compose.service\n"
	"service file-key /etc/podinfo/labels app.kubernetes.io/name\n"
	"service command \"--name=([a-z]+) -x\" web-$1\n"
	"version command v([0-9.]+)\n"
	"label env text production\n"
	"label quoted text \"a \\\"b\\\" \\\\ c\"\n"
	"ignore program ^cron$\n";

static void test_whole(void) {
	mw_rules_t rules;
	CHECK_EQ(read_text(&rules, whole_file, sizeof(whole_file) - 1), 0);
	CHECK_STR(rules.push, "clickhouse://mallow@127.0.0.1:8123/fleet");
	CHECK_STR(rules.password_file, "/etc/mallow/pass word");
	CHECK_STR(rules.host, "db-17");
	CHECK_STR(rules.folder, "/var/tmp/agent");
	CHECK_STR(rules.metrics, "127.0.0.1:9464");
	CHECK_EQ(rules.period_ns, 300 * SECOND);
	CHECK_EQ(rules.scan_ns, 30 * SECOND);
	CHECK_EQ(rules.limit_ns, 90 * SECOND);
	CHECK_EQ(rules.spool_bytes, 1 << 30);
	CHECK_EQ(rules.memory_bytes, 32 << 20);
	CHECK_EQ(rules.cpu_hz, 99);
	CHECK_NEAR(rules.cpu_share, 0.1, 1e-9);
	CHECK_EQ(rules.workers, 3);
	CHECK(!rules.has_symbols);
	CHECK_EQ(rules.name_count, 7);
	char *name = mw_name_rule_apply(&rules.names[2], "/bin/server --name=front -x");
	CHECK_STR(name, "web-front");
	free(name);
	name = mw_name_rule_apply(&rules.names[3], "/bin/server v1.2.3");
	CHECK_STR(name, "1.2.3");
	free(name);
	CHECK(mw_name_rule_apply(&rules.names[3], "/bin/server") == NULL);
	CHECK_STR(rules.names[5].text, "a \"b\" \\ c");
	mw_rules_release(&rules);
}

static void test_defaults(void) {
	mw_rules_t rules;
	CHECK_EQ(read_text(&rules, "", 0), 0);
	CHECK(rules.push == NULL && rules.metrics == NULL);
	CHECK_EQ(rules.period_ns, 900 * SECOND);
	CHECK_EQ(rules.cpu_hz, 0);
	mw_rules_release(&rules);
}

/* Each line is one mistake; what follows is what the message says behind the file's name. */
static const struct {
	const char *line, *message;
} mistakes[] = {
	{"perid 5m", "unknown setting 'perid'; did you mean period?"},
	{"xyzzy-plugh 1", "unknown setting 'xyzzy-plugh'; 'mallow help agent' lists"},
	{"period", "period: needs TIME; write period 15m"},
	{"period 1m 2m", "period: needs TIME"},
	{"period 5x", "period: '5x' is no time that is allowed; write period 15m"},
	{"period 0", "period: '0' is no time that is allowed"},
	{"period nan", "period: 'nan' is no time"},
	{"period 2d", "period: '2d' is no time that is allowed"},
	{"spool 1K", "spool: '1K' is no size that is allowed; write spool 256M"},
	{"memory -1", "memory: '-1' is no size"},
	{"workers 0", "workers: '0' is no number that is allowed"},
	{"workers 2x", "workers: '2x' is no number"},
	{"cpu 99", "cpu: needs HZ SHARE; write cpu 99 10%"},
	{"cpu 99 10", "cpu: '99 10' is not allowed"},
	{"cpu 99 0%", "cpu: '99 0%' is not allowed"},
	{"cpu 5000 10%", "cpu: '5000 10%' is not allowed"},
	{"symbols yes", "symbols: 'yes' is neither on nor off"},
	{"push localhost:8123", "push: 'localhost:8123' is no URL"},
	{"push clickhouse://me:secret@db/x", "push: the URL holds a password; put it into a file"},
	{"host \"\"", "host: is empty"},
	{"host \"db", "a quote is not closed"},
	{"host \"db\"x", "a blank must follow the closing quote"},
	{"service", "write service SOURCE; sources are text"},
	{"label", "write label KEY SOURCE; sources are text"},
	{"label env", "write label KEY SOURCE"},
	{"label 1env text x", "label: '1env' is no key"},
	{"label host text x", "label: 'host' is set by mallow"},
	{"service dns x", "unknown source 'dns'; allowed are text"},
	{"service text", "write service text TEXT"},
	{"service text a b", "'b' is one word too many"},
	{"service command", "write service command PATTERN [NAME]"},
	{"service command (", "pattern '(': missing closing parenthesis at character 2"},
	{"service command a b c", "'c' is one word too many"},
	{"service command a $1",
	 "name '$1': $ needs the number of a group, of which the pattern has 0"},
	{"service unit a x$", "name 'x$': $ needs the number"},
	{"service file etc/labels", "'etc/labels': write the whole path"},
	{"service file-key /etc/labels", "write service file-key PATH KEY"},
	{"ignore text x", "ignore: 'text' would ignore all processes"},
	{"a b c d e f g h i j k l m n o p q", "more than 16 words"},
};

static void test_mistakes(void) {
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		char text[256], begin[400];
		mw_rules_t rules;
		snprintf(text, sizeof(text), "\n# comment\n%s\nworkers 1\n", mistakes[i].line);
		if (strncmp(mistakes[i].line, "workers", 7) == 0)
			snprintf(text, sizeof(text), "\n\n%s\n", mistakes[i].line);
		CHECK_EQ(read_text(&rules, text, strlen(text)), 1);
		snprintf(begin, sizeof(begin), "agent.conf:3: %s", mistakes[i].message);
		if (strncmp(said[0], begin, strlen(begin)) != 0) {
			fprintf(stderr, "said: %s\nnot:  %s\n", said[0], begin);
			exit(1);
		}
		mw_rules_release(&rules);
	}
}

static void test_several_mistakes(void) {
	static const char text[] = "period 1x\nworkers 2\nworkers 3\nservice\ntls-key k\n";
	mw_rules_t rules;
	CHECK_EQ(read_text(&rules, text, sizeof(text) - 1), 4);
	CHECK(strstr(said[0], "agent.conf:1: period") == said[0]);
	CHECK_STR(said[1], "agent.conf:3: workers: line 2 has set it already");
	CHECK(strstr(said[2], "agent.conf:4: write service") == said[2]);
	CHECK(strstr(said[3], "tls-key: there is no tls-cert") != NULL);
	CHECK_EQ(rules.workers, 2);
	mw_rules_release(&rules);
}

static void test_limits(void) {
	mw_rules_t rules;
	static char text[400000];
	size_t length = 0;
	memset(text, 'x', 5000);
	CHECK_EQ(read_text(&rules, text, 5000), 1);
	CHECK(strstr(said[0], "is longer than 4096 bytes") != NULL);
	mw_rules_release(&rules);
	CHECK_EQ(read_text(&rules, "host a\0b\n", 9), 1);
	CHECK(strstr(said[0], "holds a 0 byte") != NULL);
	mw_rules_release(&rules);
	for (int i = 0; i < MW_RULES_MAX + 2; i++)
		length += (size_t)sprintf(text + length, "service text a\n");
	CHECK_EQ(read_text(&rules, text, length), 2);
	CHECK(strstr(said[0], "more than 256 rules") != NULL);
	mw_rules_release(&rules);
	length = 0;
	for (int i = 0; i < MW_RULES_LABELS_MAX + 1; i++)
		length += (size_t)sprintf(text + length, "label l%d text a\nlabel l%d text b\n", i,
					  i);
	CHECK_EQ(read_text(&rules, text, length), 2);
	CHECK(strstr(said[0], "more than 32 labels") != NULL);
	mw_rules_release(&rules);
}

static void test_files(void) {
	mw_rules_t rules;
	said_count = 0;
	mw_rules_init(&rules);
	CHECK_EQ(mw_rules_read(&rules, "/nonexistent/agent.conf", note, NULL), 1);
	CHECK(strstr(said[0], "/nonexistent/agent.conf: cannot read it: No such file") != NULL);
	said_count = 0;
	CHECK_EQ(mw_rules_read(&rules, "/dev/zero", note, NULL), 1);
	CHECK(strstr(said[0], "it is no regular file") != NULL);
	char path[] = "/tmp/mallow-rules.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK(write(fd, "workers 7", 9) == 9);
	CHECK_EQ(mw_rules_read(&rules, path, note, NULL), 0);
	CHECK_EQ(rules.workers, 7);
	CHECK_EQ(ftruncate(fd, (off_t)MW_RULES_BYTES_MAX + 1), 0);
	said_count = 0;
	CHECK_EQ(mw_rules_read(&rules, path, note, NULL), 1);
	CHECK(strstr(said[0], "File too large") != NULL);
	close(fd);
	unlink(path);
	mw_rules_release(&rules);
}

/* A pattern that takes exponential time on a text that a user has chosen ends early. */
static void test_slow_pattern(void) {
	static const char text[] = "service command ^(a+)+$\n";
	char command[64];
	mw_rules_t rules;
	CHECK_EQ(read_text(&rules, text, sizeof(text) - 1), 0);
	memset(command, 'a', sizeof(command) - 2);
	command[sizeof(command) - 2] = 'b';
	command[sizeof(command) - 1] = '\0';
	CHECK(mw_name_rule_apply(&rules.names[0], command) == NULL);
	mw_rules_release(&rules);
}

/* Texts of the file's own words in any order, and the whole file with some bytes changed: rules are
 * read or mistakes are said; nothing else happens (the sanitizers look on in check/asan-units). */
static void test_random(void) {
	static const char *const words[] = {
		"period",  "push",    "cpu",      "99",  "10%",     "service", "label",
		"command", "(a",      "$1",       "\"",  "\\",      "#",       "\n",
		"\n",      "a b",     "file",     "/x",  "version", "text",    "unit",
		"ignore",  "program", "file-key", "(x)", "workers", "\t"};
	unsigned state = 12345;
	static char text[sizeof(whole_file) + 4096];
	for (int round = 0; round < 3000; round++) {
		size_t length = 0;
		mw_rules_t rules;
		if (round % 2 == 0) {
			for (int i = 0; i < 60; i++) {
				state = state * 1103515245u + 12345u;
				length += (size_t)sprintf(text + length, "%s%s",
							  words[(state >> 16) % 27],
							  state & 0x8000u ? " " : "");
			}
		} else {
			length = sizeof(whole_file) - 1;
			memcpy(text, whole_file, length);
			for (int i = 0; i < 8; i++) {
				state = state * 1103515245u + 12345u;
				text[(state >> 8) % length] = (char)(state >> 3);
			}
		}
		read_text(&rules, text, length);
		for (size_t i = 0; i < rules.name_count; i++)
			free(mw_name_rule_apply(&rules.names[i], text));
		mw_rules_release(&rules);
	}
}

int main(void) {
	test_whole();
	test_defaults();
	test_mistakes();
	test_several_mistakes();
	test_limits();
	test_files();
	test_slow_pattern();
	test_random();
	return 0;
}
