/* SPDX-License-Identifier: MIT
 * unwind_file.c -- a search in .eh_frame_hdr by pread(2), and a CIE and its FDE side by side. */
#include "prof/unwind_file.h"

#include <string.h>

#include "base/compiler.h"
#include "os/file.h"
#include "prof/unwind_cfi.h"

/* Entries of the table that are read at once, the last of a search. */
#define BLOCK_ENTRIES 64u
/* A CIE and an FDE: larger ones are of very large functions. */
#define RECORDS_BYTES 512u

_Atomic uint32_t mw_cfi_file_rules;

typedef struct source {
	const mw_os_object_t *object;
	int file;
} source_t;

/* An entry of .eh_frame_hdr's table: function and FDE, relative to the header. */
typedef struct entry {
	int32_t function, fde;
} entry_t;

/* What is mapped at `address`. */
static bool fetch(const source_t *source, uintptr_t address, void *buffer, size_t bytes) {
	const mw_os_object_t *object = source->object;
	if (address < object->data_lo || address > object->data_hi ||
	    bytes > object->data_hi - address)
		return false;
	return mw_os_read_at(source->file, buffer, bytes,
			     object->data_offset + (address - object->data_lo)) == (long)bytes;
}

static uintptr_t from_header(const source_t *source, int32_t offset) {
	return source->object->eh_frame_hdr + (uintptr_t)(intptr_t)offset;
}

/* The last entry whose function is at or below pc. */
static bool find_entry(const source_t *source, uintptr_t pc, entry_t *found) {
	uintptr_t table = source->object->eh_frame_hdr + MW_CFI_TABLE_OFFSET;
	uint8_t header[MW_CFI_TABLE_OFFSET];
	entry_t block[BLOCK_ENTRIES];
	if (!fetch(source, source->object->eh_frame_hdr, header, sizeof header))
		return false;
	uint32_t first = 0, left = mw_cfi_table_entries(header);
	while (left > BLOCK_ENTRIES) {
		uint32_t half = left / 2;
		if (!fetch(source, table + (uintptr_t)(first + half) * sizeof *block, block,
			   sizeof *block))
			return false;
		if (from_header(source, block->function) <= pc)
			first += half;
		left -= half;
	}
	if (left == 0 ||
	    !fetch(source, table + (uintptr_t)first * sizeof *block, block, left * sizeof *block))
		return false;
	uint32_t i = 0;
	while (i + 1 < left && from_header(source, block[i + 1].function) <= pc)
		i++;
	*found = block[i];
	return from_header(source, found->function) <= pc;
}

/* A record's bytes, its length field included; 0: not within `most`. */
static uint32_t fetch_record(const source_t *source, uintptr_t at, uint8_t *bytes, size_t most) {
	uint32_t length;
	if (!fetch(source, at, &length, sizeof length) || most < sizeof length ||
	    length > most - sizeof length)
		return 0;
	length += (uint32_t)sizeof length;
	return fetch(source, at, bytes, length) ? length : 0;
}

/* The FDE as it is mapped, but for its instructions, which are in `bytes`. */
static bool fetch_fde(const source_t *source, uintptr_t fde_at, uint8_t bytes[RECORDS_BYTES],
		      mw_cfi_fde_t *fde) {
	/* After the length of a record stands, in an FDE, the distance from there to its CIE. */
	uint32_t words[2], to_id = sizeof *words;
	if (!fetch(source, fde_at, words, sizeof words))
		return false;
	uint32_t cie_bytes = fetch_record(source, fde_at + to_id - words[1], bytes, RECORDS_BYTES);
	uint8_t *copy = bytes + cie_bytes;
	uint32_t fde_bytes =
		cie_bytes ? fetch_record(source, fde_at, copy, RECORDS_BYTES - cie_bytes) : 0;
	if (fde_bytes < sizeof words)
		return false;
	uint32_t to_cie = cie_bytes + to_id;
	memcpy(copy + to_id, &to_cie, sizeof to_cie);
	const mw_cfi_area_t area = {bytes, copy + fde_bytes};
	if (!mw_cfi_parse(&area, copy, fde))
		return false;
	/* The address is relative to where it stands. */
	uintptr_t moved = fde_at - (uintptr_t)copy;
	fde->pc_lo += moved;
	fde->pc_hi += moved;
	return true;
}

static bool read_rule(const source_t *source, uintptr_t pc, mw_rule_t *rule) {
	uint8_t bytes[RECORDS_BYTES];
	entry_t entry;
	mw_cfi_fde_t fde;
	if (!find_entry(source, pc, &entry) ||
	    !fetch_fde(source, from_header(source, entry.fde), bytes, &fde))
		return false;
	/* Of an address that is not relative the table says something else.  Behind the last byte
	 * of a function it matters what follows. */
	if (fde.pc_lo != from_header(source, entry.function) || pc + 1 >= fde.pc_hi)
		return false;
	*rule = mw_cfi_rule(&fde, pc);
	return true;
}

bool mw_cfi_file_rule(const mw_os_object_t *object, uintptr_t pc, mw_rule_t *rule) {
	atomic_fetch_add_explicit(&mw_cfi_file_rules, 1, memory_order_relaxed);
	if (object->path[0] != '/')
		return false;
	source_t source = {object, mw_os_open(MW_OS_NO_DIRECTORY, object->path, MW_OS_READ)};
	if (source.file < 0)
		return false;
	bool done = mw_os_object_is_file(object, source.file) && read_rule(&source, pc, rule);
	mw_os_close(source.file);
	return done;
}
