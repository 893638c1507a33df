/* SPDX-License-Identifier: MIT
 * web_site.c -- routes requests to files of the page and to subcommands, whose JSON is the answer:
 * the page and the terminal show the same numbers. */
#include "cmd/web/web_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/web/web_assets.h"
#include "cmd/web/web_cache.h"
#include "cmd/web/web_query.h"
#include "http/browser.h"
#include "http/subprocess.h"

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"
#define NAME_BYTES 64
#define FUNCTIONS_BYTES 4096

/* The page takes scripts and data from this server alone. */
static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'";
/* Pages and pictures that a view makes have scripts of their own.  They run without an origin, so
 * they reach neither the page nor the server. */
static const char view_policy[] =
	"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
	"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'self'";

/* Views whose JSON the page asks for. */
static const char *const json_views[] = {"top",     "tree",      "flame", "timeline", "sizes",
					 "threads", "lifetimes", "tags",  "traces",   "status",
					 "map",     "weblist",   "diff",  "advise",   "report"};

/* Files that the page shows in a frame, or saves: the view that makes each, and its ending. */
static const struct {
	const char *ending, *view, *format, *type;
	bool is_shown;
} files[] = {
	{"html", "flame", "html", "text/html; charset=utf-8", false},
	{"weblist.html", "weblist", NULL, "text/html; charset=utf-8", true},
	{"graph.svg", "graph", "svg", "image/svg+xml", true},
	{"graph.png", "graph", "png", "image/png", false},
	{"flame.svg", "flame", "svg", "image/svg+xml", false},
	{"folded", "collapsed", NULL, TEXT, false},
	{"speedscope.json", "speedscope", NULL, JSON, false},
	{"pb.gz", "proto", "pb.gz", "application/octet-stream", false},
	{"txt", "top", NULL, TEXT, false},
};

/* Requests that a page with --control may send, each with its command line behind "mallow".  A word
 * that ends in '=' gets the value of the request. */
static const struct {
	const char *name;
	const char *words[4];
} requests[] = {
	{"start", {"start"}},
	{"stop", {"stop"}},
	{"reset", {"reset"}},
	{"mark", {"mark"}},
	{"dump", {"dump"}},
	{"rate", {"set", "rate="}},
	{"start-cpu", {"start", "--cpu"}},
	{"stop-cpu", {"stop", "--cpu"}},
	{"leaks", {"leaks", "--json"}},
	{"locks", {"cpu", "--locks", "--json", "--for=10s"}},
};

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

/* ---- answers ---- */

static void say_error(mw_http_answer_t *answer, unsigned status, const mw_error_t *error) {
	mw_http_say(answer, status, TEXT, error->text);
}

static void say_none(mw_http_answer_t *answer) {
	mw_http_say(answer, 404, TEXT, "there is nothing here\n");
}

static void say_fd(int fd, const char *type, const mw_error_t *error, mw_http_answer_t *answer) {
	if (fd >= 0)
		*answer = (mw_http_answer_t){.status = 200, .type = type, .fd = fd};
	else
		say_error(answer, fd == MW_HTTP_BUSY ? 503 : 500, error);
}

/* Runs a request, to whose words those of the query are appended. */
static void say_done(const mw_web_site_t *site, const mw_http_request_t *request,
		     mw_web_words_t *words, mw_http_answer_t *answer) {
	mw_error_t error;
	if (mw_web_words_add_query(words, request, &site->targets, &error) != 0)
		say_error(answer, 400, &error);
	else
		say_fd(mw_http_run(request, &words->command, &error), TEXT, &error, answer);
	mw_web_words_release(words);
}

/* Answers with a view, to whose words those of the query are appended: a kept answer, or a new
 * one. */
static void say_output(const mw_web_site_t *site, const mw_http_request_t *request,
		       mw_web_words_t *words, const char *type, mw_http_answer_t *answer) {
	mw_error_t error;
	if (mw_web_words_add_query(words, request, &site->targets, &error) != 0) {
		say_error(answer, 400, &error);
	} else {
		char key[MW_WEB_KEY_BYTES];
		mw_web_cache_key(words, request, key);
		int fd = mw_web_cache_find(key);
		if (fd < 0) {
			fd = mw_http_run(request, &words->command, &error);
			if (fd >= 0)
				mw_web_cache_add(key, fd);
		}
		say_fd(fd, type, &error, answer);
	}
	mw_web_words_release(words);
}

