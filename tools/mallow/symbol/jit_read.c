/* SPDX-License-Identifier: MIT
 * jit_read.c -- lines of a map, records of a jitdump (Linux, tools/perf/Documentation,
 * jitdump-specification.txt). */
#include "symbol/jit_read.h"

#include <stdlib.h>
#include <string.h>

#include "model/text.h"

/* "JiTD", as a machine of the same byte order writes it. */
#define DUMP_MAGIC 0x4a695444u
#define DUMP_VERSION 1u
/* The record that describes code; other records are passed over. */
#define DUMP_CODE_LOAD 0u

typedef struct dump_header {
	uint32_t magic, version, header_bytes, machine, reserved, pid;
	uint64_t time_ns, flags;
} dump_header_t;

typedef struct dump_record {
	uint32_t kind, bytes; /* bytes: of the whole record */
	uint64_t time_ns;
} dump_record_t;

/* A name and the code itself follow. */
typedef struct dump_code {
	uint32_t pid, thread;
	uint64_t virtual_address, start, bytes, number;
} dump_code_t;

_Static_assert(sizeof(dump_header_t) == 40 && sizeof(dump_record_t) == 16 &&
		       sizeof(dump_code_t) == 40,
	       "file format");

bool mw_jit_reader_open(mw_jit_reader_t *reader, FILE *file) {
	dump_header_t header = {0};
	*reader = (mw_jit_reader_t){.file = file};
	bool has_header = fread(&header, sizeof(header), 1, file) == 1;
	reader->is_dump = has_header && (header.magic == DUMP_MAGIC ||
					 header.magic == __builtin_bswap32(DUMP_MAGIC));
	if (!reader->is_dump)
		return fseeko(file, 0, SEEK_SET) == 0;
	reader->pid = header.pid;
	return header.magic == DUMP_MAGIC && header.version == DUMP_VERSION &&
	       header.header_bytes >= sizeof(header) &&
	       fseeko(file, (off_t)header.header_bytes, SEEK_SET) == 0;
}

/* Reads a line without its end, cut to MW_JIT_NAME_BYTES. False: the file ends. */
static bool read_line(FILE *map, char line[MW_JIT_NAME_BYTES]) {
	size_t length = 0;
	int c = getc_unlocked(map);
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(map))
		if (length < MW_JIT_NAME_BYTES - 1)
			line[length++] = (char)c;
	line[length] = '\0';
	return true;
}

/* Reads "3ef414c0 398 RegExp:abc".  False: the line has another form. */
static bool parse_line(char *line, mw_jit_code_t *out, char **name) {
	char *end;
	out->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	char *size = end + 1;
	out->bytes = strtoull(size, &end, 16);
	if (end == size || *end != ' ')
		return false;
	*name = end + 1;
	return **name != '\0';
}

/* Reads the head of a record of code at the file's position. */
static bool read_code(FILE *dump, const dump_record_t *record, mw_jit_code_t *out) {
	dump_code_t code;
	if (record->kind != DUMP_CODE_LOAD || record->bytes < sizeof(*record) + sizeof(code) ||
	    fread(&code, sizeof(code), 1, dump) != 1)
		return false;
	out->start = code.start;
	out->bytes = code.bytes;
	return true;
}

/* Reads on to the next record, whatever its kind. *is_code: it is one of code. */
static bool read_record(FILE *dump, mw_jit_code_t *out, bool *is_code) {
	dump_record_t record;
	out->at = ftello(dump);
	if (out->at < 0 || fread(&record, sizeof(record), 1, dump) != 1 ||
	    record.bytes < sizeof(record))
		return false;
	*is_code = read_code(dump, &record, out);
	return fseeko(dump, out->at + (off_t)record.bytes, SEEK_SET) == 0;
}

bool mw_jit_read(mw_jit_reader_t *reader, mw_jit_code_t *out) {
	char line[MW_JIT_NAME_BYTES], *name;
	for (bool is_code = false;;) {
		if (reader->is_dump) {
			if (!read_record(reader->file, out, &is_code))
				return false;
		} else {
			out->at = ftello(reader->file);
			if (out->at < 0 || !read_line(reader->file, line))
				return false;
			is_code = parse_line(line, out, &name);
		}
		if (is_code && out->bytes <= UINT64_MAX - out->start)
			return true;
	}
}

/* Reads the name behind the head of a record. */
static bool read_dump_name(FILE *dump, off_t at, char name[MW_JIT_NAME_BYTES]) {
	dump_record_t record;
	mw_jit_code_t code;
	if (fseeko(dump, at, SEEK_SET) != 0 || fread(&record, sizeof(record), 1, dump) != 1 ||
	    !read_code(dump, &record, &code))
		return false;
	size_t room = record.bytes - sizeof(record) - sizeof(dump_code_t);
	if (room > MW_JIT_NAME_BYTES - 1)
		room = MW_JIT_NAME_BYTES - 1;
	name[fread(name, 1, room, dump)] = '\0';
	return true;
}

bool mw_jit_read_name(mw_jit_reader_t *reader, off_t at, char name[MW_JIT_NAME_BYTES]) {
	char line[MW_JIT_NAME_BYTES], *found = NULL;
	mw_jit_code_t code;
	bool has;
	if (reader->is_dump) {
		has = read_dump_name(reader->file, at, name);
	} else {
		has = fseeko(reader->file, at, SEEK_SET) == 0 && read_line(reader->file, line) &&
		      parse_line(line, &code, &found);
		if (has)
			strcpy(name, found);
	}
	if (has)
		mw_text_clean(name, "");
	return has && name[0] != '\0';
}
