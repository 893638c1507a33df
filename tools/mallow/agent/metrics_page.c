/* SPDX-License-Identifier: MIT
 * metrics_page.c -- a server with one page. */
#include "agent/metrics_page.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "http/server.h"

#define TEXT "text/plain; charset=utf-8"
#define PAGE "text/plain; version=0.0.4; charset=utf-8"

static void answer(const mw_http_request_t *request, void *context, mw_http_answer_t *out) {
	if (strcmp(request->path, "/metrics") != 0) {
		mw_http_say(out, 404, TEXT, "the only page is /metrics\n");
		return;
	}
	char *text = mw_metrics_text(context, MALLOW_VERSION);
	mw_http_say(out, text != NULL ? 200 : 500, PAGE, text != NULL ? text : "no memory\n");
	free(text);
}

int mw_metrics_page_serve(const char *address, const mw_metrics_t *metrics) {
	mw_error_t error;
	sigset_t none;
	/* Without a password, so that the server refuses addresses beyond loopback. */
	const mw_http_access_t access = {0};
	const mw_http_config_t config = {.address = address,
					 .handler = answer,
					 .context = (void *)(uintptr_t)metrics,
					 .access = &access};
	mw_http_server_t *server = mw_http_start(&config, &error);
	if (server == NULL) {
		mw_complain("agent: metrics: %s", error.text);
		return MW_EXIT_TROUBLE;
	}
	mw_complain("agent: metrics at %s/metrics", mw_http_url(server));
	/* A signal that is not blocked ends the process. */
	sigemptyset(&none);
	for (;;)
		sigsuspend(&none);
}
