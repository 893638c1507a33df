/* SPDX-License-Identifier: MIT
 * order.h -- gives one order to a target and says what came of it.
 * Layer: cmd. */
#ifndef MW_CMD_ORDER_H
#define MW_CMD_ORDER_H

#include "cmd/load.h"
#include "live/control.h"

/* Long enough for a busy process, which refills thousands of times a second; short for a person. */
#define MW_ORDER_WAIT_SECONDS 2.0

/* -1 with `error`: it is no live process, or the order failed. */
int mw_order_give(const mw_target_t *target, const mw_order_t *order, double wait_seconds,
		  mw_conversation_t *talk, mw_error_t *error);

#endif
