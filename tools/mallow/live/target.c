/* SPDX-License-Identifier: MIT
 * target.c -- turns the user's text into a file. */
#include "live/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/file/state_header.h"
#include "live/enter/enter.h"
#include "live/fetch.h"
#include "live/process/maps.h"
#include "live/process/no_state_file.h"
#include "live/process/process.h"
#include "model/memory.h"

/* How many times a process is asked for the state file that it was had to publish, after how many
 * of these it is had to do so again, and how long it may take to start. */
enum { PUBLISH_LOOKS = 250, ENTER_LOOKS = 50, NEW_SECONDS = 2 };
/* How many times a process that ends is looked at. To give back gigabytes takes it a second. */
enum { END_LOOKS = 1000 };
static const struct timespec between_looks = {.tv_nsec = 2000000};

/* Processes of mw_target_pin(). */
static mw_process_key_t *pins;
static size_t pin_count, pin_capacity;

const char *mw_fate_name(mw_fate_t fate) {
	static const char *const names[] = {
		[MW_FATE_RUNNING] = "running",     [MW_FATE_STOPPED] = "stopped",
		[MW_FATE_ELSEWHERE] = "elsewhere", [MW_FATE_ENDED] = "exited",
		[MW_FATE_QUIT] = "_exit",          [MW_FATE_KILLED] = "killed",
	};
	return names[fate];
}

mw_fate_t mw_fate_of(const mw_snapshot_t *snapshot, int live_pid) {
	mw_process_t process;
	if (live_pid == MW_PID_ELSEWHERE)
		return MW_FATE_ELSEWHERE;
	if (live_pid != 0 && mw_process_read(live_pid, &process) && process.paused)
		return MW_FATE_STOPPED;
	if (live_pid != 0)
		return MW_FATE_RUNNING;
	if (snapshot->live.flags & MW_STATE_ENDED)
		return MW_FATE_ENDED;
	return snapshot->live.flags & MW_STATE_QUIT ? MW_FATE_QUIT : MW_FATE_KILLED;
}

static int process_of(bool alive, bool is_elsewhere, int pid) {
	return !alive ? 0 : is_elsewhere ? MW_PID_ELSEWHERE : pid;
}

int mw_place_process(const mw_place_t *place) {
	return process_of(place->alive, place->is_elsewhere, place->pid);
}

int mw_target_process(const mw_target_t *target) {
	return process_of(target->alive, target->is_elsewhere, target->pid);
}

mw_process_key_t mw_target_key(const mw_target_t *target) {
	mw_process_key_t key = {.pid = target->pid,
				.start_ticks = target->start_ticks,
				.device = target->device,
				.inode = target->inode};
	struct stat info;
	int fd = mw_target_open(target, O_RDONLY);
	if (fd >= 0 && fstat(fd, &info) == 0) {
		key.device = info.st_dev;
		key.inode = info.st_ino;
	}
	if (fd >= 0)
		close(fd);
	return key;
}

/* After an exec(2) the process makes a new file of the same name. */
static bool is_next_file(const mw_target_t *target, const struct stat *info) {
	return mw_target_process(target) > 0 &&
	       mw_process_is_alive(target->pid, target->start_ticks) &&
	       mw_process_maps_file(target->pid, info->st_dev, info->st_ino);
}