static mw_web_words_t begin_words(const char *view) {
	return (mw_web_words_t){.command = {.words = {"mallow", view}, .input = -1}, .count = 2};
}

/* weblist takes the pattern of functions: the one asked for, else what stacks are selected by, else
 * all. */
static void add_functions(const mw_http_request_t *request, mw_web_words_t *words, const char *view,
			  char pattern[FUNCTIONS_BYTES]) {
	const char *asked = mw_http_query(request, "functions");
	if (strcmp(view, "weblist") != 0)
		return;
	if (asked == NULL)
		asked = mw_http_query(request, "focus");
	snprintf(pattern, FUNCTIONS_BYTES, "(?:%s)", asked != NULL ? asked : ".");
	mw_web_words_add(words, pattern);
}

static void say_json(const mw_web_site_t *site, const mw_http_request_t *request, const char *view,
		     mw_http_answer_t *answer) {
	for (size_t i = 0; i < COUNT(json_views); i++)
		if (strcmp(view, json_views[i]) == 0) {
			mw_web_words_t words = begin_words(json_views[i]);
			mw_web_words_add(&words, "--json");
			char functions[FUNCTIONS_BYTES];
			add_functions(request, &words, view, functions);
			say_output(site, request, &words, JSON, answer);
			return;
		}
	say_none(answer);
}

static void say_processes(const mw_http_request_t *request, mw_http_answer_t *answer) {
	mw_error_t error;
	const mw_http_command_t list = {.words = {"mallow", "ls", "--json"}, .input = -1};
	say_fd(mw_http_run(request, &list, &error), JSON, &error, answer);
}

/* Runs `view` of the store, at the times and with the labels that the query asks for. */
static void say_store(const mw_web_site_t *site, const mw_http_request_t *request, const char *view,
		      mw_http_answer_t *answer) {
	mw_error_t error;
	mw_web_words_t words = begin_words(view);
	mw_web_words_add(&words, "--json");
	if (site->targets.store == NULL)
		mw_error_set(&error, "this page has no store");
	if (site->targets.store == NULL ||
	    mw_web_words_add_store(&words, request, &site->targets, &error) != 0)
		say_error(answer, 400, &error);
	else
		say_fd(mw_http_run(request, &words.command, &error), JSON, &error, answer);
	mw_web_words_release(&words);
}

static void say_targets(const mw_web_site_t *site, mw_http_answer_t *answer) {
	char *text = mw_web_targets_list(&site->targets, site->has_control);
	if (text == NULL) {
		mw_http_say(answer, 500, TEXT, "no memory\n");
		return;
	}
	*answer = (mw_http_answer_t){
		.status = 200, .type = JSON, .fd = -1, .text = text, .text_bytes = strlen(text)};
}

static void say_file(const mw_web_site_t *site, const mw_http_request_t *request,
		     const char *ending, mw_http_answer_t *answer) {
	size_t i = 0;
	while (i < COUNT(files) && strcmp(ending, files[i].ending) != 0)
		i++;
	if (i == COUNT(files)) {
		say_none(answer);
		return;
	}
	mw_web_words_t words = begin_words(files[i].view);
	mw_web_words_add(&words, "--output=-");
	char format[NAME_BYTES];
	snprintf(format, sizeof(format), "--format=%s", files[i].format ? files[i].format : "");
	if (files[i].format != NULL)
		mw_web_words_add(&words, format);
	char functions[FUNCTIONS_BYTES];
	add_functions(request, &words, files[i].view, functions);
	say_output(site, request, &words, files[i].type, answer);
	answer->policy = view_policy;
	if (!files[i].is_shown)
		snprintf(answer->file_name, sizeof(answer->file_name), "mallow.%s",
			 files[i].ending);
}

