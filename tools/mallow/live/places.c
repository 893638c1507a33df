/* SPDX-License-Identifier: MIT
 * places.c -- scans the state directories and the mappings of processes. */
#include "live/places.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "live/process.h"
#include "model/alloc.h"

static const char directory_prefix[] = "mallow-";
static const char memfd_path[] = "/memfd:mallow-state";

static mw_place_t *place_add(mw_places_t *places) {
	places->items = mw_grow(places->items, &places->capacity, places->count + 1,
				sizeof(*places->items));
	return &places->items[places->count++];
}

/* "<pid>.<start ticks>", all of `name`. */
static bool parse_file_name(const char *name, int *out_pid, uint64_t *out_start_ticks) {
	char *end;
	if (*name < '1' || *name > '9')
		return false;
	unsigned long pid = strtoul(name, &end, 10);
	if (*end != '.' || pid > INT_MAX || end[1] < '0' || end[1] > '9')
		return false;
	*out_pid = (int)pid;
	*out_start_ticks = strtoull(end + 1, &end, 10);
	return *end == '\0';
}

/* "mallow-<uid>", all of `name`. */
static bool parse_directory_name(const char *name, uid_t *out_uid) {
	size_t prefix = sizeof(directory_prefix) - 1;
	char *end;
	if (strncmp(name, directory_prefix, prefix) != 0 || name[prefix] < '0' ||
	    name[prefix] > '9')
		return false;
	unsigned long uid = strtoul(name + prefix, &end, 10);
	*out_uid = (uid_t)uid;
	return *end == '\0' && uid <= UINT_MAX;
}

/* May the file of this owner speak for that process?  A process that changed its user keeps the
 * file it made before; nobody else may put a file in its name. */
static bool may_speak_for(uid_t owner, const mw_process_t *process) {
	return owner == process->uid || owner == process->euid || owner == 0;
}

static bool is_known(const mw_places_t *places, const struct stat *info) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].device == info->st_dev &&
		    places->items[i].inode == info->st_ino)
			return true;
	return false;
}

static mw_place_t place_of(const char *path, int pid, uint64_t start_ticks,
			   const struct stat *info) {
	return (mw_place_t){
		.path = mw_xstrdup(path),
		.shown = mw_xstrdup(path),
		.pid = pid,
		.start_ticks = start_ticks,
		.owner = info->st_uid,
		.device = info->st_dev,
		.inode = info->st_ino,
	};
}

static void add_file(mw_places_t *places, int directory, const char *directory_path,
		     const char *name) {
	int pid;
	uint64_t start_ticks;
	struct stat info;
	/* Below the root of another process pids are that namespace's, and nothing is removed. */
	bool elsewhere = strncmp(directory_path, "/proc/", 6) == 0;
	if (!parse_file_name(name, &pid, &start_ticks) ||
	    fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
	    (elsewhere && is_known(places, &info)))
		return;
	mw_place_t *place = place_add(places);
	char path[PATH_MAX + NAME_MAX + 2];
	snprintf(path, sizeof(path), "%s/%s", directory_path, name);
	mw_process_t process;
	*place = place_of(path, pid, start_ticks, &info);
	place->modified_ns =
		(uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
	place->by_map = elsewhere;
	place->alive = !elsewhere && mw_process_read(pid, &process) && !process.zombie &&
		       process.start_ticks == start_ticks && may_speak_for(info.st_uid, &process);
}

/* A directory of one user.  Refused when it is a symlink or not that user's: in /dev/shm everybody
 * may create the name of somebody else's. */
static void add_user_directory(mw_places_t *places, const char *parent, const char *name) {
	uid_t uid;
	if (!parse_directory_name(name, &uid) || (geteuid() != 0 && uid != geteuid()))
		return;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", parent, name);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	struct stat info;
	DIR *entries = NULL;
	if (fstat(fd, &info) == 0 && info.st_uid == uid)
		entries = fdopendir(fd);
	if (!entries) {
		close(fd);
		return;
	}
	const struct dirent *entry;
	while ((entry = readdir(entries)))
		add_file(places, fd, path, entry->d_name);
	closedir(entries);
}

static void add_parent(mw_places_t *places, const char *parent) {
	DIR *entries = opendir(parent);
	if (!entries)
		return;
	const struct dirent *entry;
	while ((entry = readdir(entries)))
		add_user_directory(places, parent, entry->d_name);
	closedir(entries);
}

/* Is `path` one of root's view of all users' runtime directories? */
static bool is_run_user(const char *path) {
	return strncmp(path, "/run/user/", 10) == 0;
}

void mw_places_add_directories(mw_places_t *places) {
	add_parent(places, "/dev/shm");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool root = geteuid() == 0;
	if (runtime && *runtime == '/' && strcmp(runtime, "/dev/shm") != 0 &&
	    !(root && is_run_user(runtime)))
		add_parent(places, runtime);
	DIR *users = root ? opendir("/run/user") : NULL;
	if (!users)
		return;
	const struct dirent *entry;
	while ((entry = readdir(users))) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "/run/user/%s", entry->d_name);
		if (entry->d_name[0] != '.')
			add_parent(places, path);
	}
	closedir(users);
}

