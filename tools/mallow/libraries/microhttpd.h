/* SPDX-License-Identifier: MIT
 * microhttpd.h -- functions of libmicrohttpd, which serves pages.  Layer: libraries. */
#ifndef MW_TOOL_LIBRARIES_MICROHTTPD_H
#define MW_TOOL_LIBRARIES_MICROHTTPD_H

#include <microhttpd.h>

#include "model/error.h"

/* F(name): each function that the server calls, without its MHD_. */
#define MW_MICROHTTPD_FUNCTIONS(F)                                                                 \
	F(add_response_header)                                                                     \
	F(basic_auth_get_username_password)                                                        \
	F(create_response_from_buffer)                                                             \
	F(create_response_from_fd)                                                                 \
	F(destroy_response)                                                                        \
	F(free)                                                                                    \
	F(get_connection_info)                                                                     \
	F(get_connection_values)                                                                   \
	F(lookup_connection_value)                                                                 \
	F(queue_response)                                                                          \
	F(start_daemon)                                                                            \
	F(stop_daemon)

typedef struct mw_microhttpd {
#define MW_MICROHTTPD_FIELD(name) __typeof__(MHD_##name) *name;
	MW_MICROHTTPD_FUNCTIONS(MW_MICROHTTPD_FIELD)
#undef MW_MICROHTTPD_FIELD
} mw_microhttpd_t;

/* All NULL until mw_microhttpd_load() has returned 0. */
extern mw_microhttpd_t mw_microhttpd;

/* Loads the library, once for the process.  0, or -1 with an error that says what to install. */
int mw_microhttpd_load(mw_error_t *error);

#endif
