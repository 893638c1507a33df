/* SPDX-License-Identifier: MIT
 * state_header.c -- waits for the header of a new file, reads it, and checks it. */
#include "formats/file/state_header.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"

/* How old a file may be that its process is still making. */
enum { NEW_SECONDS = 1 };

bool mw_state_file_is_magic(const void *bytes, size_t length) {
	return length >= 8 && memcmp(bytes, MW_STATE_MAGIC, 8) == 0;
}

int mw_state_file_read_exactly(int fd, const char *name, void *into, uint64_t offset, size_t length,
			       mw_error_t *error) {
	char *at = into;
	while (length > 0) {
		ssize_t got = pread(fd, at, length, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return mw_error_set(error, "%s: cannot read: %s", name, strerror(errno));
		if (got == 0)
			return mw_error_set(error,
					    "%s: ends at byte %" PRIu64
					    ", before its data; it was cut short",
					    name, offset);
		at += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

static void end_texts(mw_state_header_t *header) {
	header->library_version[sizeof(header->library_version) - 1] = '\0';
	header->session[sizeof(header->session) - 1] = '\0';
	header->unused_options[sizeof(header->unused_options) - 1] = '\0';
	header->program[sizeof(header->program) - 1] = '\0';
	header->exe[sizeof(header->exe) - 1] = '\0';
	header->args[sizeof(header->args) - 1] = '\0';
	header->args[sizeof(header->args) - 2] = '\0';
}

static bool is_blank(const void *magic, size_t length) {
	const char *bytes = magic;
	while (length > 0 && bytes[length - 1] == '\0')
		length--;
	return length == 0;
}

/* The first words of a header, the same in every layout. */
typedef struct first_words {
	char magic[sizeof(((mw_state_header_t *)NULL)->magic)];
	uint32_t layout_version;
} first_words_t;

static bool read_first_words(const char *path, first_words_t *out) {
	int fd = mw_open_file(path, O_RDONLY | O_NONBLOCK);
	bool is_read = fd >= 0 && pread(fd, out, sizeof(*out), 0) == (ssize_t)sizeof(*out);
	if (fd >= 0)
		close(fd);
	return is_read;
}

bool mw_state_file_is_blank(const char *path) {
	first_words_t words;
	return read_first_words(path, &words) && is_blank(words.magic, sizeof(words.magic));
}

bool mw_state_file_is_of_other_layout(const char *path) {
	first_words_t words;
	return read_first_words(path, &words) &&
	       mw_state_file_is_magic(words.magic, sizeof(words.magic)) &&
	       words.layout_version != MW_STATE_VERSION;
}

/* Returns whether the process may be about to write the header: the file has none, and was created
 * a moment ago. */
static bool is_new(int fd) {
	char magic[sizeof(((mw_state_header_t *)NULL)->magic)] = "";
	struct stat file;
	return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	       time(NULL) - file.st_ctime <= NEW_SECONDS &&
	       pread(fd, magic, sizeof(magic), 0) >= 0 && is_blank(magic, sizeof(magic));
}

/* Between the file's creation and its first word lie a few system calls of the process. */
static void await_header(int fd) {
	for (int i = 0; i < NEW_SECONDS * 1000 && is_new(fd); i++)
		usleep(1000);
}

int mw_state_header_read(int fd, const char *name, mw_state_header_t *header, mw_error_t *error) {
	struct stat file;
	await_header(fd);
	if (fstat(fd, &file) != 0)
		return mw_error_set(error, "%s: cannot read: %s", name, strerror(errno));
	if (!S_ISREG(file.st_mode))
		return mw_error_set(error, "%s: is not a regular file", name);
	if (file.st_size < (off_t)MW_STATE_PAGE_BYTES)
		return mw_error_set(error,
				    "%s: is not a state file of mallow: it has %lld bytes, and a "
				    "state file has at least 4096",
				    name, (long long)file.st_size);
	if (mw_state_file_read_exactly(fd, name, header, 0, sizeof(*header), error) != 0)
		return -1;
	if (is_blank(header->magic, sizeof(header->magic)))
		return mw_error_set(error,
				    "%s: is empty: its process has just created it, or ended right "
				    "after it created it",
				    name);
	if (!mw_state_file_is_magic(header->magic, sizeof(header->magic)))
		return mw_error_set(error, "%s: is not a state file of mallow", name);
	if (header->layout_version != MW_STATE_VERSION)
		return mw_error_set(
			error,
			"%s: has layout version %" PRIu32
			", this command reads version %u; use the command of the library that "
			"wrote it",
			name, header->layout_version, MW_STATE_VERSION);
	if (header->header_bytes != sizeof(*header) || header->section_count != MW_SECTION_COUNT)
		return mw_error_set(error,
				    "%s: has a header of %" PRIu32 " bytes and %" PRIu32
				    " sections, not %zu and %d; the file is damaged",
				    name, header->header_bytes, header->section_count,
				    sizeof(*header), MW_SECTION_COUNT);
	if (header->file_bytes > (uint64_t)file.st_size)
		return mw_error_set(
			error, "%s: has %lld bytes, its header says %" PRIu64 "; it was cut short",
			name, (long long)file.st_size, header->file_bytes);
	end_texts(header);
	return 0;
}