/* A line of /proc/<pid>/maps that may be a state file's. */
typedef struct map_line {
	unsigned long start;
	unsigned long limit;
	dev_t device;
	ino_t inode;
	char path[PATH_MAX];
} map_line_t;

/* Shared, from offset 0, and named as the library names its files: for the process itself, since a
 * forked child may still map its parent's. */
static bool parse_map_line(const char *line, int inner_pid, map_line_t *out) {
	char permissions[8];
	unsigned long offset;
	unsigned major_number, minor_number;
	unsigned long inode;
	int path_at = 0;
	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &out->start, &out->limit, permissions,
		   &offset, &major_number, &minor_number, &inode, &path_at) < 7 ||
	    path_at == 0)
		return false;
	if (permissions[3] != 's' || offset != 0)
		return false;
	snprintf(out->path, sizeof(out->path), "%s", line + path_at);
	out->path[strcspn(out->path, "\n")] = '\0';
	out->device = makedev(major_number, minor_number);
	out->inode = inode;
	if (strncmp(out->path, memfd_path, sizeof(memfd_path) - 1) == 0)
		return true;
	char *deleted = strstr(out->path, " (deleted)");
	if (deleted)
		*deleted = '\0';
	const char *name = strrchr(out->path, '/');
	int pid;
	uint64_t start_ticks;
	return name && parse_file_name(name + 1, &pid, &start_ticks) && pid == inner_pid &&
	       strstr(out->path, "/mallow-");
}

static bool leads_to(const char *path, const map_line_t *line) {
	struct stat info;
	return stat(path, &info) == 0 && info.st_ino == line->inode;
}

/* The name of the file from here.  Of a process with a root of its own the kernel tells the path
 * with that root before it, which may be mounted for that process alone. */
static void find_name(int pid, const map_line_t *line, char *name, size_t capacity) {
	char link[64], root[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	ssize_t length = readlink(link, root, sizeof(root));
	bool below = length > 1 && strncmp(line->path, root, (size_t)length) == 0 &&
		     line->path[length] == '/';
	mw_process_file(pid, line->path + (below ? length : 0), name, capacity);
	if (!leads_to(name, line))
		snprintf(name, capacity, "%s", line->path);
}

/* The path through which the mapping can be opened from here.  map_files leads to the very file,
 * whatever its name is, but only root may follow it. */
static bool openable_path(int pid, const map_line_t *line, const char *name, char *path,
			  size_t capacity) {
	snprintf(path, capacity, "/proc/%d/map_files/%lx-%lx", pid, line->start, line->limit);
	struct stat info;
	if (stat(path, &info) == 0)
		return true;
	snprintf(path, capacity, "%s", name);
	return leads_to(path, line);
}

static void add_mapping(mw_places_t *places, const mw_process_t *process, const map_line_t *line) {
	for (size_t i = 0; i < places->count; i++) {
		mw_place_t *known = &places->items[i];
		if (known->device == line->device && known->inode == line->inode) {
			/* A directory shared with another pid namespace: the name's pid is that
			 * namespace's. */
			known->pid = process->pid;
			known->start_ticks = process->start_ticks;
			known->alive = true;
			return;
		}
	}
	char path[PATH_MAX + 32], name[PATH_MAX + 32];
	find_name(process->pid, line, name, sizeof(name));
	bool openable = openable_path(process->pid, line, name, path, sizeof(path));
	mw_place_t *place = place_add(places);
	*place = (mw_place_t){
		.path = mw_xstrdup(openable ? path : line->path),
		.shown = mw_xstrdup(name),
		.pid = process->pid,
		.start_ticks = process->start_ticks,
		.owner = process->uid,
		.device = line->device,
		.inode = line->inode,
		.alive = true,
		.by_map = true,
	};
}

void mw_places_add_process(mw_places_t *places, int pid) {
	mw_process_t process;
	if (!mw_process_read(pid, &process) || process.zombie)
		return;
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	FILE *maps = fopen(name, "re");
	if (!maps)
		return;
	char *line = NULL;
	size_t capacity = 0;
	map_line_t found;
	while (getline(&line, &capacity, maps) > 0) {
		/* Most lines end here: cheaper than a parse of each. */
		if (strstr(line, "mallow-") && parse_map_line(line, process.inner_pid, &found)) {
			add_mapping(places, &process, &found);
			break;
		}
	}
	free(line);
	fclose(maps);
}

static bool has_process(const mw_places_t *places, int pid) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].alive && places->items[i].pid == pid)
			return true;
	return false;
}

