/* SPDX-License-Identifier: MIT
 * script_text.h -- texts that an interpreter keeps as bytes.
 * Layer: prof/script/reader. Private to this folder and prof/script. */
#ifndef MW_PROF_SCRIPT_TEXT_H
#define MW_PROF_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prof/script/reader/script_memory.h"
#include "state/layout.h"

typedef struct mw_script_text {
	unsigned bytes;
	char text[MW_TEXT_BYTES_MAX]; /* UTF-8 */
} mw_script_text_t;

/* Bytes in the interpreter's memory, at any address. `bytes` 0: there is no text. */
typedef struct mw_script_bytes {
	uintptr_t address;
	size_t bytes;
} mw_script_bytes_t;

/* Returns the bytes before the NUL at or behind the address; none if a page there cannot be read.
 * A long text is cut to MW_TEXT_BYTES_MAX bytes. */
mw_script_bytes_t mw_script_until_nul(mw_script_memory_t *memory, uintptr_t address);
/* Returns `bytes` at the address, cut like the text above; none if a page cannot be read. */
mw_script_bytes_t mw_script_bytes_at(mw_script_memory_t *memory, uintptr_t address, size_t bytes);
/* Hashes readable bytes. 0 bytes have a hash, too. */
uint64_t mw_script_hash(mw_script_bytes_t bytes);

/* Appends a character in UTF-8; '?' instead of NUL and of what is no character. Returns false if it
 * does not fit. */
bool mw_script_put_character(mw_script_text_t *text, uint32_t character);
/* Appends readable bytes. Those that are no UTF-8 are taken as characters of Latin-1. */
void mw_script_put_bytes(mw_script_text_t *text, mw_script_bytes_t bytes);
void mw_script_put_literal(mw_script_text_t *text, const char *literal);

#endif
