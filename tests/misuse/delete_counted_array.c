/* SPDX-License-Identifier: MIT
 * delete_counted_array.c -- operator delete, without a size, of an array whose type has a
 * destructor: the compiler puts the number of elements before the first one, whose address is what
 * the program passes. */
#include "misuse.h"

int main(void) {
	void *(*make)(size_t);
	void (*call)(void *);
	*(void **)&make = not_in_libc("_Znam");  /* operator new[](std::size_t) */
	*(void **)&call = not_in_libc("_ZdlPv"); /* operator delete(void *) */
	char *first = (char *)make(sizeof(size_t) + 3 * 128) + sizeof(size_t);
	announce(first);
	call(first);
	return 0;
}
