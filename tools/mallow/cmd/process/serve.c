/* SPDX-License-Identifier: MIT
 * serve.c -- `mallow serve`: the profiles of a process under the URLs of gperftools' and Go's
 * servers. Each answer is the output of another subcommand. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cmd/input/load.h"
#include "cmd/process/process_commands.h"
#include "http/server.h"
#include "http/subprocess.h"
#include "model/memory.h"

#define DEFAULT_LISTEN "127.0.0.1:0"
#define CPU_SECONDS 30u
#define SECONDS_MAX 3600u
#define SECONDS_BYTES 16
#define PATH_BYTES 64
#define BINARY "application/octet-stream"
#define TEXT "text/plain; charset=utf-8"

typedef struct service {
	const char *target; /* as the user wrote it */
	int pid;            /* 0: no live process */
} service_t;

typedef void route_work_t(const service_t *service, const mw_http_request_t *request,
			  mw_http_answer_t *answer);

/* ---- profiles ---- */

static void say_error(mw_http_answer_t *answer, unsigned status, const mw_error_t *error) {
	char line[sizeof(error->text) + 2];
	snprintf(line, sizeof(line), "%s\n", error->text);
	mw_http_say(answer, status, TEXT, line);
}

/* Returns the command's output as a file; -1 after an answer that says what failed. */
static int take_output(const mw_http_request_t *request, const mw_http_command_t *command,
		       mw_http_answer_t *answer) {
	mw_error_t error;
	int fd = mw_http_run(request, command, &error);
	if (fd < 0)
		say_error(answer, fd == MW_HTTP_BUSY ? 503 : 500, &error);
	return fd;
}

/* The answer is the command's output. */
static void say_output(const mw_http_request_t *request, const mw_http_command_t *command,
		       const char *type, mw_http_answer_t *answer) {
	int fd = take_output(request, command, answer);
	if (fd >= 0)
		*answer = (mw_http_answer_t){.status = 200, .type = type, .fd = fd};
}

/* Reads ?seconds=N.  Returns false after an answer if N is none. */
static bool take_seconds(const mw_http_request_t *request, unsigned standard, unsigned *seconds,
			 mw_http_answer_t *answer) {
	const char *text = mw_http_query(request, "seconds");
	char *end;
	*seconds = standard;
	if (text == NULL)
		return true;
	unsigned long value = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0' && value >= 1 && value <= SECONDS_MAX) {
		*seconds = (unsigned)value;
		return true;
	}
	mw_http_say(answer, 400, TEXT, "seconds: allowed are 1 to 3600\n");
	return false;
}

static void answer_text_heap(const service_t *service, const mw_http_request_t *request,
			     mw_http_answer_t *answer) {
	const char *format = strstr(request->path, "growth") != NULL ? "growth" : "gperftools";
	say_output(request,
		   &(mw_http_command_t){.words = {"mallow", "dump", "--format", format, "-o", "-",
						  service->target},
					.input = -1},
		   TEXT, answer);
}

/* Go's servers give the difference of two profiles, if the time between them is asked for. */
static void answer_heap(const service_t *service, const mw_http_request_t *request,
			mw_http_answer_t *answer) {
	unsigned seconds;
	if (!take_seconds(request, 0, &seconds, answer))
		return;
	const mw_http_command_t dump = {.words = {"mallow", "dump", "-o", "-", service->target},
					.input = -1,
					.is_long = seconds > 0};
	if (seconds == 0) {
		say_output(request, &dump, BINARY, answer);
		return;
	}
	int base = take_output(request, &dump, answer);
	if (base < 0)
		return;
	mw_error_t error;
	int waited = mw_http_wait(request, seconds, &error);
	if (waited == 0)
		say_output(request,
			   &(mw_http_command_t){.words = {"mallow", "proto", "--base", "/dev/stdin",
							  "-o", "-", service->target},
						.input = base},
			   BINARY, answer);
	else
		say_error(answer, waited == MW_HTTP_BUSY ? 503 : 500, &error);
	close(base);
}