int mw_target_open(const mw_target_t *target, int flags) {
	struct stat info;
	int fd = mw_open_file(target->path, flags | O_NONBLOCK);
	if (fd < 0 || target->inode == 0)
		return fd;
	bool is_known = fstat(fd, &info) == 0;
	if (is_known && ((info.st_dev == target->device && info.st_ino == target->inode) ||
			 is_next_file(target, &info)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* Says of a live process what its library does not know where /proc is missing, as in a folder that
 * is the root. */
static void complete(const mw_target_t *target, mw_snapshot_t *snapshot) {
	mw_state_header_t *header = &snapshot->header;
	if (header->start_ticks != 0 || mw_target_process(target) <= 0)
		return;
	header->start_ticks = target->start_ticks;
	if (header->exe[0] != '\0' ||
	    !mw_process_executable(target->pid, header->exe, sizeof(header->exe)))
		return;
	for (size_t i = 0; i < snapshot->module_count; i++)
		if (snapshot->modules[i].path[0] == '\0')
			snprintf(snapshot->modules[i].path, sizeof(snapshot->modules[i].path),
				 "%.*s", (int)sizeof(snapshot->modules[i].path) - 1, header->exe);
}

int mw_target_read_fd(const mw_target_t *target, int fd, unsigned what, mw_snapshot_t **snapshot,
		      mw_error_t *error) {
	int result = mw_snapshot_read_fd(fd, target->path, what, snapshot, error);
	if (result == 0)
		complete(target, *snapshot);
	return result;
}

int mw_target_read(const mw_target_t *target, unsigned what, mw_snapshot_t **snapshot,
		   mw_error_t *error) {
	int fd = mw_target_open(target, O_RDONLY);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot open: %s", target->path,
				    errno == ESTALE ? "another file is there by now"
						    : strerror(errno));
	int result = mw_target_read_fd(target, fd, what, snapshot, error);
	close(fd);
	return result;
}

/* A process without /proc cannot lock a file that has no name. */
static bool is_mapped(const mw_target_t *target, int fd) {
	struct stat info;
	return mw_target_process(target) > 0 && fstat(fd, &info) == 0 &&
	       mw_process_maps_file(target->pid, info.st_dev, info.st_ino);
}

bool mw_target_holds(const mw_target_t *target, int fd) {
	bool is_held = fd >= 0 && (mw_state_file_is_held(fd) || is_mapped(target, fd));
	/* A reader of the file's memory keeps the lock for a moment after the process ended. */
	if (is_held && mw_target_process(target) > 0 && target->start_ticks != 0)
		is_held = mw_process_is_alive(target->pid, target->start_ticks);
	return is_held;
}

bool mw_target_is_alive(const mw_target_t *target) {
	int fd = mw_target_open(target, O_RDONLY);
	bool is_alive = mw_target_holds(target, fd);
	if (fd >= 0)
		close(fd);
	return is_alive;
}

const char *mw_target_end(const mw_target_t *target, int fd) {
	mw_state_header_t header;
	if (target->is_elsewhere ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return "ended";
	return mw_process_end(target->pid,
			      header.start_ticks != 0 ? header.start_ticks : target->start_ticks);
}

bool mw_target_title(const mw_target_t *target, char *title, size_t size) {
	int pid = mw_target_process(target);
	return pid > 0 && mw_process_title(pid, title, size);
}

static void take_place(mw_target_t *out, const mw_place_t *place) {
	out->path = mw_xstrdup(place->path);
	out->shown = mw_xstrdup(place->shown);
	out->is_state = true;
	out->alive = place->alive;
	out->is_elsewhere = place->is_elsewhere;
	out->pid = place->pid;
	out->start_ticks = place->start_ticks;
	out->device = place->device;
	out->inode = place->inode;
}

mw_target_t mw_target_of_place(const mw_place_t *place) {
	mw_target_t target = {.is_pid = true};
	take_place(&target, place);
	return target;
}

static const mw_place_t *find_alive(const mw_places_t *places, int pid) {
	for (size_t i = 0; i < places->count; i++)
		if (mw_place_process(&places->items[i]) == pid)
			return &places->items[i];
	return NULL;
}

/* Returns the newest file of an ended process with this pid in this namespace, and the number of
 * its files. */
static const mw_place_t *find_newest(const mw_places_t *places, int pid, unsigned *out_count) {
	const mw_place_t *newest = NULL;
	uint64_t own_namespace = mw_process_namespace(0);
	*out_count = 0;
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		if (place->alive || place->pid != pid ||
		    (place->pid_namespace != 0 && place->pid_namespace != own_namespace))
			continue;
		++*out_count;
		if (!newest || place->modified_ns > newest->modified_ns)
			newest = place;
	}
	return newest;
}

/* Has a process publish its state file whose heap is below prof_state_min, and finds the file. One
 * that is starting, or is in the library at that moment, does not answer: it is asked again. */
static const mw_place_t *find_published(mw_places_t *places, const mw_process_t *process) {
	const mw_process_key_t key = {.pid = process->pid, .start_ticks = process->start_ticks};
	uint64_t start_ns = mw_process_start_realtime_ns(process->start_ticks);
	bool is_new = (uint64_t)time(NULL) <= start_ns / 1000000000 + NEW_SECONDS;
	const mw_place_t *place = NULL;
	if (process->zombie || process->paused || !mw_process_has_library(process->pid))
		return NULL;
	for (unsigned i = 0; i < PUBLISH_LOOKS && place == NULL; i++) {
		if (i % ENTER_LOOKS == 0 && mw_process_enter(&key, NULL) != 0 && !is_new)
			return NULL;
		nanosleep(&between_looks, NULL);
		mw_places_add_process(places, process->pid);
		place = find_alive(places, process->pid);
	}
	return place;
}

/* Says what a profile of an ended process is, if the user may not expect it. */
static void note_ended(int pid, const mw_process_t *process, const mw_place_t *place,
		       unsigned count, mw_target_t *out) {
	if (process != NULL && !mw_process_has_ended(pid, process->start_ticks))
		snprintf(out->note, sizeof(out->note),
			 process->start_ticks == place->start_ticks
				 ? "pid %d has started another program (%s), which %s; this is the "
				   "profile of the program before"
				 : "pid %d now belongs to another process (%s), which %s; this is "
				   "the ended process that had the pid before",
			 pid, process->name, mw_no_state_file_words(pid));
	else if (count > 1)
		snprintf(out->note, sizeof(out->note),
			 "%u ended processes had pid %d; this is the newest", count, pid);
}

/* Finds the state file of a process, which is NULL if there is none of that pid. */
static int find_pid(int pid, const mw_process_t *process, mw_target_t *out, mw_error_t *error) {
	/* In a directory that pid namespaces share, the name has the pid of the process's own. */
	mw_places_t places = {.wanted = {pid, process ? process->inner_pid : pid}};
	mw_places_add_directories(&places);
	const mw_place_t *place = find_alive(&places, pid);
	if (!place && process) {
		mw_places_add_process(&places, pid);
		place = find_alive(&places, pid);
	}
	if (!place && process)
		place = find_published(&places, process);
	int result = 0;
	unsigned count = 0;
	if (!place && (place = find_newest(&places, pid, &count)))
		note_ended(pid, process, place, count, out);
	if (place)
		take_place(out, place);
	else if (process)
		result = mw_no_state_file_explain(process, error);
	else
		result = mw_error_set(
			error,
			"pid %d: no such process runs, and none left a profile; " MW_LEFT_NOTHING
			"; 'mallow ls' lists the profiles",
			pid);
	mw_places_release(&places);
	return result;
}

/* Waits until a process that ends has closed its state file: before, it has none that it maps. */
static void wait_for_end(const mw_process_t *process) {
	for (unsigned i = 0; i < END_LOOKS; i++) {
		if (!mw_process_is_alive(process->pid, process->start_ticks))
			return;
		nanosleep(&between_looks, NULL);
	}
}

void mw_target_pin(int pid, uint64_t start_ticks) {
	pins = mw_grow(pins, &pin_capacity, pin_count + 1, sizeof(*pins));
	pins[pin_count++] = (mw_process_key_t){.pid = pid, .start_ticks = start_ticks};
}

/* Returns whether a process is another one than mw_target_pin() was told of. */
static bool is_pinned_to_other(const mw_process_t *process) {
	for (size_t i = 0; i < pin_count; i++)
		if (pins[i].pid == process->pid)
			return pins[i].start_ticks != process->start_ticks;
	return false;
}

static int resolve_pid(int pid, mw_target_t *out, mw_error_t *error) {
	mw_process_t process;
	if (!mw_process_numbers_are_ours())
		return mw_error_set(error,
				    "pid %d: /proc is missing or belongs to another pid namespace; "
				    "mount it (mount -t proc proc /proc), or give the state file",
				    pid);
	bool exists = mw_process_read(pid, &process);
	if (exists && is_pinned_to_other(&process))
		return mw_error_set(
			error, "pid %d: the process has ended, and another one has its pid", pid);
	int result = find_pid(pid, exists ? &process : NULL, out, error);
	if (result == 0 || !exists || !mw_process_has_ended(pid, process.start_ticks))
		return result;
	/* It has ended since, or is about to. */
	wait_for_end(&process);
	return find_pid(pid, &process, out, error);
}

/* True if the file begins like a state file.  A pipe is not opened, because its writer would
 * notice. */
static bool is_state_file(const char *path, const struct stat *info) {
	char magic[8];
	int fd = S_ISREG(info->st_mode) ? mw_open_file(path, O_RDONLY) : -1;
	if (fd < 0)
		return false;
	ssize_t got = pread(fd, magic, sizeof(magic), 0);
	close(fd);
	return got > 0 && mw_state_file_is_magic(magic, (size_t)got);
}

static const mw_place_t *place_of_file(const mw_places_t *places, const struct stat *info) {
	for (size_t i = 0; i < places->count; i++) {
		const mw_place_t *place = &places->items[i];
		if (place->device == info->st_dev && place->inode == info->st_ino &&
		    mw_place_process(place) > 0)
			return place;
	}
	return NULL;
}

/* Finds the process visible from here that holds the file. */
static void find_process(const struct stat *info, mw_target_t *out) {
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	const mw_place_t *place = place_of_file(&places, info);
	if (place == NULL) {
		mw_places_add_mapped(&places);
		place = place_of_file(&places, info);
	}
	out->is_elsewhere = place == NULL;
	if (place != NULL) {
		out->pid = place->pid;
		out->start_ticks = place->start_ticks;
	}
	mw_places_release(&places);
}

static int resolve_path(const char *path, mw_target_t *out, mw_error_t *error) {
	struct stat info;
	if (stat(path, &info) != 0)
		return mw_error_set(
			error, "%s: cannot open: %s; give a pid, a state file or a profile file",
			path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return mw_error_set(
			error,
			"%s: this is a directory; give a pid, a state file or a profile file",
			path);
	out->path = mw_xstrdup(path);
	out->shown = mw_xstrdup(path);
	if (!is_state_file(path, &info))
		return 0;
	out->is_state = true;
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read(path, 0, &snapshot, error) != 0) {
		mw_target_release(out);
		return -1;
	}
	out->pid = (int)snapshot->header.pid;
	out->device = info.st_dev;
	out->inode = info.st_ino;
	mw_snapshot_free(snapshot);
	out->alive = mw_state_file_is_held_at(path);
	if (out->alive)
		find_process(&info, out);
	return 0;
}

/* ---- processes by name ---- */

/* Processes of one name. */
typedef struct named {
	int pid;              /* of one that runs mallow */
	uint64_t start_ticks; /* of that one */
	size_t count;         /* how many run mallow */
	char pids[160];       /* all of them, for a message */
	mw_process_t other;   /* one that does not run mallow; pid 0: none */
} named_t;

static void add_named(named_t *named, int pid, uint64_t start_ticks) {
	size_t used = strlen(named->pids);
	if (named->count++ == 0) {
		named->pid = pid;
		named->start_ticks = start_ticks;
	}
	if (used + 16 < sizeof(named->pids))
		snprintf(named->pids + used, sizeof(named->pids) - used, "%s%d",
			 used > 0 ? ", " : "", pid);
	else if (strstr(named->pids, "...") == NULL)
		strcat(named->pids, ", ...");
}

/* Returns whether the state file's program has this name, or its process. */
static bool is_place_named(const mw_place_t *place, const char *name) {
	mw_snapshot_t *snapshot;
	if (mw_snapshot_read(place->path, 0, &snapshot, NULL) != 0)
		return false;
	if (mw_place_process(place) > 0 && mw_process_is_named(place->pid, name)) {
		mw_snapshot_free(snapshot);
		return true;
	}
	bool is_named = strcmp(snapshot->header.program, name) == 0;
	mw_snapshot_free(snapshot);
	return is_named;
}

/* Finds processes of this name that have no state file: their heap is small, or they do not run
 * mallow. */
static void find_without_file(const mw_places_t *places, const char *name, named_t *named) {
	mw_process_t process;
	const struct dirent *entry;
	DIR *entries = opendir("/proc");
	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);
		if (*end != '\0' || pid == 0 || pid > INT_MAX || (int)pid == getpid() ||
		    find_alive(places, (int)pid) != NULL || !mw_process_is_named((int)pid, name) ||
		    !mw_process_read((int)pid, &process) || process.zombie)
			continue;
		if (mw_process_has_library((int)pid))
			add_named(named, (int)pid, process.start_ticks);
		else
			named->other = process;
	}
	if (entries != NULL)
		closedir(entries);
}

