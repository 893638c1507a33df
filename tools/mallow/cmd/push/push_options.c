/* SPDX-License-Identifier: MIT
 * push_options.c -- options of `mallow push`, and secrets from files and the environment. */
#include "cmd/push/push_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input/selected_processes.h"
#include "model/memory.h"
#include "push/progress.h"
#include "push/secret.h"

#define RETRY_SECONDS 60.0

static const char *text_of(const mw_text_value_t *value) {
	return value->text != NULL ? value->text : "";
}

static int compare_tags(const void *a, const void *b) {
	return strcmp(((const mw_tag_t *)a)->key, ((const mw_tag_t *)b)->key);
}

static bool is_key(const char *text, size_t length) {
	static const char *const own[] = {"service", "instance", "host",
					  "version", "build_id", "build-id"};
	if (length == 0 || !isalpha((unsigned char)*text))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && strchr("_-./", text[i]) == NULL)
			return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == length && strncmp(own[i], text, length) == 0)
			return false;
	return true;
}

/* Takes "KEY=VALUE" apart. */
static int take_labels(const mw_list_value_t *list, mw_push_options_t *out, mw_error_t *error) {
	size_t bytes = 0, used = 0;
	for (size_t i = 0; i < list->text_count; i++)
		bytes += strlen(list->texts[i]) + 1;
	out->texts = mw_xcalloc(bytes, 1);
	out->tags = mw_xcalloc(list->text_count, sizeof(*out->tags));
	for (size_t i = 0; i < list->text_count; i++) {
		const char *text = list->texts[i];
		size_t key = strcspn(text, "=");
		if (text[key] == '\0' || !is_key(text, key))
			return mw_error_set(
				error,
				"--label does not take '%.100s'; allowed: KEY=VALUE with letters, "
				"digits and _-./ in KEY, a letter first, but not service, "
				"instance, host, version and build-id",
				text);
		char *copy = strcpy(out->texts + used, text);
		used += strlen(text) + 1;
		copy[key] = '\0';
		out->tags[i] = (mw_tag_t){copy, copy + key + 1};
	}
	if (list->text_count > 1)
		qsort(out->tags, list->text_count, sizeof(*out->tags), compare_tags);
	out->identity.tags = out->tags;
	out->identity.tag_count = list->text_count;
	return 0;
}

/* Views read the default store of the environment, and so a push goes there. */
static const char *url_of(const mw_option_values_t *values) {
	return values->to.given ? values->to.text : getenv("MALLOW_STORE");
}

static int open_receiver(const mw_arguments_t *arguments, const mw_secrets_t *secrets,
			 mw_push_options_t *out, mw_error_t *error) {
	const mw_option_values_t *values = &arguments->options;
	const mw_receiver_options_t options = {
		.token = secrets->token,
		.user = values->user.text,
		.password = secrets->password,
		.tenant = values->tenant.text,
		.tls = {.authority = values->tls_ca.text,
			.certificate = values->tls_cert.text,
			.key = values->tls_key.text},
		.timeout_seconds = values->timeout.seconds,
	};
	return mw_receiver_open(url_of(values), &options, &out->receiver, error);
}

static int take_receiver(const mw_arguments_t *arguments, mw_push_options_t *out,
			 mw_error_t *error) {
	const mw_option_values_t *values = &arguments->options;
	mw_secrets_t secrets;
	if (url_of(values) == NULL)
		return mw_error_set(error, "push: --to URL is missing: where to send the profiles");
	int result = mw_secrets_read(values->token_file.text, values->password_file.text, &secrets,
				     error);
	if (result == 0)
		result = open_receiver(arguments, &secrets, out, error);
	mw_secrets_free(&secrets);
	return result;
}

int mw_push_options_take(const mw_arguments_t *arguments, mw_push_options_t *out,
			 mw_error_t *error) {
	const mw_option_values_t *values = &arguments->options;
	*out = (mw_push_options_t){
		.identity = {.service = text_of(&values->service),
			     .instance = text_of(&values->instance),
			     .host = text_of(&values->host),
			     .version = text_of(&values->service_version),
			     .build_id = ""},
		.retry_seconds = values->retry.given ? values->retry.seconds : RETRY_SECONDS,
		.is_time_only = values->cpu.given,
		.has_names = !values->no_symbols.given,
		.is_quiet = values->quiet.given,
		.is_several = mw_selects_several(arguments),
	};
	if (out->identity.host[0] == '\0' && gethostname(out->host, sizeof(out->host) - 1) == 0)
		out->identity.host = out->host;
	out->folder = values->state.given ? mw_xstrdup(values->state.text) : mw_progress_folder();
	if (out->folder == NULL)
		return mw_error_set(error, "push: no folder for what was pushed is known; set "
					   "XDG_STATE_HOME or HOME, or name one with --state DIR");
	if (take_labels(&values->label, out, error) != 0)
		return -1;
	return take_receiver(arguments, out, error);
}

void mw_push_options_release(mw_push_options_t *options) {
	mw_receiver_close(options->receiver);
	free(options->folder);
	free(options->tags);
	free(options->texts);
	*options = (mw_push_options_t){.receiver = NULL};
}
