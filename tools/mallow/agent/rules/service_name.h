/* SPDX-License-Identifier: MIT
 * service_name.h -- the service, version and labels of a process, by the rules of the
 * configuration. Layer: agent/rules.  For each of them the first rule counts that gives a name.
 * Without a rule for services that gives one, the service is the systemd unit, else the program. */
#ifndef MW_TOOL_AGENT_RULES_SERVICE_NAME_H
#define MW_TOOL_AGENT_RULES_SERVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/rules/name_sources.h"
#include "agent/rules/rules.h"

/* Most bytes of a name, with its 0: as an identity allows (store/profile_store.h). */
#define MW_SERVICE_NAME_BYTES 1024

typedef struct mw_service_label {
	char *key, *value;
} mw_service_label_t;

typedef struct mw_service_name {
	bool is_ignored;                                /* a rule says so: the rest is empty */
	char *service;                                  /* never "" */
	char *version;                                  /* "" = not known */
	mw_service_label_t labels[MW_RULES_LABELS_MAX]; /* sorted by key */
	size_t label_count;
} mw_service_name_t;

/* Applies the rules.  The caller calls mw_service_name_release(). */
void mw_service_name_find(const mw_rules_t *rules, const mw_name_sources_t *facts,
			  mw_service_name_t *out);
void mw_service_name_release(mw_service_name_t *name);

#endif
