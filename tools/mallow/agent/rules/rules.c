/* SPDX-License-Identifier: MIT
 * rules.c -- the settings of the configuration file, one row each. */
#include "agent/rules/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/rules/stable_hash.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "live/files/regular_file.h"
#include "model/memory.h"

#define NS_PER_SECOND 1000000000u

typedef struct setting setting_t;
typedef int take_t(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		   mw_error_t *error);

/* A setting of the file. */
struct setting {
	const char *name;
	const char *values; /* for messages: "TIME" */
	unsigned count;     /* of values */
	take_t *take;
	size_t at;        /* of the member in mw_rules_t */
	double min, max;  /* seconds, bytes or a number */
	const char *hint; /* an example of an allowed value */
};

static int take_text(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		     mw_error_t *error) {
	char **text = (char **)((char *)rules + setting->at);
	if (*words->words[1] == '\0')
		return mw_error_set(error, "%s: is empty; write %s", setting->name, setting->hint);
	free(*text);
	*text = mw_xstrdup(words->words[1]);
	return 0;
}

/* A URL may not hold a password: whoever may read the file sees it in backups and in logs. */
static int take_url(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		    mw_error_t *error) {
	const char *url = words->words[1], *host = strstr(url, "://");
	if (host == NULL || host == url)
		return mw_error_set(error, "%s: '%.80s' is no URL; write %s", setting->name, url,
				    setting->hint);
	host += 3;
	size_t length = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', length);
	if (at != NULL && memchr(host, ':', (size_t)(at - host)) != NULL)
		return mw_error_set(
			error,
			"%s: the URL holds a password; put it into a file that only the "
			"agent may read, and name that by password-file",
			setting->name);
	return take_text(rules, setting, words, error);
}

static int take_time(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		     mw_error_t *error) {
	double seconds;
	if (!mw_parse_seconds(words->words[1], &seconds) || !(seconds >= setting->min) ||
	    !(seconds <= setting->max))
		return mw_error_set(error, "%s: '%.40s' is no time that is allowed; write %s",
				    setting->name, words->words[1], setting->hint);
	*(uint64_t *)((char *)rules + setting->at) = (uint64_t)(seconds * NS_PER_SECOND);
	return 0;
}

static int take_bytes(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		      mw_error_t *error) {
	uint64_t bytes;
	if (!mw_parse_bytes(words->words[1], &bytes) || (double)bytes < setting->min ||
	    (double)bytes > setting->max)
		return mw_error_set(error, "%s: '%.40s' is no size that is allowed; write %s",
				    setting->name, words->words[1], setting->hint);
	*(uint64_t *)((char *)rules + setting->at) = bytes;
	return 0;
}

/* Parses a whole number between the setting's limits. */
static bool parse_whole(const setting_t *setting, const char *text, unsigned *out) {
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	*out = (unsigned)value;
	return *text >= '0' && *text <= '9' && *end == '\0' && (double)value >= setting->min &&
	       (double)value <= setting->max;
}

static int take_count(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		      mw_error_t *error) {
	unsigned count;
	if (!parse_whole(setting, words->words[1], &count))
		return mw_error_set(error, "%s: '%.40s' is no number that is allowed; write %s",
				    setting->name, words->words[1], setting->hint);
	*(unsigned *)((char *)rules + setting->at) = count;
	return 0;
}

static int take_switch(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		       mw_error_t *error) {
	bool is_on = strcmp(words->words[1], "on") == 0;
	if (!is_on && strcmp(words->words[1], "off") != 0)
		return mw_error_set(error, "%s: '%.40s' is neither on nor off", setting->name,
				    words->words[1]);
	*(bool *)((char *)rules + setting->at) = is_on;
	return 0;
}

/* "cpu HZ SHARE%" */
static int take_cpu(mw_rules_t *rules, const setting_t *setting, const mw_line_words_t *words,
		    mw_error_t *error) {
	unsigned hz;
	char *end;
	double percent = strtod(words->words[2], &end);
	if (!parse_whole(setting, words->words[1], &hz) || end == words->words[2] ||
	    strcmp(end, "%") != 0 || !(percent > 0 && percent <= 100))
		return mw_error_set(
			error,
			"cpu: '%.40s %.40s' is not allowed; write samples per second of "
			"CPU time and a part of the time, such as %s",
			words->words[1], words->words[2], setting->hint);
	rules->cpu_hz = hz;
	rules->cpu_share = percent / 100;
	return 0;
}

#define TEXT(name_, values_, member, hint_)                                                        \
	{ name_, values_, 1, take_text, offsetof(mw_rules_t, member), 0, 0, hint_ }

