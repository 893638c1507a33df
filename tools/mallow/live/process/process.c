/* SPDX-License-Identifier: MIT
 * process.c -- reads /proc/<pid>/stat and status. */
#include "live/process/process.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/process/mallow_files.h"

/* Reads the first bytes of /proc/<pid>/<name> and a NUL. False: the file cannot be read. */
static bool read_proc(int pid, const char *name, char *text, size_t capacity) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, capacity - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

bool mw_process_title(int pid, char *title, size_t capacity) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, title, capacity - 1);
	close(fd);
	size_t length = got > 0 ? (size_t)got : 0;
	/* setproctitle(3) pads a title with NULs up to the length of the command line. */
	while (length > 0 && (title[length - 1] == '\0' || title[length - 1] == ' '))
		length--;
	for (size_t i = 0; i < length; i++)
		if (title[i] == '\0')
			title[i] = ' ';
	title[length] = '\0';
	/* The first word of a title that setproctitle(3) has set ends in a colon. */
	size_t first = strcspn(title, " ");
	return first > 1 && title[first - 1] == ':' && title[first] == ' ';
}

bool mw_process_is_named(int pid, const char *name) {
	char words[4096], comm[64];
	if (read_proc(pid, "cmdline", words, sizeof(words))) {
		const char *slash = strrchr(words, '/');
		if (strcmp(slash != NULL ? slash + 1 : words, name) == 0)
			return true;
	}
	if (!read_proc(pid, "comm", comm, sizeof(comm)))
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

/* PF_KTHREAD, in field 9 of /proc/<pid>/stat. */
#define KERNEL_THREAD 0x200000ul

/* Parses fields of stat after the name: state is the 3rd, flags the 9th, CPU time of the program
 * and of the kernel the 14th and 15th, the number of threads the 20th, start time the 22nd. */
static bool parse_stat(char *text, mw_process_t *out) {
	char *open_paren = strchr(text, '(');
	/* The name may contain parentheses; later fields do not. */
	char *close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren || close_paren < open_paren || close_paren[1] != ' ')
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(close_paren - open_paren - 1),
		 open_paren + 1);
	char *field = close_paren + 2;
	bool has_ended = *field == 'Z' || *field == 'X';
	out->paused = *field == 'T' || *field == 't';
	for (int number = 3; number < 22; number++) {
		field = strchr(field, ' ');
		if (!field)
			return false;
		field++;
		if (number + 1 == 9)
			out->is_kernel = (strtoul(field, NULL, 10) & KERNEL_THREAD) != 0;
		if (number + 1 == 14 || number + 1 == 15)
			out->cpu_ticks += strtoull(field, NULL, 10);
		if (number + 1 == 20)
			out->threads = (int)strtol(field, NULL, 10);
	}
	/* A first thread that has ended before the others is like a zombie to /proc. */
	out->zombie = has_ended && out->threads <= 1;
	out->start_ticks = strtoull(field, NULL, 10);
	return true;
}

/* Parses the uids, and the pid in the innermost namespace, which is the last number of the NSpid
 * line. */
static void parse_status(const char *text, mw_process_t *out) {
	const char *uids = strstr(text, "\nUid:");
	unsigned real, effective;
	if (uids && sscanf(uids + 5, "%u %u", &real, &effective) == 2) {
		out->uid = real;
		out->euid = effective;
	}
	const char *pids = strstr(text, "\nNSpid:");
	if (!pids)
		return;
	pids += 7;
	const char *line_end = strchrnul(pids, '\n');
	while (pids < line_end) {
		char *after;
		long pid = strtol(pids, &after, 10);
		if (after == pids || after > line_end)
			break;
		out->inner_pid = (int)pid;
		pids = after;
	}
}

bool mw_process_read(int pid, mw_process_t *out) {
	char text[4096];
	*out = (mw_process_t){.pid = pid, .inner_pid = pid};
	if (pid <= 0 || !read_proc(pid, "stat", text, sizeof(text)) || !parse_stat(text, out))
		return false;
	if (!read_proc(pid, "status", text, sizeof(text)))
		return false;
	parse_status(text, out);
	return true;
}

