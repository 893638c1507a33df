/* SPDX-License-Identifier: MIT
 * delete_foreign.c -- operator delete[] of what was never allocated. */
#include "misuse.h"

/* operator delete[](void *) */
static _Alignas(64) char array[256];

int main(void) {
	void (*call)(void *);
	*(void **)&call = not_in_libc("_ZdaPv");
	announce(array);
	call(array);
	return 0;
}
