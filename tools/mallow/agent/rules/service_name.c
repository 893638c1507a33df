/* SPDX-License-Identifier: MIT
 * service_name.c -- the first rule of each field that gives a name. */
#include "agent/rules/service_name.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/text.h"

/* Used after the file's own rules. */
static const mw_name_rule_t standard_rules[] = {
	{.field = MW_RULE_SERVICE, .source = MW_SOURCE_UNIT, .form = (char *)(size_t) "$0"},
	{.field = MW_RULE_SERVICE, .source = MW_SOURCE_PROGRAM, .form = (char *)(size_t) "$0"},
	{.field = MW_RULE_SERVICE,
	 .source = MW_SOURCE_TEXT,
	 .text = (char *)(size_t) "unknown",
	 .form = (char *)(size_t) "$0"},
};

/* Returns a name as it may be stored: no control characters, not too long, cut between characters.
 * NULL: the rule gives none. */
static char *name_by(const mw_name_rule_t *rule, const mw_name_sources_t *facts) {
	char *text = mw_name_sources_text(facts, rule);
	char *name = text != NULL && *text != '\0' ? mw_name_rule_apply(rule, text) : NULL;
	free(text);
	if (name == NULL)
		return NULL;
	mw_text_clean(name, "");
	size_t length = strlen(name);
	if (length < MW_SERVICE_NAME_BYTES)
		return name;
	length = MW_SERVICE_NAME_BYTES - 1;
	/* Bytes 10xxxxxx continue a character. */
	while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	name[length] = '\0';
	return name;
}

static mw_service_label_t *find_label(mw_service_name_t *out, const char *key) {
	for (size_t i = 0; i < out->label_count; i++)
		if (strcmp(out->labels[i].key, key) == 0)
			return &out->labels[i];
	return NULL;
}

/* Returns where the name by this rule goes; NULL: an earlier rule has given it. */
static char **place_of(mw_service_name_t *out, const mw_name_rule_t *rule) {
	if (rule->field == MW_RULE_SERVICE)
		return out->service == NULL ? &out->service : NULL;
	if (rule->field == MW_RULE_VERSION)
		return out->version == NULL ? &out->version : NULL;
	if (out->label_count == MW_RULES_LABELS_MAX || find_label(out, rule->label) != NULL)
		return NULL;
	return &out->labels[out->label_count].value;
}

static void apply(mw_service_name_t *out, const mw_name_rule_t *rule,
		  const mw_name_sources_t *facts) {
	char **place = place_of(out, rule);
	char *name = place != NULL ? name_by(rule, facts) : NULL;
	if (name == NULL)
		return;
	*place = name;
	if (rule->field == MW_RULE_LABEL)
		out->labels[out->label_count++].key = mw_xstrdup(rule->label);
}

static int compare_labels(const void *a, const void *b) {
	const mw_service_label_t *left = a, *right = b;
	return strcmp(left->key, right->key);
}

static bool is_ignored(const mw_rules_t *rules, const mw_name_sources_t *facts) {
	for (size_t i = 0; i < rules->name_count; i++) {
		char *name = rules->names[i].field == MW_RULE_IGNORE
				     ? name_by(&rules->names[i], facts)
				     : NULL;
		free(name);
		if (name != NULL)
			return true;
	}
	return false;
}

void mw_service_name_find(const mw_rules_t *rules, const mw_name_sources_t *facts,
			  mw_service_name_t *out) {
	*out = (mw_service_name_t){.is_ignored = is_ignored(rules, facts)};
	for (size_t i = 0; i < rules->name_count && !out->is_ignored; i++)
		if (rules->names[i].field != MW_RULE_IGNORE)
			apply(out, &rules->names[i], facts);
	for (size_t i = 0; i < sizeof(standard_rules) / sizeof(standard_rules[0]); i++)
		apply(out, &standard_rules[i], facts);
	if (out->version == NULL)
		out->version = mw_xstrdup("");
	qsort(out->labels, out->label_count, sizeof(*out->labels), compare_labels);
}

void mw_service_name_release(mw_service_name_t *name) {
	free(name->service);
	free(name->version);
	for (size_t i = 0; i < name->label_count; i++) {
		free(name->labels[i].key);
		free(name->labels[i].value);
	}
	*name = (mw_service_name_t){0};
}
