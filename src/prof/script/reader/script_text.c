/* SPDX-License-Identifier: MIT
 * script_text.c -- checked reads of texts, their hash, and their form in the state file. */
#include "prof/script/reader/script_text.h"

#include <string.h>

#include "prof/script/reader/script_reader.h"

#define PAGE_MASK ((uintptr_t)(MW_SCRIPT_PAGE_BYTES - 1))

/* ---- reading ---- */

mw_script_bytes_t mw_script_until_nul(mw_script_memory_t *memory, uintptr_t address) {
	mw_script_bytes_t found = {.address = address};
	while (found.bytes < MW_TEXT_BYTES_MAX) {
		uintptr_t at = address + found.bytes;
		if ((found.bytes == 0 || (at & PAGE_MASK) == 0) &&
		    !mw_script_page_is_readable(memory, at & ~PAGE_MASK))
			return (mw_script_bytes_t){.address = address};
		if (mw_script_byte(at) == 0)
			break;
		found.bytes++;
	}
	return found;
}

mw_script_bytes_t mw_script_bytes_at(mw_script_memory_t *memory, uintptr_t address, size_t bytes) {
	if (bytes > MW_TEXT_BYTES_MAX)
		bytes = MW_TEXT_BYTES_MAX;
	uintptr_t last = (address + bytes - 1) & ~PAGE_MASK;
	if (bytes == 0 || address + bytes < address ||
	    !mw_script_page_is_readable(memory, address & ~PAGE_MASK) ||
	    !mw_script_page_is_readable(memory, last))
		return (mw_script_bytes_t){.address = address};
	return (mw_script_bytes_t){.address = address, .bytes = bytes};
}

uint64_t mw_script_hash(mw_script_bytes_t bytes) {
	const char *at = (const char *)bytes.address;
	uint64_t hash = bytes.bytes, word;
	for (size_t done = 0; done < bytes.bytes; done += sizeof word) {
		size_t rest = bytes.bytes - done;
		word = 0;
		memcpy(&word, at + done, rest < sizeof word ? rest : sizeof word);
		hash = mw_script_mix(hash, word);
	}
	return hash ? hash : 1;
}

/* ---- writing ---- */

bool mw_script_put_character(mw_script_text_t *text, uint32_t c) {
	if (c == 0 || c >= 0x110000)
		c = '?';
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
	if (text->bytes + more >= sizeof text->text)
		return false;
	text->text[text->bytes++] = (char)(leads[more] | c >> 6 * more);
	while (more-- > 0)
		text->text[text->bytes++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	return true;
}

/* Takes the character that begins at byte *at and goes on behind it. */
static uint32_t take_character(const uint8_t *bytes, size_t count, size_t *at) {
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint8_t lead = bytes[(*at)++];
	unsigned more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
	uint32_t c = more ? lead & (0x3fu >> more) : lead;
	if (more == 0 || *at + more > count)
		return lead;
	for (unsigned i = 0; i < more; i++) {
		if ((bytes[*at + i] & 0xc0) != 0x80)
			return lead;
		c = c << 6 | (bytes[*at + i] & 0x3f);
	}
	if (c < least[more])
		return lead;
	*at += more;
	return c;
}

void mw_script_put_bytes(mw_script_text_t *text, mw_script_bytes_t bytes) {
	const uint8_t *data = (const uint8_t *)bytes.address;
	for (size_t at = 0; at < bytes.bytes;)
		if (!mw_script_put_character(text, take_character(data, bytes.bytes, &at)))
			return;
}

void mw_script_put_literal(mw_script_text_t *text, const char *literal) {
	for (; *literal; literal++)
		if (!mw_script_put_character(text, (unsigned char)*literal))
			return;
}
