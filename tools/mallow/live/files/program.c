/* SPDX-License-Identifier: MIT
 * program.c -- examines an executable as the kernel and the loader do. */
#include "live/files/program.h"

#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "live/files/apart.h"
#include "live/files/own_allocator.h"
#include "live/files/regular_file.h"

/* Most nested script interpreters that the kernel follows. */
#define SCRIPT_DEPTH_MAX 4
/* Most program headers that are read.  No linker writes more. */
#define PROGRAM_HEADERS_MAX 256
/* How long the files may be read. */
#define READING_MS 5000

static bool is_executable(const char *path) {
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool mw_program_find(const char *name, char *path, size_t size) {
	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return is_executable(path);
	}
	const char *search = getenv("PATH");
	for (search = search ? search : "/bin:/usr/bin";; search++) {
		size_t length = strcspn(search, ":");
		snprintf(path, size, "%.*s%s%s", (int)length, search, length ? "/" : "", name);
		if (is_executable(path))
			return true;
		search += length;
		if (*search == '\0')
			return false;
	}
}

/* Reads the name of the program's loader; "" = none.  False: the file is no readable ELF file of
 * this machine. */
static bool read_loader_name(int fd, const Elf64_Ehdr *header, char *name, size_t size) {
	name[0] = '\0';
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > PROGRAM_HEADERS_MAX)
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		off_t at = (off_t)(header->e_phoff + i * sizeof(segment));
		if (at < 0 || pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		size_t wanted = segment.p_filesz < size - 1 ? segment.p_filesz : size - 1;
		ssize_t got = pread(fd, name, wanted, (off_t)segment.p_offset);
		name[got > 0 ? got : 0] = '\0';
		return true;
	}
	return true;
}

#define LINK_IT "link it with libmallow.a (-lmallow) instead"

static const char *look_at_elf(int fd, const Elf64_Ehdr *header) {
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program, of which there is no mallow; build it for 64 bits";
	char loader[256];
	if (!read_loader_name(fd, header, loader, sizeof(loader)))
		return NULL;
	if (loader[0] == '\0')
		return "it is statically linked, and the loader preloads nothing into static "
		       "programs; " LINK_IT;
	if (strstr(loader, "ld-musl"))
		return "it uses musl, and this libmallow.so was built for glibc; mallow can be "
		       "built for musl, too";
	return NULL;
}

/* Reads the interpreter from a "#!" line. */
static bool script_interpreter(char *head, char *path, size_t size) {
	if (head[0] != '#' || head[1] != '!')
		return false;
	char *name = head + 2 + strspn(head + 2, " \t");
	name[strcspn(name, " \t\r\n")] = '\0';
	snprintf(path, size, "%s", name);
	return *name == '/';
}

static const char *look_at_file(int fd, const char *path, char *interpreter, size_t size) {
	struct stat info;
	interpreter[0] = '\0';
	if (fstat(fd, &info) != 0)
		return NULL;
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head = {.text = ""};
	if (pread(fd, head.text, sizeof(head.text) - 1, 0) < (ssize_t)sizeof(head.elf))
		return NULL;
	/* The kernel ignores the set-user-ID bits of a script. */
	if (script_interpreter(head.text, interpreter, size))
		return NULL;
	/* It needs no preload. */
	if (mw_file_has_mallow(path, NULL))
		return NULL;
	bool other_user = info.st_mode & S_ISUID && info.st_uid != geteuid();
	bool other_group = info.st_mode & S_ISGID && info.st_gid != getegid();
	if (other_user || other_group)
		return "it is set-uid or set-gid, so the loader ignores LD_PRELOAD; " LINK_IT;
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "it has file capabilities, so the loader ignores LD_PRELOAD; " LINK_IT;
	if (memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	return look_at_elf(fd, &head.elf);
}

static const char *find_reason(const char *path) {
	char current[PATH_MAX], interpreter[256];
	snprintf(current, sizeof(current), "%s", path);
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		int fd = mw_open_regular_file(current);
		if (fd < 0)
			return NULL;
		const char *why = look_at_file(fd, current, interpreter, sizeof(interpreter));
		close(fd);
		if (why || interpreter[0] == '\0')
			return why;
		snprintf(current, sizeof(current), "%s", interpreter);
	}
	return NULL;
}

typedef struct reading {
	const char *path;
	const char **reason; /* in memory that both processes share */
} reading_t;

static mw_apart_outcome_t find_apart(const void *context, mw_error_t *error) {
	const reading_t *reading = context;
	(void)error;
	*reading->reason = find_reason(reading->path);
	return MW_APART_DONE;
}

const char *mw_program_refuses_preload(const char *path) {
	const char *reason = NULL;
	void *shared = mmap(NULL, sizeof(reason), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	const reading_t reading = {.path = path, .reason = shared};
	/* The texts have the same addresses in both processes. */
	if (mw_apart_do(find_apart, &reading, READING_MS, NULL) == MW_APART_DONE)
		reason = *reading.reason;
	munmap(shared, sizeof(reason));
	return reason;
}