/* The path chooses the format: Go's below /debug, gperftools' else. */
static void answer_cpu(const service_t *service, const mw_http_request_t *request,
		       mw_http_answer_t *answer) {
	char time[SECONDS_BYTES];
	unsigned seconds;
	if (!take_seconds(request, CPU_SECONDS, &seconds, answer))
		return;
	snprintf(time, sizeof(time), "%us", seconds);
	const mw_http_command_t cpu = {
		.words = {"mallow", "cpu", "--for", time, "--format", "pb.gz", service->target},
		.input = -1,
		.is_long = true};
	if (strncmp(request->path, "/debug", 6) == 0) {
		say_output(request, &cpu, BINARY, answer);
		return;
	}
	int profile = take_output(request, &cpu, answer);
	if (profile < 0)
		return;
	say_output(request,
		   &(mw_http_command_t){.words = {"mallow", "dump", "--format", "gperftools", "-o",
						  "-", "/dev/stdin"},
					.input = profile},
		   BINARY, answer);
	close(profile);
}

/* ---- the process ---- */

/* Reads a file of /proc/<pid>.  The caller frees the result, which ends in a 0; NULL: none. */
static char *read_proc(int pid, const char *name, size_t *length) {
	char path[PATH_BYTES], *text = NULL;
	size_t bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	FILE *file = pid > 0 ? fopen(path, "re") : NULL;
	FILE *copy = file != NULL ? open_memstream(&text, &bytes) : NULL;
	char piece[4096];
	size_t count;
	while (copy != NULL && (count = fread(piece, 1, sizeof(piece), file)) > 0)
		fwrite(piece, 1, count, copy);
	if (file != NULL)
		fclose(file);
	if (copy == NULL || fclose(copy) != 0)
		return NULL;
	*length = bytes;
	return text;
}

/* Words end in a newline for gperftools' readers, in a 0 for Go's. */
static void answer_cmdline(const service_t *service, const mw_http_request_t *request,
			   mw_http_answer_t *answer) {
	size_t length = 0;
	char *words = read_proc(service->pid, "cmdline", &length);
	if (words == NULL) {
		mw_http_say(answer, 500, TEXT, "the process has ended\n");
		return;
	}
	for (size_t i = 0; i < length && strncmp(request->path, "/debug", 6) != 0; i++)
		if (words[i] == '\0')
			words[i] = '\n';
	*answer = (mw_http_answer_t){
		.status = 200, .type = TEXT, .fd = -1, .text = words, .text_bytes = length};
}

/* Writes "0x<address>", a line each, for the addresses "0x1+0x2" of the request. */
static char *list_addresses(const char *body) {
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	for (const char *at = body; out != NULL && *at != '\0'; at += strcspn(at, "+")) {
		at += *at == '+';
		char *end;
		uint64_t address = strtoull(at, &end, 16);
		if (end > at)
			fprintf(out, "0x%" PRIx64 "\n", address);
	}
	if (out == NULL || fclose(out) != 0)
		return NULL;
	return text;
}

/* Joins the lines of addresses with those of names, which a command has written. */
static void say_names(char *addresses, int names, mw_http_answer_t *answer) {
	char *text = NULL, *name = NULL, *rest = NULL;
	size_t length = 0, capacity = 0;
	FILE *in = fdopen(names, "r"), *out = open_memstream(&text, &length);
	for (char *address = strtok_r(addresses, "\n", &rest);
	     in != NULL && out != NULL && address != NULL && getline(&name, &capacity, in) > 0;
	     address = strtok_r(NULL, "\n", &rest))
		fprintf(out, "%s\t%.*s\n", address, (int)strcspn(name, "\n"), name);
	free(name);
	if (in != NULL)
		fclose(in);
	if (out != NULL && fclose(out) == 0)
		*answer = (mw_http_answer_t){
			.status = 200, .type = TEXT, .fd = -1, .text = text, .text_bytes = length};
	else
		mw_http_say(answer, 500, TEXT, "no memory\n");
}

static void name_addresses(const service_t *service, const mw_http_request_t *request,
			   char *addresses, mw_http_answer_t *answer) {
	char program[PATH_BYTES], *input = NULL;
	size_t length = 0;
	mw_error_t error;
	char *maps = read_proc(service->pid, "maps", &length);
	snprintf(program, sizeof(program), "/proc/%d/exe", service->pid);
	if (maps == NULL || asprintf(&input, "%s%s", maps, addresses) < 0)
		input = NULL;
	int file = input != NULL ? mw_http_memory_file(input, strlen(input), &error) : -1;
	int names = -1;
	if (file >= 0)
		names = mw_http_run(request,
				    &(mw_http_command_t){.words = {"jeprof", "--symbols", program},
							 .input = file},
				    &error);
	else
		mw_error_set(&error, "the process has ended");
	if (names >= 0)
		say_names(addresses, names, answer);
	else
		say_error(answer, names == MW_HTTP_BUSY ? 503 : 500, &error);
	if (file >= 0)
		close(file);
	free(input);
	free(maps);
}

