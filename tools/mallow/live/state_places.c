/* SPDX-License-Identifier: MIT
 * state_places.c -- scans state directories and the mappings of processes. */
#include "live/state_places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/file/state_header.h"
#include "live/process/maps.h"
#include "live/process/process.h"
#include "model/memory.h"

static const char directory_prefix[] = "mallow-";
static const char memfd_path[] = "/memfd:mallow-state";

static mw_place_t *place_add(mw_places_t *places) {
	places->items = mw_grow(places->items, &places->capacity, places->count + 1,
				sizeof(*places->items));
	return &places->items[places->count++];
}

/* Parts of a state file's name. */
typedef struct file_name {
	int pid;
	uint64_t start_ticks, pid_namespace;
} file_name_t;

/* Parses ".<number>" at *cursor and moves the cursor after it. */
static bool parse_number(const char **cursor, uint64_t *out) {
	char *end;
	if (**cursor != '.' || (*cursor)[1] < '0' || (*cursor)[1] > '9')
		return false;
	*out = strtoull(*cursor + 1, &end, 10);
	*cursor = end;
	return true;
}

/* Parses a name "<pid>.<start ticks>.<pid namespace>". */
static bool parse_file_name(const char *name, file_name_t *out) {
	char *end;
	if (*name < '1' || *name > '9')
		return false;
	unsigned long pid = strtoul(name, &end, 10);
	const char *cursor = end;
	if (pid > INT_MAX)
		return false;
	out->pid = (int)pid;
	return parse_number(&cursor, &out->start_ticks) &&
	       parse_number(&cursor, &out->pid_namespace) && *cursor == '\0';
}

/* Parses a name "mallow-<uid>". */
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

static bool is_known(const mw_places_t *places, const struct stat *info) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].device == info->st_dev &&
		    places->items[i].inode == info->st_ino)
			return true;
	return false;
}

static mw_place_t place_of(const char *path, const file_name_t *name, const struct stat *info) {
	return (mw_place_t){
		.path = mw_xstrdup(path),
		.shown = mw_xstrdup(path),
		.pid = name->pid,
		.start_ticks = name->start_ticks,
		.pid_namespace = name->pid_namespace,
		.owner = info->st_uid,
		.device = info->st_dev,
		.inode = info->st_ino,
	};
}

static bool is_of_this_namespace(const mw_place_t *place) {
	return place->pid_namespace != 0 && place->pid_namespace == mw_process_namespace(0) &&
	       mw_process_numbers_are_ours();
}

/* Finds the process that holds the file: the process of the file's name, if that is in this pid
 * namespace and maps the file; otherwise only a search of mappings finds it. Neither the name nor
 * the owner nor the lock says whose file it is: a user may give a file any name, and has the same
 * real user id as each set-uid program that he starts. */
static void find_holder(mw_place_t *place) {
	mw_process_t process;
	bool is_ours = is_of_this_namespace(place);
	bool exists = is_ours && mw_process_read(place->pid, &process);
	bool is_named = exists && process.start_ticks == place->start_ticks;
	place->is_elsewhere =
		!is_named || !mw_process_maps_file(place->pid, place->device, place->inode);
	/* A process that ends keeps the file a moment longer than its memory, and a reader of the
	 * file's memory keeps it a moment longer than the process. */
	if (is_ours && (!exists || (is_named && place->is_elsewhere &&
				    mw_process_has_ended(place->pid, place->start_ticks))))
		place->alive = false;
}

static bool is_wanted(const mw_places_t *places, const file_name_t *name) {
	const int *wanted = places->wanted;
	return wanted[0] == 0 || name->pid == wanted[0] || name->pid == wanted[1];
}

static void add_file(mw_places_t *places, int directory, const char *directory_path,
		     const char *name) {
	file_name_t parsed;
	struct stat info;
	/* Files below the root of another process are never removed. */
	bool elsewhere = strncmp(directory_path, "/proc/", 6) == 0;
	int fd = parse_file_name(name, &parsed) && is_wanted(places, &parsed)
			 ? openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
	    !(elsewhere && is_known(places, &info))) {
		mw_place_t *place = place_add(places);
		char path[PATH_MAX + NAME_MAX + 2];
		snprintf(path, sizeof(path), "%s/%s", directory_path, name);
		*place = place_of(path, &parsed, &info);
		place->modified_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000u +
				     (uint64_t)info.st_mtim.tv_nsec;
		place->by_map = elsewhere;
		place->alive = mw_state_file_is_held(fd);
		if (place->alive)
			find_holder(place);
	}
	close(fd);
}

/* Adds the files in one user's directory.  Directories that are links or belong to another user
 * are refused, because in /dev/shm any user may create a directory with any name. */
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

/* True if `path` is the directory of all users' runtime directories, as root sees it. */
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

/* Returns whether this may be the first mapping of the state file of this process, and takes
 * " (deleted)" off its name. A forked child may still map its parent's file: the name tells. */
static bool is_state_map(mw_map_t *map, const mw_process_t *process) {
	if (!map->is_shared || !map->is_writable || map->offset != 0)
		return false;
	if (strncmp(map->name, memfd_path, sizeof(memfd_path) - 1) == 0)
		return true;
	char *deleted = strstr(map->name, " (deleted)");
	if (deleted)
		*deleted = '\0';
	const char *name = strrchr(map->name, '/');
	file_name_t parsed;
	if (!name || !parse_file_name(name + 1, &parsed) || !strstr(map->name, "/mallow-"))
		return false;
	/* The namespace of another user's process is not known. A process that does not see /proc
	 * does not know its own. */
	uint64_t pid_namespace = mw_process_namespace(process->pid);
	return parsed.pid == process->inner_pid &&
	       (pid_namespace == 0 || parsed.pid_namespace == 0 ||
		pid_namespace == parsed.pid_namespace);
}

