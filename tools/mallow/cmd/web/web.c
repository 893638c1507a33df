/* SPDX-License-Identifier: MIT
 * web.c -- `mallow web`: starts the server, prints the address, opens a browser. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/complain.h"
#include "cmd/web/web_command.h"
#include "cmd/web/web_site.h"
#include "formats/file/open_state_file.h"
#include "http/browser.h"
#include "http/server.h"
#include "http/subprocess.h"

#define DEFAULT_LISTEN "127.0.0.1:0"

/* A browser that does not open is no reason to end: the address is printed. */
static void open_browser(const char *address) {
	char from_file[MW_HTTP_ADDRESS_BYTES + sizeof(MW_WEB_FROM_FILE)];
	mw_error_t error;
	snprintf(from_file, sizeof(from_file), "%s%s", address, MW_WEB_FROM_FILE);
	if (mw_browser_open(from_file, &error) != 0)
		mw_complain("web: no browser was opened: %s; open the address in one", error.text);
}

/* Blocks the signals that end the server, in all its threads, and SIGCHLD, which tells that the
 * browser's command has ended. */
static void hold_signals(sigset_t *held) {
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(held);
	sigaddset(held, SIGINT);
	sigaddset(held, SIGTERM);
	sigaddset(held, SIGHUP);
	sigaddset(held, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, held, NULL);
}

static void await_end(const sigset_t *held) {
	int number = SIGCHLD;
	while (number == SIGCHLD) {
		sigwait(held, &number);
		mw_browser_collect();
	}
}

/* Serves until a signal ends it. */
static int serve(mw_web_site_t *site, const char *listen, const mw_http_access_t *access,
		 bool opens_browser, mw_error_t *error) {
	char address[MW_HTTP_ADDRESS_BYTES];
	sigset_t held;
	hold_signals(&held);
	/* Whoever writes into a directory of profiles chooses what a question opens. */
	setenv(MW_OPEN_ONLY_FILES, "1", 1);
	const mw_http_config_t config = {.address = listen,
					 .handler = mw_web_site_answer,
					 .context = site,
					 .access = access};
	mw_http_server_t *server = mw_http_start(&config, error);
	if (server == NULL)
		return -1;
	mw_page_key_address(&site->key, server, address);
	printf("%s\n", address);
	fflush(stdout);
	mw_complain("open this address; whoever has it%s can see the page%s; ^C ends",
		    access->password[0] != '\0' ? " and the password" : "",
		    site->has_control ? " and change processes" : "");
	if (opens_browser && mw_browser_is_there())
		open_browser(address);
	await_end(&held);
	mw_browser_remove_file();
	mw_http_end_commands();
	mw_http_stop(server);
	return 0;
}

int mw_cmd_web(const mw_arguments_t *arguments) {
	const mw_text_value_t *listen = &arguments->options.listen;
	mw_web_site_t site = {.targets = {.operands = (const char *const *)arguments->operands,
					  .count = arguments->operand_count},
			      .has_control = arguments->options.control.given};
	char *store = NULL;
	const mw_http_access_files_t files = {.password = arguments->options.password_file.text,
					      .certificate = arguments->options.tls_cert.text,
					      .key = arguments->options.tls_key.text,
					      .base_url = arguments->options.base_url.text};
	mw_http_access_t access;
	mw_error_t error;
	bool is_served =
		mw_http_access_read(&files, &access, &error) == 0 &&
		mw_web_store_take(arguments->options.store.text, &store, &error) == 0 &&
		(site.targets.store = store, true) &&
		mw_web_targets_check(arguments->operands, arguments->operand_count, &error) == 0 &&
		mw_page_key_draw(&site.key, &error) == 0 &&
		serve(&site, listen->given ? listen->text : DEFAULT_LISTEN, &access,
		      !arguments->options.no_browser.given, &error) == 0;
	mw_http_access_release(&access);
	free(store);
	if (!is_served)
		mw_complain("web: %s", error.text);
	return is_served ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
