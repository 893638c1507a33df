/* SPDX-License-Identifier: MIT
 * name_sources.h -- the texts by which rules name a process.
 * Layer: agent/rules.  Of a live process they come from /proc, from files as the process sees them,
 * and from what container engines keep on the host.  All of these may be hostile: files are read up
 * to a limit, and links in them lead nowhere but below the root of the process.  A file system that
 * the process has mounted itself need not answer: the caller is a process that may be killed. */
#ifndef MW_TOOL_AGENT_RULES_NAME_SOURCES_H
#define MW_TOOL_AGENT_RULES_NAME_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/rules/name_rule.h"

/* Letters of a container's id. */
#define MW_CONTAINER_ID_LETTERS 64

typedef struct mw_name_sources {
	const char *program; /* base name of the executable, as its state file has it */
	const char *command; /* command line, words separated by blanks */
	char *cgroup;        /* path of the control group, "" = not known */
	int root;            /* the root directory of the process; -1 = not known */
	/* Directory before the paths of container engines; "" but for tests. */
	const char *engines;
} mw_name_sources_t;

/* Takes what /proc tells of a live process; pid 0: the process has ended.  The texts outlive the
 * facts.  The caller calls mw_name_sources_release(). */
void mw_name_sources_take(mw_name_sources_t *out, int pid, const char *program,
			  const char *command);
void mw_name_sources_release(mw_name_sources_t *facts);

/* Returns the text of a rule's source, which the caller frees; NULL: there is none. */
char *mw_name_sources_text(const mw_name_sources_t *facts, const mw_name_rule_t *rule);

/* Returns the path of the control group in the content of /proc/<pid>/cgroup: of version 2, else of
 * systemd's hierarchy, else the first.  The caller frees it; "" = none. */
char *mw_cgroup_of_text(const char *text);
/* Writes the name of the innermost systemd service of a control group, without ".service". */
bool mw_unit_of_cgroup(const char *cgroup, char *unit, size_t size);
/* Writes the id of the innermost container of a control group. */
bool mw_container_of_cgroup(const char *cgroup, char id[MW_CONTAINER_ID_LETTERS + 1]);

#endif
