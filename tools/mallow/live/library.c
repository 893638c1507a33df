/* SPDX-License-Identifier: MIT
 * library.c -- finds libmallow.so, and starts a process with it to learn its version and how it
 * reads its options. */
#include "live/library.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/state/state_file.h"
#include "live/state_places.h"
#include "model/memory.h"

/* Places of the library relative to the command: in the build directory, and installed. */
static const char *const library_places[] = {
	"../lib/" MALLOW_SONAME,
	"../lib64/" MALLOW_SONAME,
	"../" MALLOW_LIBDIR "/" MALLOW_SONAME,
};

int mw_library_find(char path[PATH_MAX], mw_error_t *error) {
	const char *odd = getenv("MALLOW_LIB");
	if (odd && *odd) {
		if (realpath(odd, path))
			return 0;
		return mw_error_set(
			error, "MALLOW_LIB=%s: cannot open: %s; set it to the path of libmallow.so",
			odd, strerror(errno));
	}
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length > 0 ? length : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return mw_error_set(error,
				    "/proc/self/exe: cannot read: %s; set MALLOW_LIB to the path "
				    "of libmallow.so",
				    strerror(errno));
	*slash = '\0';
	for (size_t i = 0; i < sizeof(library_places) / sizeof(library_places[0]); i++) {
		char candidate[PATH_MAX + 64];
		snprintf(candidate, sizeof(candidate), "%s/%s", self, library_places[i]);
		if (realpath(candidate, path))
			return 0;
	}
	return mw_error_set(error,
			    MALLOW_SONAME " is not in %s/../lib; install it there, or set "
					  "MALLOW_LIB to its path",
			    self);
}

void mw_environment_join(const char *name, const char *first, char separator, const char *second) {
	size_t size = strlen(first) + strlen(second) + 2;
	char *value = mw_xcalloc(size, 1);
	snprintf(value, size, "%s%c%s", first, separator, second);
	setenv(name, *first == '\0' ? second : *second == '\0' ? first : value, 1);
	free(value);
}

/* Seconds after which a probe that hangs is ended. */
#define PROBE_SECONDS 10
/* Most bytes of a probe's messages, which are a few lines. */
#define SAID_MAX 16384

/* Switches off options that write files or print tables, and keeps the state file. */
#define PROBE_CONF                                                                                 \
	"prof:true,prof_keep:true,prof_state_min:0,prof_final:false,prof_leak:false,"              \
	"stats_print:false,confirm_conf:false,dump_seconds:0,prof_session:"

static _Noreturn void become_probe(const char *library, const char *malloc_conf,
				   const char *mallow_conf, const char *session, int said_fd) {
	char ours[256];
	snprintf(ours, sizeof(ours), PROBE_CONF "%s", session);
	setenv("LD_PRELOAD", library, 1);
	if (malloc_conf)
		setenv("MALLOC_CONF", malloc_conf, 1);
	else
		unsetenv("MALLOC_CONF");
	/* The last value of an option is used. */
	mw_environment_join("MALLOW_CONF", mallow_conf ? mallow_conf : "", ',', ours);
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	alarm(PROBE_SECONDS);
	if (dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(said_fd, STDERR_FILENO) >= 0)
		execl("/proc/self/exe", "mallow", "--version", (char *)NULL);
	_exit(127);
}

static char *read_said(int fd) {
	char *text = mw_xcalloc(SAID_MAX + 1, 1);
	ssize_t got = pread(fd, text, SAID_MAX, 0);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

/* Reads and removes the state file of the session. */
static void take_state(const char *session, mw_library_probe_t *out) {
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	for (size_t i = 0; i < places.count && !out->started; i++) {
		mw_snapshot_t *snapshot;
		if (places.items[i].alive ||
		    mw_snapshot_read(places.items[i].path, 0, &snapshot, NULL) != 0)
			continue;
		if (strcmp(snapshot->header.session, session) == 0) {
			out->started = true;
			memcpy(out->version, snapshot->header.library_version,
			       sizeof(out->version));
			memcpy(out->unused, snapshot->header.unused_options, sizeof(out->unused));
			mw_place_remove(&places.items[i]);
		}
		mw_snapshot_free(snapshot);
	}
	mw_places_release(&places);
}

int mw_library_probe(const char *library, const char *malloc_conf, const char *mallow_conf,
		     mw_library_probe_t *out, mw_error_t *error) {
	*out = (mw_library_probe_t){.started = false};
	int said_fd = memfd_create("mallow-probe", MFD_CLOEXEC);
	if (said_fd < 0)
		return mw_error_set(error, "cannot start a program to test libmallow.so: %s",
				    strerror(errno));
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	char session[64];
	snprintf(session, sizeof(session), "probe-%d-%" PRId64 "-%ld", (int)getpid(),
		 (int64_t)now.tv_sec, now.tv_nsec);
	pid_t pid = fork();
	if (pid == 0)
		become_probe(library, malloc_conf, mallow_conf, session, said_fd);
	int status = 0, why = errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	out->said = read_said(said_fd);
	close(said_fd);
	if (pid < 0) {
		free(out->said);
		return mw_error_set(error, "cannot start a program to test libmallow.so: %s",
				    strerror(why));
	}
	take_state(session, out);
	return 0;
}