static const setting_t settings[] = {
	{"push", "URL", 1, take_url, offsetof(mw_rules_t, push), 0, 0,
	 "push dir:///var/lib/profiles"},
	TEXT("password-file", "FILE", password_file, "password-file /etc/mallow/password"),
	TEXT("token-file", "FILE", token_file, "token-file /etc/mallow/token"),
	TEXT("tls-ca", "FILE", tls_ca, "tls-ca /etc/mallow/ca.pem"),
	TEXT("tls-cert", "FILE", tls_cert, "tls-cert /etc/mallow/agent.pem"),
	TEXT("tls-key", "FILE", tls_key, "tls-key /etc/mallow/agent.key"),
	TEXT("user", "NAME", user, "user mallow"),
	TEXT("tenant", "NAME", tenant, "tenant team-a"),
	TEXT("host", "NAME", host, "host db-17"),
	TEXT("folder", "DIR", folder, "folder /var/lib/mallow/agent"),
	TEXT("metrics", "HOST:PORT", metrics, "metrics 127.0.0.1:9464"),
	/* The shortest is for trials: a push takes tens of milliseconds. */
	{"period", "TIME", 1, take_time, offsetof(mw_rules_t, period_ns), 0.1, 86400,
	 "period 15m (100 ms to 24 hours)"},
	{"scan", "TIME", 1, take_time, offsetof(mw_rules_t, scan_ns), 0.1, 3600,
	 "scan 1m (100 ms to an hour)"},
	{"limit", "TIME", 1, take_time, offsetof(mw_rules_t, limit_ns), 1, 3600,
	 "limit 2m (a second to an hour)"},
	{"spool", "SIZE", 1, take_bytes, offsetof(mw_rules_t, spool_bytes), 1 << 16, 1e13,
	 "spool 256M (64K to 9T)"},
	{"memory", "SIZE", 1, take_bytes, offsetof(mw_rules_t, memory_bytes), 1 << 22, 1e12,
	 "memory 64M (4M or more)"},
	{"cpu", "HZ SHARE", 2, take_cpu, 0, 1, 1000, "cpu 99 10%"},
	{"workers", "N", 1, take_count, offsetof(mw_rules_t, workers), 1, 64,
	 "workers 2 (1 to 64)"},
	{"symbols", "on|off", 1, take_switch, offsetof(mw_rules_t, has_symbols), 0, 0,
	 "symbols on"},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

void mw_rules_init(mw_rules_t *rules) {
	*rules = (mw_rules_t){.period_ns = 900ull * NS_PER_SECOND,
			      .scan_ns = 60ull * NS_PER_SECOND,
			      .limit_ns = 120ull * NS_PER_SECOND,
			      .spool_bytes = (uint64_t)256 << 20,
			      .memory_bytes = (uint64_t)64 << 20,
			      .workers = 2,
			      .has_symbols = true};
}

void mw_rules_release(mw_rules_t *rules) {
	for (size_t i = 0; i < SETTINGS; i++)
		if (settings[i].take == take_text || settings[i].take == take_url)
			free(*(char **)((char *)rules + settings[i].at));
	for (size_t i = 0; i < rules->name_count; i++)
		mw_name_rule_release(&rules->names[i]);
	free(rules->names);
	*rules = (mw_rules_t){0};
}

/* ---- lines ---- */

/* A file that is being read. */
typedef struct reading {
	mw_rules_t *rules;
	const char *name;
	unsigned line, mistakes;
	unsigned seen[SETTINGS]; /* line of each setting; 0: not yet */
	mw_rules_complain_t *complain;
	void *context;
} reading_t;

static void complain_about(reading_t *reading, const mw_error_t *why) {
	mw_error_t error;
	reading->mistakes++;
	mw_error_set(&error, "%s:%u: %s", reading->name, reading->line, why->text);
	reading->complain(reading->context, error.text);
}

static int say_unknown(const char *word, mw_error_t *error) {
	mw_suggestion_t near = {0};
	for (size_t i = 0; i < SETTINGS; i++)
		mw_suggest(&near, word, settings[i].name);
	if (near.best != NULL)
		return mw_error_set(error, "unknown setting '%.60s'; did you mean %s?", word,
				    near.best);
	return mw_error_set(error,
			    "unknown setting '%.60s'; 'mallow help agent' lists the settings and "
			    "rules",
			    word);
}

/* Returns the number of keys that the rules for labels have. */
static size_t count_labels(const mw_rules_t *rules) {
	size_t count = 0;
	for (size_t i = 0; i < rules->name_count; i++) {
		size_t first = 0;
		while (rules->names[i].label != NULL && first < i &&
		       (rules->names[first].label == NULL ||
			strcmp(rules->names[first].label, rules->names[i].label) != 0))
			first++;
		count += rules->names[i].label != NULL && first == i;
	}
	return count;
}

static int take_rule(mw_rules_t *rules, const mw_line_words_t *words, mw_error_t *error) {
	mw_name_rule_t rule;
	if (rules->name_count == MW_RULES_MAX)
		return mw_error_set(error, "more than %d rules for names", MW_RULES_MAX);
	if (mw_name_rule_make(words, &rule, error) != 0)
		return -1;
	rules->names = mw_grow(rules->names, &rules->name_capacity, rules->name_count + 1,
			       sizeof(*rules->names));
	rules->names[rules->name_count++] = rule;
	if (rule.label != NULL && count_labels(rules) > MW_RULES_LABELS_MAX)
		return mw_error_set(error, "more than %d labels", MW_RULES_LABELS_MAX);
	return 0;
}

static int take_setting(reading_t *reading, const mw_line_words_t *words, mw_error_t *error) {
	size_t i = 0;
	while (i < SETTINGS && strcmp(settings[i].name, words->words[0]) != 0)
		i++;
	if (i == SETTINGS)
		return say_unknown(words->words[0], error);
	if (words->count != settings[i].count + 1)
		return mw_error_set(error, "%s: needs %s; write %s", settings[i].name,
				    settings[i].values, settings[i].hint);
	if (reading->seen[i] != 0)
		return mw_error_set(error, "%s: line %u has set it already", settings[i].name,
				    reading->seen[i]);
	reading->seen[i] = reading->line;
	return settings[i].take(reading->rules, &settings[i], words, error);
}

static void take_line(reading_t *reading, char *line, size_t length) {
	mw_line_words_t words;
	mw_error_t error;
	int result = 0;
	if (strlen(line) != length)
		result = mw_error_set(&error, "holds a 0 byte; it is no text");
	else if (mw_line_words_split(line, &words, &error) != 0)
		result = -1;
	else if (words.count > 0)
		result = mw_name_rule_is_field(words.words[0])
				 ? take_rule(reading->rules, &words, &error)
				 : take_setting(reading, &words, &error);
	if (result != 0)
		complain_about(reading, &error);
}

/* Some settings need each other. */
static void check_together(reading_t *reading) {
	const mw_rules_t *rules = reading->rules;
	mw_error_t error = {.text = ""};
	if (rules->tls_key != NULL && rules->tls_cert == NULL)
		mw_error_set(&error, "tls-key: there is no tls-cert; name the certificate, too");
	else if (rules->password_file != NULL && rules->token_file != NULL)
		mw_error_set(&error, "token-file: there is a password-file, too; keep one of them");
	else
		return;
	complain_about(reading, &error);
}

unsigned mw_rules_read_text(mw_rules_t *rules, const char *name, const char *text, size_t length,
			    mw_rules_complain_t *complain, void *context) {
	reading_t reading = {
		.rules = rules, .name = name, .complain = complain, .context = context};
	char line[MW_RULES_LINE_BYTES_MAX + 1];
	const char *end = text + length;
	rules->hash = mw_stable_hash(MW_STABLE_HASH_SEED, text, length);
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((stop != NULL ? stop : end) - text);
		reading.line++;
		if (bytes > MW_RULES_LINE_BYTES_MAX) {
			mw_error_t error;
			mw_error_set(&error, "is longer than %d bytes", MW_RULES_LINE_BYTES_MAX);
			complain_about(&reading, &error);
		} else {
			memcpy(line, text, bytes);
			line[bytes] = '\0';
			take_line(&reading, line, bytes);
		}
		text += bytes + (stop != NULL);
	}
	check_together(&reading);
	return reading.mistakes;
}

