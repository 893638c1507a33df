/* SPDX-License-Identifier: MIT
 * style.c -- escape sequences of ECMA-48 that common terminals support. */
#include "report/text/style.h"

/* Shares of the total from which a row is coloured. */
#define HOT_SHARE 0.10
#define WARM_SHARE 0.02

static bool is_allowed;

void mw_style_allow(bool allowed) {
	is_allowed = allowed;
}

const char *mw_style(mw_style_t style) {
	static const char *const sequences[] = {
		[MW_STYLE_PLAIN] = "\033[0m",  [MW_STYLE_HEAD] = "\033[1m",
		[MW_STYLE_HOT] = "\033[1;31m", [MW_STYLE_WARM] = "\033[33m",
		[MW_STYLE_GOOD] = "\033[32m",  [MW_STYLE_BAD] = "\033[1;31m",
	};
	return is_allowed ? sequences[style] : "";
}

mw_style_t mw_style_of_share(int64_t value, int64_t total) {
	double share = total != 0 ? (double)value / (double)total : 0;
	if (share < 0)
		share = -share;
	return share >= HOT_SHARE    ? MW_STYLE_HOT
	       : share >= WARM_SHARE ? MW_STYLE_WARM
				     : MW_STYLE_PLAIN;
}
