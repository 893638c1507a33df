/* SPDX-License-Identifier: MIT
 * plugin.c -- a function with a frame of ROOM_BYTES that calls back; see test_dlopen.c. */

void plugin_call(void (*function)(void *), void *argument);

void plugin_call(void (*function)(void *), void *argument) {
	char room[ROOM_BYTES];
	__asm__ volatile("" ::"r"(room) : "memory");
	function(argument);
	__asm__ volatile("" ::"r"(room) : "memory");
}
