/* SPDX-License-Identifier: MIT
 * storm_plugin.c -- a plugin of loader_storm.c: allocates in a function whose name tells which
 * plugin it is (NAME). The plugins have frames of different size (ROOM_BYTES). */
#include <stdlib.h>

void *NAME(size_t bytes);

void *NAME(size_t bytes) {
	volatile char room[ROOM_BYTES];
	room[0] = room[ROOM_BYTES - 1] = 1;
	void *block = malloc(bytes + (size_t)room[0]);
	__asm__ volatile("" ::: "memory");
	return block;
}