/* The namespaces met so far, by their numbers. */
typedef struct namespaces {
	ino_t *items;
	size_t count, capacity;
} namespaces_t;

static bool is_new_namespace(namespaces_t *seen, ino_t number) {
	for (size_t i = 0; i < seen->count; i++)
		if (seen->items[i] == number)
			return false;
	seen->items = mw_grow(seen->items, &seen->capacity, seen->count + 1, sizeof(*seen->items));
	seen->items[seen->count++] = number;
	return true;
}

/* Containers: what ended in there is seen through the root of any process that has not. */
static void add_container(mw_places_t *places, int pid, namespaces_t *seen) {
	char path[64];
	struct stat info;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &info) != 0 || !is_new_namespace(seen, info.st_ino))
		return;
	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", pid);
	add_parent(places, path);
}

static void visit_processes(void (*visit)(mw_places_t *places, int pid, namespaces_t *seen),
			    mw_places_t *places, namespaces_t *seen) {
	DIR *entries = opendir("/proc");
	if (!entries)
		return;
	const struct dirent *entry;
	while ((entry = readdir(entries))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0 && pid <= INT_MAX)
			visit(places, (int)pid, seen);
	}
	closedir(entries);
}

static void add_if_missing(mw_places_t *places, int pid, namespaces_t *seen) {
	(void)seen;
	if (!has_process(places, pid))
		mw_places_add_process(places, pid);
}

void mw_places_add_mapped(mw_places_t *places) {
	namespaces_t seen = {0};
	struct stat own;
	if (stat("/proc/self/ns/mnt", &own) == 0)
		is_new_namespace(&seen, own.st_ino);
	/* Containers first: the mappings then say which of their processes live. */
	visit_processes(add_container, places, &seen);
	visit_processes(add_if_missing, places, &seen);
	free(seen.items);
}

void mw_places_add_all(mw_places_t *places) {
	mw_places_add_directories(places);
	/* After those: a file of a directory shared with containers is marked when what lives under
	 * another number there has it mapped. */
	mw_places_add_mapped(places);
}

void mw_places_add_held(mw_places_t *places, int fd, int pid, uint64_t start_ticks) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].pid == pid && places->items[i].start_ticks == start_ticks)
			return;
	struct stat info;
	char path[32];
	if (fstat(fd, &info) != 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mw_place_t *place = place_add(places);
	*place = place_of(path, pid, start_ticks, &info);
	place->by_map = true;
}

void mw_places_release(mw_places_t *places) {
	for (size_t i = 0; i < places->count; i++) {
		free(places->items[i].path);
		free(places->items[i].shown);
	}
	free(places->items);
	*places = (mw_places_t){0};
}

void mw_place_remove(const mw_place_t *place) {
	if (place->by_map)
		return;
	unlink(place->path);
}
