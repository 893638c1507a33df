/* SPDX-License-Identifier: MIT
 * locks.c -- a lock convoy: one thread holds a lock for long, two wait for it; a third waits for a
 * lock on the heap, and nobody waits for the last lock.  Says "ready" and runs until it is
 * killed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *heap_lock;

__attribute__((noinline)) static void refresh_cache(void) {
	pthread_mutex_lock(&cache_lock);
	usleep(50000);
	pthread_mutex_unlock(&cache_lock);
}

__attribute__((noinline)) static void look_up(void) {
	pthread_mutex_lock(&cache_lock);
	pthread_mutex_unlock(&cache_lock);
}

__attribute__((noinline)) static void keep_forever(void) {
	pthread_mutex_lock(heap_lock);
	for (;;)
		pause();
}

static void *refresher(void *unused) {
	for (;;) {
		refresh_cache();
		pthread_mutex_lock(&quiet_lock);
		usleep(1000);
		pthread_mutex_unlock(&quiet_lock);
	}
	return unused;
}

static void *reader(void *unused) {
	for (;;) {
		look_up();
		usleep(1000);
	}
	return unused;
}

static void *keeper(void *unused) {
	keep_forever();
	return unused;
}

static void *stuck(void *unused) {
	usleep(100000);
	pthread_mutex_lock(heap_lock);
	return unused;
}

static void begin(void *(*run)(void *), const char *name) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		exit(1);
	pthread_setname_np(thread, name);
}

int main(void) {
	void *volatile block = malloc(2 << 20);
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	begin(keeper, "keeper");
	begin(stuck, "stuck");
	begin(refresher, "refresher");
	begin(reader, "reader-1");
	begin(reader, "reader-2");
	usleep(300000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
	return block == NULL;
}
