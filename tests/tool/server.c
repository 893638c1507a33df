/* SPDX-License-Identifier: MIT
 * server.c -- the server of doc/user/tasks.md: loads its configuration, keeps uploads in a thread,
 * and serves requests.  Each line on standard input is a number of requests to serve. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UPLOADS = 12, CONFIGURATION_BYTES = 48 << 20, SESSION_BYTES = 2000 };

typedef struct session {
	struct session *next;
	char user[SESSION_BYTES];
} session_t;

static session_t *sessions;
static char *volatile uploads[UPLOADS], *volatile settings;

/* Parsing takes far more memory than the settings that are kept. */
__attribute__((noinline)) static void load_configuration(void) {
	char *text = malloc(CONFIGURATION_BYTES);
	memset(text, '#', CONFIGURATION_BYTES);
	settings = malloc(1 << 20);
	memcpy(settings, text, 1 << 20);
	free(text);
}

__attribute__((noinline)) static void receive_upload(int i) {
	uploads[i] = malloc(1 << 20);
	memset(uploads[i], 'u', 1 << 20);
}

static void *run_uploader(void *unused) {
	pthread_setname_np(pthread_self(), "uploader");
	for (int i = 0; i < UPLOADS; i++)
		receive_upload(i);
	return unused;
}

__attribute__((noinline)) static int parse_request(int number) {
	char *text = malloc(4000);
	int length = snprintf(text, 4000, "GET /%d", number);
	free(text);
	return length;
}

/* The leak: a session is added for each request, and none is ever removed. */
__attribute__((noinline)) static void open_session(int number) {
	session_t *session = malloc(sizeof(*session));
	session->next = sessions;
	sessions = session;
	snprintf(session->user, sizeof(session->user), "user %d", number);
}

__attribute__((noinline)) static void handle_request(int number) {
	if (parse_request(number) > 0)
		open_session(number);
}

int main(void) {
	pthread_t uploader;
	char line[32];
	load_configuration();
	if (pthread_create(&uploader, NULL, run_uploader, NULL) != 0)
		return 1;
	pthread_join(uploader, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (int i = 0, count = atoi(line); i < count; i++)
			handle_request(i);
		puts("served");
		fflush(stdout);
	}
	return 0;
}