static bool is_thread_alive(int pid, int thread) {
	char text[512], name[32];
	/* /proc/<pid>/stat would have the kernel add up the times of all threads. */
	snprintf(name, sizeof(name), "task/%d/stat", thread);
	const char *state = read_proc(pid, name, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return state != NULL && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

int mw_process_thread(int pid) {
	char path[64];
	int found = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = is_thread_alive(pid, pid) ? NULL : opendir(path);
	for (struct dirent *entry;
	     threads != NULL && found == pid && (entry = readdir(threads)) != NULL;) {
		int thread = (int)strtol(entry->d_name, NULL, 10);
		if (thread > 0 && is_thread_alive(pid, thread))
			found = thread;
	}
	if (threads != NULL)
		closedir(threads);
	return found;
}

uint64_t mw_process_namespace(int pid) {
	char path[64];
	struct stat info;
	if (pid == 0)
		snprintf(path, sizeof(path), "/proc/self/ns/pid");
	else
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", mw_process_thread(pid));
	return stat(path, &info) == 0 ? info.st_ino : 0;
}

bool mw_process_numbers_are_ours(void) {
	char link[32];
	ssize_t length = readlink("/proc/self", link, sizeof(link) - 1);
	if (length <= 0)
		return false;
	link[length] = '\0';
	return strtol(link, NULL, 10) == getpid();
}

bool mw_process_is_alive(int pid, uint64_t start_ticks) {
	mw_process_t process;
	return mw_process_read(pid, &process) && !process.zombie &&
	       process.start_ticks == start_ticks;
}

/* A process that ends has no executable any more before it is a zombie. */
bool mw_process_has_ended(int pid, uint64_t start_ticks) {
	mw_process_t process;
	char link[64], executable[8];
	if (!mw_process_read(pid, &process) || process.zombie || process.start_ticks != start_ticks)
		return true;
	snprintf(link, sizeof(link), "/proc/%d/exe", mw_process_thread(pid));
	return !process.is_kernel && readlink(link, executable, sizeof(executable)) < 0 &&
	       (errno == ENOENT || errno == ESRCH);
}

bool mw_process_executable(int pid, char *path, size_t size) {
	char link[64];
	snprintf(link, sizeof(link), "/proc/%d/exe", mw_process_thread(pid));
	ssize_t length = readlink(link, path, size - 1);
	path[length > 0 ? length : 0] = '\0';
	return length > 0;
}

const char *mw_process_end(int pid, uint64_t start_ticks) {
	return mw_process_has_ended(pid, start_ticks) ? "ended" : "started another program (exec)";
}

/* By what the kernel knows already: the process's root may be of a file system that does not
 * answer. */
static bool look_at(const char *path, struct statx *info) {
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, info) == 0;
}

static bool is_same(const struct statx *a, const struct statx *b) {
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor &&
	       a->stx_ino == b->stx_ino;
}

static bool has_library(int pid, mw_reading_t how) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", mw_process_thread(pid));
	FILE *maps = fopen(path, "re");
	if (!maps)
		return false;
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	while (!found && getline(&line, &capacity, maps) > 0)
		found = strstr(line, "/libmallow") != NULL ||
			strstr(line, "/mallow/compat/") != NULL ||
			strstr(line, " /dev/shm/mallow-") != NULL ||
			strstr(line, "/memfd:mallow-state") != NULL;
	free(line);
	fclose(maps);
	/* Its file may have any name. */
	return found || mw_mallow_files_read(pid, how);
}

bool mw_process_has_library(int pid) {
	return has_library(pid, MW_READ_APART);
}

/* A child that has not executed its program yet is a copy of this command. */
bool mw_process_child_has_library(int pid) {
	char path[64];
	struct statx theirs, ours;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (look_at(path, &theirs) && look_at("/proc/self/exe", &ours) && is_same(&theirs, &ours))
		return false;
	return has_library(pid, MW_READ_HERE);
}

bool mw_process_is_closed(int pid) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", mw_process_thread(pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && (errno == EACCES || errno == EPERM);
}

bool mw_process_is_secure(int pid) {
	char path[64];
	Elf64_auxv_t entry;
	bool is_secure = false;
	snprintf(path, sizeof(path), "/proc/%d/auxv", mw_process_thread(pid));
	FILE *file = fopen(path, "re");
	while (file != NULL && !is_secure && fread(&entry, sizeof(entry), 1, file) == 1)
		is_secure = entry.a_type == AT_SECURE && entry.a_un.a_val != 0;
	if (file != NULL)
		fclose(file);
	return is_secure;
}

static bool differs(int pid, const char *name, const char *own) {
	char path[64];
	struct statx theirs, ours;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return look_at(path, &theirs) && look_at(own, &ours) && !is_same(&theirs, &ours);
}

void mw_process_file(int pid, const char *path, char *found, size_t capacity) {
	pid = mw_process_thread(pid);
	bool elsewhere = differs(pid, "root", "/") || differs(pid, "ns/mnt", "/proc/self/ns/mnt");
	if (elsewhere && path[0] == '/') {
		snprintf(found, capacity, "/proc/%d/root%s", pid, path);
	} else if (elsewhere) {
		snprintf(found, capacity, "/proc/%d/cwd/%s", pid, path);
	} else {
		char link[64], directory[PATH_MAX];
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
		ssize_t length = path[0] == '/' ? -1 : readlink(link, directory, sizeof(directory));
		snprintf(found, capacity, "%.*s%s%s", length > 0 ? (int)length : 0, directory,
			 length > 0 ? "/" : "", path);
	}
}

uint64_t mw_process_start_realtime_ns(uint64_t start_ticks) {
	struct timespec now, since_boot;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start_ns = start_ticks / ticks_per_second * 1000000000u +
			    start_ticks % ticks_per_second * (1000000000u / ticks_per_second);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	uint64_t boot_ns = (uint64_t)since_boot.tv_sec * 1000000000u + (uint64_t)since_boot.tv_nsec;
	return now_ns - boot_ns + start_ns;
}