static void change(const mw_web_site_t *site, const mw_http_request_t *request, const char *name,
		   mw_http_answer_t *answer) {
	size_t i = 0;
	while (i < COUNT(requests) && strcmp(name, requests[i].name) != 0)
		i++;
	if (i == COUNT(requests)) {
		say_none(answer);
	} else if (!site->has_control) {
		mw_http_say(answer, 403, TEXT,
			    "this page only reads; 'mallow web --control' changes processes\n");
	} else if (strcmp(request->method, "POST") != 0 || !mw_http_is_own_origin(request)) {
		mw_http_say(answer, 403, TEXT, "only the page itself may do that\n");
	} else {
		mw_web_words_t words = begin_words(requests[i].words[0]);
		char word[NAME_BYTES];
		const char *value = mw_http_query(request, "value");
		for (size_t k = 1; k < COUNT(requests[i].words) && requests[i].words[k]; k++) {
			const char *its = requests[i].words[k];
			bool is_setting = its[strlen(its) - 1] == '=';
			snprintf(word, sizeof(word), "%s%s", its, value != NULL ? value : "");
			mw_web_words_add(&words, is_setting ? word : its);
		}
		say_done(site, request, &words, answer);
	}
}

static void say_asset(const char *name, mw_http_answer_t *answer) {
	const mw_web_asset_t *asset = mw_web_asset_find(name);
	size_t bytes = asset != NULL ? (size_t)(asset->end - asset->begin) : 0;
	char *copy = asset != NULL ? malloc(bytes) : NULL;
	if (copy == NULL) {
		say_none(answer);
		return;
	}
	memcpy(copy, asset->begin, bytes);
	*answer = (mw_http_answer_t){.status = 200,
				     .type = asset->type,
				     .fd = -1,
				     .text = copy,
				     .text_bytes = bytes,
				     .policy = page_policy};
}

/* ---- routes ---- */

/* Returns what follows a prefix of the path; NULL: the path does not begin with it. */
static const char *behind(const char *path, const char *prefix) {
	size_t length = strlen(prefix);
	return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

static void say_page(const mw_web_site_t *site, const mw_http_request_t *request,
		     mw_http_answer_t *answer) {
	say_asset("", answer);
	mw_page_key_remember(&site->key, request, answer);
	if (mw_http_query(request, "from") != NULL)
		mw_browser_remove_file();
}

/* Who does not know the secret cannot try passwords either. */
static bool is_admitted(const mw_web_site_t *site, const mw_http_request_t *request,
			mw_http_answer_t *answer) {
	if (!mw_page_key_is_known(&site->key, request)) {
		mw_http_say(answer, 403, TEXT,
			    "this browser has no cookie of the page; open the address that "
			    "'mallow web' printed\n");
		return false;
	}
	if (!mw_http_is_admitted(request)) {
		mw_http_say(answer, 401, TEXT, "the password is missing or wrong\n");
		return false;
	}
	mw_http_trust(request);
	return true;
}

void mw_web_site_answer(const mw_http_request_t *request, void *context, mw_http_answer_t *answer) {
	const mw_web_site_t *site = context;
	const char *path = mw_page_key_path(&site->key, request), *rest;
	if (path == NULL)
		say_none(answer);
	else if (!is_admitted(site, request, answer))
		return;
	else if (*path == '\0')
		say_page(site, request, answer);
	else if (strcmp(path, "api/targets") == 0)
		say_targets(site, answer);
	else if (strcmp(path, "api/processes") == 0)
		say_processes(request, answer);
	else if (strcmp(path, "api/services") == 0)
		say_store(site, request, "services", answer);
	else if (strcmp(path, "api/search") == 0)
		say_store(site, request, "search", answer);
	else if ((rest = behind(path, "api/view/")) != NULL)
		say_json(site, request, rest, answer);
	else if ((rest = behind(path, "api/file/")) != NULL)
		say_file(site, request, rest, answer);
	else if ((rest = behind(path, "api/order/")) != NULL)
		change(site, request, rest, answer);
	else
		say_asset(path, answer);
}