/* Takes the one process of this name, or else the newest profile that one left. */
static int take_named(const char *name, const named_t *named, const mw_place_t *newest,
		      unsigned ended, mw_target_t *out, mw_error_t *error) {
	if (named->count > 1)
		return mw_error_set(error,
				    "%s: %zu processes have this name: %s; give one of these pids",
				    name, named->count, named->pids);
	if (named->count == 1) {
		mw_target_pin(named->pid, named->start_ticks);
		return resolve_pid(named->pid, out, error);
	}
	if (newest == NULL)
		return mw_no_state_file_explain(&named->other, error);
	take_place(out, newest);
	if (ended > 1)
		snprintf(out->note, sizeof(out->note),
			 "%u ended processes were called %.60s; this is the newest", ended, name);
	return 0;
}

static int compare_pids(const void *a, const void *b) {
	const mw_place_t *left = a, *right = b;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

#define NO_SUCH_NAME 1

/* Returns 0, -1 with `error`, or NO_SUCH_NAME. */
static int resolve_name(const char *name, mw_target_t *out, mw_error_t *error) {
	named_t named = {0};
	mw_places_t places = {0};
	const mw_place_t *newest = NULL;
	unsigned ended = 0;
	if (!mw_process_numbers_are_ours())
		return NO_SUCH_NAME;
	mw_places_add_all(&places);
	qsort(places.items, places.count, sizeof(*places.items), compare_pids);
	for (size_t i = 0; i < places.count; i++) {
		const mw_place_t *place = &places.items[i];
		if ((place->alive && mw_place_process(place) <= 0) || !is_place_named(place, name))
			continue;
		if (place->alive) {
			add_named(&named, place->pid, place->start_ticks);
			continue;
		}
		ended++;
		if (newest == NULL || place->modified_ns > newest->modified_ns)
			newest = place;
	}
	find_without_file(&places, name, &named);
	int result = NO_SUCH_NAME;
	if (named.count > 0 || newest != NULL || named.other.pid != 0) {
		out->is_pid = true;
		result = take_named(name, &named, newest, ended, out, error);
	}
	mw_places_release(&places);
	return result;
}

/* Returns whether a file is a program or a script, which is no profile. */
static bool is_program(const char *path, const struct stat *info) {
	char magic[4] = {0};
	int fd = S_ISREG(info->st_mode) ? mw_open_file(path, O_RDONLY) : -1;
	if (fd < 0)
		return false;
	ssize_t got = pread(fd, magic, sizeof(magic), 0);
	close(fd);
	return got >= 2 && (memcmp(magic, "#!", 2) == 0 || memcmp(magic, "\177ELF", 4) == 0);
}

/* A word without a slash is a file of this name in the current directory, unless that is a program;
 * else it is the name of a process. */
static int resolve_word(const char *word, mw_target_t *out, mw_error_t *error) {
	struct stat info;
	bool exists = stat(word, &info) == 0;
	if (exists && !is_program(word, &info))
		return resolve_path(word, out, error);
	int result = resolve_name(word, out, error);
	if (result != NO_SUCH_NAME)
		return result;
	if (exists)
		return mw_error_set(error,
				    "%s: this is a program, and no process of this name runs; "
				    "'mallow run ./%s' starts it",
				    word, word);
	return mw_error_set(error,
			    "%s: no such file, and no process of this name runs; 'mallow ls' lists "
			    "the processes; " MW_LEFT_NOTHING,
			    word);
}

bool mw_target_is_named(const char *word) {
	mw_target_t target = {0};
	if (!mw_is_url(word) && strchr(word, '/') == NULL && *word != '-' &&
	    resolve_name(word, &target, NULL) == 0) {
		mw_target_release(&target);
		return true;
	}
	return false;
}

static int resolve_url(const char *text, mw_target_t *out, mw_error_t *error) {
	char *url = mw_fetch_url(text);
	if (mw_fetch(url, &out->fd, error) != 0) {
		free(url);
		return -1;
	}
	out->is_url = true;
	out->shown = url;
	out->path = mw_xstrdup(url);
	return 0;
}

int mw_target_resolve(const char *text, mw_target_t *out, mw_error_t *error) {
	*out = (mw_target_t){0};
	if (*text == '\0')
		return mw_error_set(error, "'': give a pid, a state file or a profile file");
	if (mw_is_url(text))
		return resolve_url(text, out, error);
	if (strchr(text, '/') != NULL)
		return resolve_path(text, out, error);
	if (text[strspn(text, "0123456789")] != '\0')
		return resolve_word(text, out, error);
	char *end;
	errno = 0;
	unsigned long pid = strtoul(text, &end, 10);
	if (errno != 0 || pid == 0 || pid > INT_MAX)
		return mw_error_set(error,
				    "%s: this is not a pid; for a file of this name write ./%s",
				    text, text);
	out->is_pid = true;
	return resolve_pid((int)pid, out, error);
}

void mw_target_release(mw_target_t *target) {
	if (target->is_url)
		close(target->fd);
	free(target->path);
	free(target->shown);
	*target = (mw_target_t){0};
}
