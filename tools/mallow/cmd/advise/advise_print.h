/* SPDX-License-Identifier: MIT
 * advise_print.h -- prints findings as text and as JSON.
 * Layer: cmd/advise. */
#ifndef MW_TOOL_CMD_ADVISE_ADVISE_PRINT_H
#define MW_TOOL_CMD_ADVISE_ADVISE_PRINT_H

#include "advise/advise.h"

typedef struct mw_advised {
	const mw_profile_t *profile;
	const mw_facts_t *facts;
	const mw_findings_t *findings;
	const char *target; /* as the commands that show more name it */
} mw_advised_t;

/* Both return the exit status: MW_EXIT_FINDING if there is a finding. */
int mw_advised_print(const mw_advised_t *advised);
int mw_advised_print_json(const mw_advised_t *advised);

#endif
