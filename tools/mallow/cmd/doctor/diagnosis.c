/* SPDX-License-Identifier: MIT
 * diagnosis.c -- the list of results of the checks, and functions that read small files. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/print.h"
#include "cmd/doctor/doctor.h"
#include "model/memory.h"

void mw_doctor_say(mw_doctor_t *doctor, mw_health_t health, const char *topic, const char *format,
		   ...) {
	char text[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	doctor->items = mw_grow(doctor->items, &doctor->capacity, doctor->count + 1,
				sizeof(*doctor->items));
	mw_show_text(text, text, sizeof(text));
	doctor->items[doctor->count++] = (mw_diagnosis_t){health, topic, mw_xstrdup(text)};
}

bool mw_doctor_has_said(const mw_doctor_t *doctor, const char *part) {
	for (size_t i = 0; i < doctor->count; i++)
		if (strstr(doctor->items[i].text, part) != NULL)
			return true;
	return false;
}

void mw_doctor_release(mw_doctor_t *doctor) {
	for (size_t i = 0; i < doctor->count; i++)
		free(doctor->items[i].text);
	free(doctor->items);
	*doctor = (mw_doctor_t){.items = NULL};
}

bool mw_doctor_read(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	if (got > 0 && text[got - 1] == '\n')
		text[got - 1] = '\0';
	return got > 0;
}

bool mw_doctor_read_setting(const char *root, const char *name, char *text, size_t size) {
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s%s", root, name);
	return mw_doctor_read(path, text, size);
}