/* Reads a whole file.  NULL with errno; EFBIG: it is too large. */
static char *read_file(const char *path, size_t *length) {
	int fd = mw_open_regular_file(path);
	if (fd < 0)
		return NULL;
	char *text = mw_xcalloc(MW_RULES_BYTES_MAX + 1, 1);
	ssize_t got = 0;
	*length = 0;
	while (*length <= MW_RULES_BYTES_MAX &&
	       (got = read(fd, text + *length, MW_RULES_BYTES_MAX + 1 - *length)) > 0)
		*length += (size_t)got;
	int why = got < 0 ? errno : EFBIG;
	close(fd);
	if (got == 0 && *length <= MW_RULES_BYTES_MAX)
		return text;
	free(text);
	errno = why;
	return NULL;
}

unsigned mw_rules_read(mw_rules_t *rules, const char *path, mw_rules_complain_t *complain,
		       void *context) {
	size_t length;
	char *text = read_file(path, &length);
	if (text == NULL) {
		mw_error_t error;
		mw_error_set(&error, "%s: cannot read it: %s", path,
			     errno == ENXIO ? "it is no regular file" : strerror(errno));
		complain(context, error.text);
		return 1;
	}
	unsigned mistakes = mw_rules_read_text(rules, path, text, length, complain, context);
	free(text);
	return mistakes;
}
