/* SPDX-License-Identifier: MIT
 * name_sources.c -- /proc/<pid>/cgroup, files below a process's root, labels of containers. */
#include "agent/rules/name_sources.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/files/regular_file.h"
#include "model/memory.h"

#ifndef SYS_openat2 /* glibc before 2.32 has only the kernel's name */
#define SYS_openat2 __NR_openat2
#endif

/* Most bytes of a file of labels: Kubernetes' files have some kilobytes. */
#define FILE_BYTES_MAX ((size_t)64 << 10)
/* Most bytes of an engine's description of a container, which holds its environment, too. */
#define CONTAINER_BYTES_MAX ((size_t)4 << 20)
/* What a unit's name ends in. */
static const char unit_ending[] = ".service";

/* Reads what a descriptor leads to, up to a limit, and closes it.  The caller frees the text, which
 * ends in a 0; NULL: it cannot be read, or is larger. */
static char *read_all(int fd, size_t most) {
	size_t length = 0, capacity = 0;
	char *text = NULL;
	ssize_t got = 1;
	while (fd >= 0 && got > 0 && length <= most) {
		text = mw_grow(text, &capacity, length + 4097, 1);
		got = read(fd, text + length, 4096);
		length += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text != NULL && got == 0 && length <= most) {
		text[length] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

/* ---- control groups ---- */

char *mw_cgroup_of_text(const char *text) {
	const char *chosen = NULL;
	int best = 0;
	while (*text != '\0') {
		/* "0::/path" or "4:cpu,cpuacct:/path" */
		size_t length = strcspn(text, "\n");
		const char *first = memchr(text, ':', length);
		const char *second =
			first != NULL ? memchr(first + 1, ':', length - (size_t)(first + 1 - text))
				      : NULL;
		if (second != NULL) {
			size_t name = (size_t)(second - first) - 1;
			bool is_systemd = name == 12 && memcmp(first + 1, "name=systemd", 12) == 0;
			int rank = name == 0 ? 3 : is_systemd ? 2 : 1;
			/* A host with both versions has "0::/" for processes that only the older
			 * one sorts. */
			if (name == 0 && length == (size_t)(second - text) + 2)
				rank = 1;
			if (rank > best) {
				best = rank;
				chosen = second + 1;
			}
		}
		text += length + (text[length] == '\n');
	}
	return chosen != NULL ? strndup(chosen, strcspn(chosen, "\n")) : mw_xstrdup("");
}

bool mw_unit_of_cgroup(const char *cgroup, char *unit, size_t size) {
	size_t ending = sizeof(unit_ending) - 1;
	bool is_found = false;
	for (const char *part = cgroup; *part != '\0';) {
		part += strspn(part, "/");
		size_t length = strcspn(part, "/");
		if (length > ending && length - ending < size &&
		    memcmp(part + length - ending, unit_ending, ending) == 0) {
			memcpy(unit, part, length - ending);
			unit[length - ending] = '\0';
			is_found = true;
		}
		part += length;
	}
	return is_found;
}

bool mw_container_of_cgroup(const char *cgroup, char id[MW_CONTAINER_ID_LETTERS + 1]) {
	bool is_found = false;
	for (const char *at = cgroup; *at != '\0';) {
		size_t length = strspn(at, "0123456789abcdef");
		bool is_apart = at == cgroup || !isalnum((unsigned char)at[-1]);
		if (length == MW_CONTAINER_ID_LETTERS && is_apart &&
		    !isalnum((unsigned char)at[length])) {
			memcpy(id, at, length);
			id[length] = '\0';
			is_found = true;
		}
		at += length > 0 ? length : 1;
	}
	return is_found;
}

/* ---- files of the process ---- */

/* Opens a regular file as the process sees it: links lead nowhere but below its root. */
static int open_below(int root, const char *path) {
	struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct open_how place = {.flags = O_PATH | O_CLOEXEC, .resolve = how.resolve};
	struct stat info;
	char link[64];
	int found = (int)syscall(SYS_openat2, root, path, &place, sizeof(place));
	if (found < 0)
		return -1;
	int fd = -1;
	/* To open a device may have effects. */
	if (fstat(found, &info) == 0 && S_ISREG(info.st_mode)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
		fd = open(link, (int)how.flags);
	}
	close(found);
	return fd;
}

/* Returns the value of a line KEY="VALUE" with Go's escapes, as Kubernetes writes labels. */
static char *find_key(const char *text, const char *key) {
	size_t length = strlen(key);
	while (*text != '\0') {
		if (strncmp(text, key, length) == 0 && text[length] == '=' &&
		    text[length + 1] == '"') {
			const char *at = text + length + 2;
			char *value = mw_xcalloc(strlen(at) + 1, 1), *to = value;
			for (; *at != '"' && *at != '\0' && *at != '\n'; at++) {
				if (*at == '\\' && at[1] != '\0' && at[1] != '\n')
					at++;
				*to++ = *at;
			}
			return value;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return NULL;
}

static char *file_text(const mw_name_sources_t *facts, const mw_name_rule_t *rule) {
	char *text = facts->root >= 0
			     ? read_all(open_below(facts->root, rule->text), FILE_BYTES_MAX)
			     : NULL;
	if (text == NULL)
		return NULL;
	if (rule->source == MW_SOURCE_FILE) {
		text[strcspn(text, "\r\n")] = '\0';
		return text;
	}
	char *value = find_key(text, rule->key);
	free(text);
	return value;
}

/* ---- labels of containers ---- */

/* Where engines keep what they know of a container: Docker, containerd, Podman and CRI-O. */
static const char *const engine_files[] = {
	"/var/lib/docker/containers/%s/config.v2.json",
	"/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"/run/containerd/io.containerd.runtime.v2.task/default/%s/config.json",
	"/run/containers/storage/overlay-containers/%s/userdata/config.json",
	"/var/lib/containers/storage/overlay-containers/%s/userdata/config.json",
};

static char *label_in(const char *text, const char *label) {
	json_error_t ignored;
	json_t *file = json_loads(text, JSON_REJECT_DUPLICATES, &ignored);
	json_t *labels = json_object_get(json_object_get(file, "Config"), "Labels");
	const char *value = json_string_value(json_object_get(labels, label));
	if (value == NULL)
		value = json_string_value(
			json_object_get(json_object_get(file, "annotations"), label));
	char *copy = value != NULL ? mw_xstrdup(value) : NULL;
	json_decref(file);
	return copy;
}

static char *container_label(const mw_name_sources_t *facts, const char *label) {
	char id[MW_CONTAINER_ID_LETTERS + 1], *value = NULL;
	if (!mw_container_of_cgroup(facts->cgroup, id))
		return NULL;
	for (size_t i = 0; i < sizeof(engine_files) / sizeof(engine_files[0]) && value == NULL;
	     i++) {
		char place[PATH_MAX], path[PATH_MAX];
		/* The id has 64 hexadecimal digits, and no '/'. */
		snprintf(place, sizeof(place), engine_files[i], id);
		if (snprintf(path, sizeof(path), "%s%s", facts->engines, place) >=
		    (int)sizeof(path))
			continue;
		char *text = read_all(mw_open_regular_file(path), CONTAINER_BYTES_MAX);
		if (text != NULL)
			value = label_in(text, label);
		free(text);
	}
	return value;
}

/* ---- the door ---- */

void mw_name_sources_take(mw_name_sources_t *out, int pid, const char *program,
			  const char *command) {
	char path[64];
	*out = (mw_name_sources_t){
		.program = program, .command = command, .root = -1, .engines = ""};
	char *groups = NULL;
	if (pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
		groups = read_all(open(path, O_RDONLY | O_CLOEXEC), FILE_BYTES_MAX);
		snprintf(path, sizeof(path), "/proc/%d/root", pid);
		out->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	out->cgroup = mw_cgroup_of_text(groups != NULL ? groups : "");
	free(groups);
}

void mw_name_sources_release(mw_name_sources_t *facts) {
	free(facts->cgroup);
	if (facts->root >= 0)
		close(facts->root);
	*facts = (mw_name_sources_t){.root = -1};
}

char *mw_name_sources_text(const mw_name_sources_t *facts, const mw_name_rule_t *rule) {
	char unit[NAME_MAX + 1];
	switch (rule->source) {
	case MW_SOURCE_TEXT:
		return mw_xstrdup(rule->text);
	case MW_SOURCE_PROGRAM:
		return mw_xstrdup(facts->program);
	case MW_SOURCE_COMMAND:
		return mw_xstrdup(facts->command);
	case MW_SOURCE_CGROUP:
		return mw_xstrdup(facts->cgroup);
	case MW_SOURCE_UNIT:
		return mw_unit_of_cgroup(facts->cgroup, unit, sizeof(unit)) ? mw_xstrdup(unit)
									    : NULL;
	case MW_SOURCE_CONTAINER_LABEL:
		return container_label(facts, rule->text);
	case MW_SOURCE_FILE:
	case MW_SOURCE_FILE_KEY:
		return file_text(facts, rule);
	case MW_RULE_SOURCES:
		break;
	}
	return NULL;
}
