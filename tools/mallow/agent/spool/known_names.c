/* SPDX-License-Identifier: MIT
 * known_names.c -- files with a line KEY=VALUE for each name.  Names hold no control characters. */
#include "agent/spool/known_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

static const char folder_name[] = "known";
static const char label_prefix[] = "label.";

/* "known/<16 hexadecimal digits>" */
#define NAME_BYTES 32

static void name_of(uint64_t key, char name[NAME_BYTES]) {
	snprintf(name, NAME_BYTES, "%s/%016" PRIx64, folder_name, key);
}

int mw_known_open(const mw_agent_folder_t *folder, mw_error_t *error) {
	int fd = mw_agent_folder_part(folder, folder_name, error);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : -1;
}

int mw_known_save(const mw_agent_folder_t *folder, uint64_t key, const mw_known_t *known) {
	char name[NAME_BYTES], *text = NULL;
	size_t length = 0;
	const mw_service_name_t *names = &known->name;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return -1;
	fprintf(out, "rules=%016" PRIx64 "\nignored=%d\nservice=%s\nversion=%s\ninstance=%s\n",
		known->rules, names->is_ignored, names->service, names->version, known->instance);
	for (size_t i = 0; i < names->label_count; i++)
		fprintf(out, "%s%s=%s\n", label_prefix, names->labels[i].key,
			names->labels[i].value);
	name_of(key, name);
	int result = fclose(out) == 0 ? mw_agent_folder_write(folder, name, text, length) : -1;
	int why = errno;
	free(text);
	errno = why;
	return result;
}

/* Takes one line.  Lines of a later agent are left out. */
static void take_line(mw_known_t *out, char *line) {
	mw_service_name_t *names = &out->name;
	char *value = strchr(line, '=');
	if (value == NULL)
		return;
	*value++ = '\0';
	value[strcspn(value, "\n")] = '\0';
	char **place = strcmp(line, "service") == 0    ? &names->service
		       : strcmp(line, "version") == 0  ? &names->version
		       : strcmp(line, "instance") == 0 ? &out->instance
						       : NULL;
	size_t prefix = sizeof(label_prefix) - 1;
	if (place != NULL && *place == NULL) {
		*place = mw_xstrdup(value);
	} else if (strcmp(line, "ignored") == 0) {
		names->is_ignored = *value == '1';
	} else if (strcmp(line, "rules") == 0) {
		out->rules = strtoull(value, NULL, 16);
	} else if (strncmp(line, label_prefix, prefix) == 0 &&
		   names->label_count < MW_RULES_LABELS_MAX) {
		names->labels[names->label_count++] = (mw_service_label_t){
			.key = mw_xstrdup(line + prefix), .value = mw_xstrdup(value)};
	}
}

bool mw_known_load(const mw_agent_folder_t *folder, uint64_t key, mw_known_t *out) {
	char name[NAME_BYTES], *line = NULL;
	size_t capacity = 0;
	*out = (mw_known_t){0};
	name_of(key, name);
	int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (file == NULL && fd >= 0)
		close(fd);
	while (file != NULL && getline(&line, &capacity, file) > 0)
		take_line(out, line);
	free(line);
	if (file != NULL)
		fclose(file);
	if (out->name.service != NULL && out->name.version != NULL && out->instance != NULL)
		return true;
	mw_known_release(out);
	return false;
}

void mw_known_release(mw_known_t *known) {
	mw_service_name_release(&known->name);
	free(known->instance);
	known->instance = NULL;
}

void mw_known_forget(const mw_agent_folder_t *folder, uint64_t key) {
	char name[NAME_BYTES];
	name_of(key, name);
	unlinkat(folder->fd, name, 0);
}

static int compare_keys(const void *a, const void *b) {
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

void mw_known_keep_only(const mw_agent_folder_t *folder, const uint64_t *keys, size_t count) {
	int fd = openat(folder->fd, folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	if (names == NULL && fd >= 0)
		close(fd);
	while (names != NULL && (entry = readdir(names)) != NULL) {
		char *end;
		uint64_t key = strtoull(entry->d_name, &end, 16);
		bool is_key = end == entry->d_name + 16 && *end == '\0';
		if (entry->d_name[0] != '.' &&
		    (!is_key || bsearch(&key, keys, count, sizeof(*keys), compare_keys) == NULL))
			unlinkat(dirfd(names), entry->d_name, 0);
	}
	if (names != NULL)
		closedir(names);
}
