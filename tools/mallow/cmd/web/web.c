/* SPDX-License-Identifier: MIT
 * web.c -- `mallow web`: starts the server, prints the address, opens a browser. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cmd/web/web_command.h"
#include "cmd/web/web_site.h"
#include "http/server.h"
#include "http/subprocess.h"

#define DEFAULT_LISTEN "127.0.0.1:0"
#define URL_BYTES (MW_HTTP_ORIGIN_BYTES + MW_WEB_TOKEN_BYTES + 2)
/* A connection without a byte for so long is closed. */
#define IDLE_SECONDS 60u

extern char **environ;

/* Opens the user's browser, if there is a desktop.  What the opener prints is not shown. */
static void open_browser(const char *url) {
	if (getenv("DISPLAY") == NULL && getenv("WAYLAND_DISPLAY") == NULL)
		return;
	const char *const words[] = {"xdg-open", url, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	/* posix_spawnp() does not change the words. */
	if (posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
			 environ) == 0)
		waitpid(pid, NULL, WNOHANG);
	posix_spawn_file_actions_destroy(&actions);
}

/* Serves until a signal ends it. */
static int serve(mw_web_site_t *site, const char *listen, const mw_http_access_t *access,
		 bool opens_browser, mw_error_t *error) {
	char url[URL_BYTES];
	sigset_t ends;
	int number;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	const mw_http_config_t config = {.address = listen,
					 .handler = mw_web_site_answer,
					 .context = site,
					 .idle_seconds = IDLE_SECONDS,
					 .access = access};
	mw_http_server_t *server = mw_http_start(&config, error);
	if (server == NULL)
		return -1;
	snprintf(url, sizeof(url), "%s/%s/", mw_http_url(server), site->token);
	printf("%s\n", url);
	fflush(stdout);
	mw_complain("the page is at this address, for those who know it%s%s; ^C ends",
		    access->password[0] != '\0' ? " and the password" : "",
		    site->has_control ? ", and may change processes" : "");
	if (opens_browser)
		open_browser(url);
	sigwait(&ends, &number);
	mw_http_end_commands();
	mw_http_stop(server);
	return 0;
}

int mw_cmd_web(const mw_arguments_t *arguments) {
	const mw_option_value_t *listen = mw_argument(arguments, "listen");
	mw_web_site_t site = {.targets = {.operands = (const char *const *)arguments->operands,
					  .count = arguments->operand_count},
			      .has_control = mw_argument(arguments, "control")->given};
	const mw_http_access_files_t files = {
		.password = mw_argument(arguments, "password-file")->text,
		.certificate = mw_argument(arguments, "tls-cert")->text,
		.key = mw_argument(arguments, "tls-key")->text,
		.base_url = mw_argument(arguments, "base-url")->text};
	mw_http_access_t access;
	mw_error_t error;
	bool is_served = mw_http_access_read(&files, &access, &error) == 0 &&
			 mw_web_targets_check(&site.targets, &error) == 0 &&
			 mw_web_site_make_token(&site, &error) == 0 &&
			 serve(&site, listen->given ? listen->text : DEFAULT_LISTEN, &access,
			       !mw_argument(arguments, "no-browser")->given, &error) == 0;
	mw_http_access_release(&access);
	if (!is_served)
		mw_complain("web: %s", error.text);
	return is_served ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
