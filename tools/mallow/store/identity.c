/* SPDX-License-Identifier: MIT
 * identity.c -- checks identities, and keeps them in a profile's comments. */
#include "store/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "store/percent.h"

#define COMMENT "mallow-identity: "
#define TAG "tag."

static int check_text(const char *what, const char *text, mw_error_t *error) {
	size_t length = strlen(text);
	if (length <= MW_IDENTITY_BYTES_MAX)
		return 0;
	return mw_error_set(error, "%s '%.20s...' has %zu bytes; allowed: up to %d", what, text,
			    length, MW_IDENTITY_BYTES_MAX);
}

static int check_tags(const mw_identity_t *identity, mw_error_t *error) {
	if (identity->tag_count > MW_IDENTITY_TAGS_MAX)
		return mw_error_set(error, "%zu labels; allowed: up to %d", identity->tag_count,
				    MW_IDENTITY_TAGS_MAX);
	for (size_t i = 0; i < identity->tag_count; i++) {
		const mw_tag_t *tag = &identity->tags[i];
		if (tag->key[0] == '\0')
			return mw_error_set(error, "a label has no name");
		if (check_text("label", tag->key, error) != 0 ||
		    check_text("value of a label", tag->value, error) != 0)
			return -1;
		if (i > 0 && strcmp(identity->tags[i - 1].key, tag->key) == 0)
			return mw_error_set(error, "label '%s' is given twice", tag->key);
		if (i > 0 && strcmp(identity->tags[i - 1].key, tag->key) > 0)
			return mw_error_set(error, "label '%s' is not in order", tag->key);
	}
	return 0;
}

int mw_identity_check(const mw_identity_t *identity, mw_error_t *error) {
	if (identity->service[0] == '\0')
		return mw_error_set(error, "the profile has no service's name");
	if (check_text("service", identity->service, error) != 0 ||
	    check_text("instance", identity->instance, error) != 0 ||
	    check_text("host", identity->host, error) != 0 ||
	    check_text("version", identity->version, error) != 0 ||
	    check_text("build-id", identity->build_id, error) != 0)
		return -1;
	return check_tags(identity, error);
}

void mw_identity_write_text(mw_profile_t *profile, const char *key, const char *value) {
	char *name = mw_percent_encode(key, "=");
	char *text = mw_percent_encode(value, "");
	char *comment;
	if (asprintf(&comment, COMMENT "%s=%s", name, text) >= 0) {
		mw_profile_add_comment(profile, comment);
		free(comment);
	}
	free(name);
	free(text);
}

void mw_identity_write(mw_profile_t *profile, const mw_identity_t *identity) {
	mw_identity_write_text(profile, "service", identity->service);
	mw_identity_write_text(profile, "instance", identity->instance);
	mw_identity_write_text(profile, "host", identity->host);
	mw_identity_write_text(profile, "version", identity->version);
	mw_identity_write_text(profile, "build_id", identity->build_id);
	for (size_t i = 0; i < identity->tag_count; i++) {
		char *key;
		if (asprintf(&key, TAG "%s", identity->tags[i].key) < 0)
			continue;
		mw_identity_write_text(profile, key, identity->tags[i].value);
		free(key);
	}
}

/* Splits a comment of the profile into a key and a value, which `read` keeps.  False: it is
 * another's comment, or damaged. */
static bool split(mw_read_identity_t *read, const char *comment, const char **key,
		  const char **value) {
	if (strncmp(comment, COMMENT, strlen(COMMENT)) != 0)
		return false;
	char *text = mw_xstrdup(comment + strlen(COMMENT));
	read->texts = mw_grow(read->texts, &read->text_capacity, read->text_count + 1,
			      sizeof(*read->texts));
	read->texts[read->text_count++] = text;
	char *equals = strchr(text, '=');
	if (equals == NULL)
		return false;
	*equals = '\0';
	*key = text;
	*value = equals + 1;
	return mw_percent_decode(text) && mw_percent_decode(equals + 1);
}

static void take_tag(mw_read_identity_t *read, const char *key, const char *value) {
	mw_identity_t *identity = &read->identity;
	read->tags = mw_grow(read->tags, &read->tag_capacity, identity->tag_count + 1,
			     sizeof(*read->tags));
	read->tags[identity->tag_count++] = (mw_tag_t){key, value};
	identity->tags = read->tags;
}

static void take(mw_read_identity_t *read, const char *key, const char *value) {
	mw_identity_t *identity = &read->identity;
	const struct {
		const char *key;
		const char **value;
	} fields[] = {
		{"service", &identity->service},   {"instance", &identity->instance},
		{"host", &identity->host},         {"version", &identity->version},
		{"build_id", &identity->build_id},
	};
	if (strncmp(key, TAG, strlen(TAG)) == 0)
		take_tag(read, key + strlen(TAG), value);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].key, key) == 0)
			*fields[i].value = value;
}

static int compare_tags(const void *a, const void *b) {
	return strcmp(((const mw_tag_t *)a)->key, ((const mw_tag_t *)b)->key);
}

int mw_identity_read(const mw_profile_t *profile, mw_read_identity_t *out, mw_error_t *error) {
	const char *key, *value;
	*out = (mw_read_identity_t){
		.identity = {
			.service = "", .instance = "", .host = "", .version = "", .build_id = ""}};
	for (size_t i = 0; i < profile->comment_count; i++)
		if (split(out, mw_profile_string(profile, profile->comments[i]), &key, &value))
			take(out, key, value);
	if (out->identity.tag_count > 1)
		qsort(out->tags, out->identity.tag_count, sizeof(*out->tags), compare_tags);
	return mw_identity_check(&out->identity, error);
}

const char *mw_identity_read_text(const mw_profile_t *profile, mw_read_identity_t *read,
				  const char *wanted) {
	const char *key, *value;
	for (size_t i = 0; i < profile->comment_count; i++)
		if (split(read, mw_profile_string(profile, profile->comments[i]), &key, &value) &&
		    strcmp(key, wanted) == 0)
			return value;
	return NULL;
}

void mw_read_identity_free(mw_read_identity_t *read) {
	for (size_t i = 0; i < read->text_count; i++)
		free(read->texts[i]);
	free(read->texts);
	free(read->tags);
}