static void answer_symbol(const service_t *service, const mw_http_request_t *request,
			  mw_http_answer_t *answer) {
	if (strcmp(request->method, "POST") != 0) {
		mw_http_say(answer, 200, TEXT, "num_symbols: 1\n");
		return;
	}
	char *addresses = list_addresses(request->body);
	if (addresses != NULL)
		name_addresses(service, request, addresses, answer);
	else
		mw_http_say(answer, 500, TEXT, "no memory\n");
	free(addresses);
}

/* ---- routes ---- */

static route_work_t answer_index;

static const struct {
	const char *path;
	route_work_t *work;
	const char *what; /* NULL: not in the list of the first page */
} routes[] = {
	{"/", answer_index, NULL},
	{"/pprof/heap", answer_text_heap, "heap, for gperftools' pprof"},
	{"/pprof/growth", answer_text_heap, "highest use of the heap"},
	{"/pprof/profile", answer_cpu, "CPU time of the next 30 seconds, for gperftools' pprof"},
	{"/pprof/symbol", answer_symbol, "names of addresses (POST)"},
	{"/pprof/cmdline", answer_cmdline, "command line"},
	{"/debug/pprof/", answer_index, NULL},
	{"/debug/pprof/heap", answer_heap, "heap, as profile.proto"},
	{"/debug/pprof/allocs", answer_heap, "the same"},
	{"/debug/pprof/profile", answer_cpu, "CPU time of the next 30 seconds, as profile.proto"},
	{"/debug/pprof/symbol", answer_symbol, "names of addresses (POST)"},
	{"/debug/pprof/cmdline", answer_cmdline, "command line"},
};
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

static void answer_index(const service_t *service, const mw_http_request_t *request,
			 mw_http_answer_t *answer) {
	(void)request;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return;
	fprintf(out,
		"<!doctype html><title>mallow: process %d</title>\n"
		"<h1>Process %d</h1>\n<ul>\n",
		service->pid, service->pid);
	for (size_t i = 0; i < ROUTES; i++)
		if (routes[i].what != NULL)
			fprintf(out, "<li><a href=\"%s\">%s</a> %s\n", routes[i].path,
				routes[i].path, routes[i].what);
	fputs("</ul>\n", out);
	if (fclose(out) == 0)
		*answer = (mw_http_answer_t){.status = 200,
					     .type = "text/html; charset=utf-8",
					     .fd = -1,
					     .text = text,
					     .text_bytes = length};
}

static void answer(const mw_http_request_t *request, void *context, mw_http_answer_t *out) {
	for (size_t i = 0; i < ROUTES; i++)
		if (strcmp(request->path, routes[i].path) == 0) {
			routes[i].work(context, request, out);
			return;
		}
	mw_http_say(out, 404, TEXT, "there is no such profile; / lists those that there are\n");
}

/* ---- the subcommand ---- */

static int serve(const mw_target_t *target, const void *context, mw_error_t *error) {
	const mw_arguments_t *arguments = context;
	const mw_text_value_t *listen = &arguments->options.listen;
	service_t service = {.target = arguments->operands[0],
			     .pid = target->is_state && target->alive ? target->pid : 0};
	sigset_t ends;
	int number;
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	const mw_http_config_t config = {.address = listen->given ? listen->text : DEFAULT_LISTEN,
					 .handler = answer,
					 .context = &service};
	mw_http_server_t *server = mw_http_start(&config, error);
	if (server == NULL)
		return -1;
	printf("%s/debug/pprof/\n", mw_http_url(server));
	fflush(stdout);
	mw_complain("serving profiles of %s; ^C ends", service.target);
	sigwait(&ends, &number);
	mw_http_end_commands();
	mw_http_stop(server);
	return MW_EXIT_FINE;
}

int mw_cmd_serve(const mw_arguments_t *arguments) {
	return mw_on_target(arguments->operands[0], serve, arguments);
}