static bool leads_to(const char *path, const mw_map_t *map, struct stat *info) {
	return stat(path, info) == 0 && info->st_ino == map->inode;
}

/* Writes the file's name as this command sees it.  For a process with another root, the kernel
 * shows the path with that root in front, which may be mounted for that process only. */
static void find_name(int pid, const mw_map_t *map, char *name, size_t capacity) {
	char link[64], root[PATH_MAX];
	struct stat info;
	snprintf(link, sizeof(link), "/proc/%d/root", pid);
	ssize_t length = readlink(link, root, sizeof(root));
	bool below = length > 1 && strncmp(map->name, root, (size_t)length) == 0 &&
		     map->name[length] == '/';
	mw_process_file(pid, map->name + (below ? length : 0), name, capacity);
	if (!leads_to(name, map, &info))
		snprintf(name, capacity, "%s", map->name);
}

/* Writes the path that opens the mapping's file, and describes the file. map_files leads to the
 * file itself, whatever its name, but only root may use it. */
static bool openable_path(int pid, const mw_map_t *map, const char *name, char *path,
			  size_t capacity, struct stat *info) {
	snprintf(path, capacity, "/proc/%d/map_files/%lx-%lx", pid, map->start, map->limit);
	if (stat(path, info) == 0)
		return true;
	snprintf(path, capacity, "%s", name);
	return leads_to(path, map, info);
}

static void add_mapping(mw_places_t *places, const mw_process_t *process, const mw_map_t *map) {
	for (size_t i = 0; i < places->count; i++) {
		mw_place_t *known = &places->items[i];
		if (known->device == map->device && known->inode == map->inode) {
			/* The directory is shared with another pid namespace, whose pid the name
			 * contains. */
			known->pid = process->pid;
			known->start_ticks = process->start_ticks;
			known->alive = true;
			known->is_elsewhere = false;
			return;
		}
	}
	char path[PATH_MAX + 32], name[PATH_MAX + 32];
	int thread = mw_process_thread(process->pid);
	struct stat info;
	find_name(thread, map, name, sizeof(name));
	bool openable = openable_path(thread, map, name, path, sizeof(path), &info);
	mw_place_t *place = place_add(places);
	*place = (mw_place_t){
		.path = mw_xstrdup(openable ? path : map->name),
		.shown = mw_xstrdup(name),
		.pid = process->pid,
		.start_ticks = process->start_ticks,
		.owner = process->uid,
		.device = openable ? info.st_dev : map->device,
		.inode = map->inode,
		.alive = true,
		.by_map = true,
	};
}

void mw_places_add_process(mw_places_t *places, int pid) {
	mw_process_t process;
	if (!mw_process_read(pid, &process) || process.zombie)
		return;
	mw_maps_t maps;
	mw_map_t map;
	if (!mw_maps_open(&maps, pid))
		return;
	while (mw_maps_next(&maps, "mallow-", &map))
		if (is_state_map(&map, &process)) {
			add_mapping(places, &process, &map);
			break;
		}
	mw_maps_close(&maps);
}

static bool has_process(const mw_places_t *places, int pid) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].alive && !places->items[i].is_elsewhere &&
		    places->items[i].pid == pid)
			return true;
	return false;
}

/* Pid namespaces that were visited already. */
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

/* Adds files of processes that ended inside a container.  The root of any process that still
 * runs in the container leads to them. */
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
	/* /proc has the pids of another namespace. */
	if (!mw_process_numbers_are_ours())
		return;
	struct stat own;
	if (stat("/proc/self/ns/mnt", &own) == 0)
		is_new_namespace(&seen, own.st_ino);
	/* Containers come first: the mappings then show which of their processes run. */
	visit_processes(add_container, places, &seen);
	visit_processes(add_if_missing, places, &seen);
	free(seen.items);
}

void mw_places_add_all(mw_places_t *places) {
	mw_places_add_directories(places);
	/* Mappings come last: they mark a file in a directory shared with containers if a
	 * process with another pid there has it mapped. */
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
	file_name_t name = {.pid = pid, .start_ticks = start_ticks};
	*place = place_of(path, &name, &info);
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

bool mw_place_is_begun(const mw_place_t *place) {
	struct stat info;
	bool is_blank = stat(place->path, &info) == 0 &&
			(info.st_size == 0 || mw_state_file_is_blank(place->path));
	return is_blank && is_of_this_namespace(place) &&
	       mw_process_is_alive(place->pid, place->start_ticks);
}

/* Returns whether a process has the file by now. A reader of the memory of one that has ended keeps
 * the lock for a moment. */
static bool is_in_use(const mw_place_t *place) {
	bool has_ended =
		is_of_this_namespace(place) && !mw_process_is_alive(place->pid, place->start_ticks);
	return !has_ended && (mw_state_file_is_held_at(place->path) || mw_place_is_begun(place));
}

int mw_place_remove(const mw_place_t *place) {
	if (place->by_map)
		return 0;
	if (is_in_use(place)) {
		errno = EBUSY;
		return -1;
	}
	return mw_remove_file(place->path, place->device, place->inode);
}
