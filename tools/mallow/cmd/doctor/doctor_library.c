/* SPDX-License-Identifier: MIT
 * doctor_library.c -- checks the library and its options by starting a process with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"
#include "live/files/own_allocator.h"
#include "live/files/program.h"
#include "live/library.h"

#define JEMALLOC_SAYS "<jemalloc>: "
#define JEMALLOC_HELP " (mallow: "
#define MALLOW_SAYS "mallow: "

static bool begins(const char *text, const char *with) {
	return strncmp(text, with, strlen(with)) == 0;
}

/* Reports "<jemalloc>: Invalid conf pair: x:1 (mallow: did you mean ...)".  The library prints
 * this also for options that jemalloc would read. */
static void say_jemallocs(mw_doctor_t *doctor, const char *line) {
	const char *help = strstr(line, JEMALLOC_HELP);
	int length = help != NULL ? (int)(help - line) : (int)strlen(line);
	mw_doctor_say(doctor, MW_HEALTH_FINDING, "options", "MALLOC_CONF: %.*s%s%s", length, line,
		      help != NULL ? " (" : "", help != NULL ? help + strlen(JEMALLOC_HELP) : "");
}

static void say_lines(mw_doctor_t *doctor, char *said) {
	char *rest;
	for (char *line = strtok_r(said, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		/* The list of options without effect has these options, too. */
		if (strstr(line, "has no effect here") != NULL)
			continue;
		if (begins(line, JEMALLOC_SAYS))
			say_jemallocs(doctor, line + strlen(JEMALLOC_SAYS));
		else
			mw_doctor_say(doctor, MW_HEALTH_FINDING, "options", "%s",
				      begins(line, MALLOW_SAYS) ? line + strlen(MALLOW_SAYS)
								: line);
	}
}

static void say_version(mw_doctor_t *doctor, const char *path, const mw_library_probe_t *probe) {
	if (!probe->started)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "library",
			      "%s: a test program that preloaded the library left no state file; "
			      "its messages follow, if it wrote any",
			      path);
	else if (strcmp(probe->version, MALLOW_VERSION) != 0)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "library",
			      "%s: its version is %.31s, but this command is mallow " MALLOW_VERSION
			      "; install both from one build",
			      path, probe->version);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINE, "library", "%s, version %.31s, loads", path,
			      probe->version);
}

void mw_doctor_say_unused(mw_doctor_t *doctor, const char *options) {
	if (options[0] != '\0' && !mw_doctor_has_said(doctor, options))
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "options",
			"mallow accepts these options of jemalloc, but they have no effect: %s",
			options);
}

void mw_doctor_look_at_library(mw_doctor_t *doctor, const char *malloc_conf,
			       const char *mallow_conf) {
	char path[PATH_MAX];
	mw_error_t error;
	mw_library_probe_t probe;
	if (mw_library_find(path, &error) != 0 ||
	    mw_library_probe(path, malloc_conf, mallow_conf, &probe, &error) != 0) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "library", "%s", error.text);
		return;
	}
	say_version(doctor, path, &probe);
	bool quiet = probe.said[0] == '\0' && probe.unused[0] == '\0';
	say_lines(doctor, probe.said);
	mw_doctor_say_unused(doctor, probe.unused);
	if (quiet && (malloc_conf != NULL || mallow_conf != NULL))
		mw_doctor_say(
			doctor, MW_HEALTH_FINE, "options", "all options are known: %.200s%s%.200s",
			malloc_conf ? malloc_conf : "", malloc_conf && mallow_conf ? "; " : "",
			mallow_conf ? mallow_conf : "");
	free(probe.said);
}

void mw_doctor_look_at_program(mw_doctor_t *doctor, const char *name) {
	char path[PATH_MAX];
	if (!mw_program_find(name, path, sizeof(path))) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "program",
			      "%s: the program does not exist, or cannot be executed", name);
		return;
	}
	const char *why = mw_program_refuses_preload(path);
	if (mw_file_has_mallow(path, NULL))
		mw_doctor_say(doctor, MW_HEALTH_FINE, "program",
			      "%s: it is linked with libmallow.a", path);
	else if (why != NULL)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "program", "%s: %s", path, why);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINE, "program", "%s: the library can be preloaded",
			      path);
	mw_doctor_look_at_executable(doctor, path, path);
}
