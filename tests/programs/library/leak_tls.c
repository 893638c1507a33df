/* SPDX-License-Identifier: MIT
 * leak_tls.c -- a module with a thread-local variable, which the C library allocates for each
 * thread that uses it. */
void **leak_tls_place(void);

static __thread void *place;

void **leak_tls_place(void) {
	return &place;
}
