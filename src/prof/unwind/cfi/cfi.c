/* SPDX-License-Identifier: MIT
 * cfi.c -- finds and reads the records of .eh_frame. */
#include "prof/unwind/cfi/cfi.h"

#include <stddef.h>

/* Pointer encodings (LSB 5.0 core, 10.5.1). Low nibble: the format; high nibble: the base. */
enum {
	ENC_ABSPTR = 0x00,
	ENC_ULEB128 = 0x01,
	ENC_UDATA2 = 0x02,
	ENC_UDATA4 = 0x03,
	ENC_UDATA8 = 0x04,
	ENC_SLEB128 = 0x09,
	ENC_SDATA2 = 0x0a,
	ENC_SDATA4 = 0x0b,
	ENC_SDATA8 = 0x0c,
	ENC_PCREL = 0x10,
	ENC_DATAREL = 0x30,
	ENC_OMIT = 0xff,
};

/* Length field of records with 64-bit lengths, which no linker writes into .eh_frame. */
#define LENGTH_EXTENDED 0xffffffffu

/* A record: the bytes behind its length field. The first four bytes identify its CIE. */
typedef struct record {
	const uint8_t *id_field;
	const uint8_t *end;
	uint32_t id;
} record_t;

typedef struct cie {
	mw_reader_t initial;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t pointer_encoding;
	bool has_augmentation;
	bool is_signal;
} cie_t;

static bool inside(const mw_cfi_area_t *area, const uint8_t *at) {
	return at >= area->lo && at < area->hi;
}

static bool read_record(const mw_cfi_area_t *area, const uint8_t *at, record_t *record) {
	if (!inside(area, at))
		return false;
	mw_reader_t reader = mw_reader(at, area->hi);
	uint32_t length = mw_read_u32(&reader);
	record->id_field = reader.at;
	if (length < sizeof(uint32_t) || length == LENGTH_EXTENDED ||
	    length > mw_reader_left(&reader))
		return false;
	record->end = reader.at + length;
	record->id = mw_read_u32(&reader);
	return !reader.is_bad;
}

/* Reads the CIE of an FDE, whose id field is the distance back to the CIE. */
static bool read_cie_record(const mw_cfi_area_t *area, const record_t *fde, record_t *cie) {
	if (fde->id == 0 || fde->id > (size_t)(fde->id_field - area->lo))
		return false;
	return read_record(area, fde->id_field - fde->id, cie) && cie->id == 0;
}

static uint64_t read_format(mw_reader_t *reader, uint8_t encoding) {
	/* The encoding that compilers write, except for very large programs. */
	if (MW_LIKELY((encoding & 0x0f) == ENC_SDATA4))
		return mw_sign_extend(mw_read_u32(reader), 32);
	switch (encoding & 0x0f) {
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		return mw_read_sized(reader, 8);
	case ENC_UDATA2:
		return mw_read_sized(reader, 2);
	case ENC_UDATA4:
		return mw_read_sized(reader, 4);
	case ENC_SDATA2:
		return mw_sign_extend(mw_read_sized(reader, 2), 16);
	case ENC_ULEB128:
		return mw_read_uleb(reader);
	case ENC_SLEB128:
		return (uint64_t)mw_read_sleb(reader);
	default:
		reader->is_bad = true;
		return 0;
	}
}

/* Reads a code address: absolute, or relative to its own position. An FDE has no other form. */
static uintptr_t read_address(mw_reader_t *reader, uint8_t encoding) {
	uintptr_t place = (uintptr_t)reader->at;
	uint64_t value = read_format(reader, encoding);
	if ((encoding & 0xf0) == ENC_PCREL)
		return place + value;
	if ((encoding & 0xf0) != ENC_ABSPTR)
		reader->is_bad = true;
	return value;
}

/* Reads one letter of the augmentation string, with its data in `data`. */
static bool read_augmentation(cie_t *cie, mw_reader_t *data, uint8_t letter) {
	switch (letter) {
	case 'R':
		cie->pointer_encoding = mw_read_u8(data);
		return !data->is_bad;
	case 'P': {
		uint8_t encoding = mw_read_u8(data);
		if (encoding != ENC_OMIT)
			read_format(data, encoding);
		return !data->is_bad;
	}
	case 'L':
		mw_read_u8(data);
		return !data->is_bad;
	case 'S':
		cie->is_signal = true;
		return true;
	case 'B': /* aarch64: addresses are signed with the B key, which does not affect the rules
		   */
		return true;
	default:
		return false;
	}
}

static bool read_cie(const record_t *record, cie_t *cie) {
	mw_reader_t reader = mw_reader(record->id_field + sizeof(uint32_t), record->end);
	*cie = (cie_t){.pointer_encoding = ENC_ABSPTR};
	uint8_t version = mw_read_u8(&reader);
	if (version != 1 && version != 3)
		return false;
	mw_reader_t letters = reader;
	while (mw_read_u8(&reader) != 0)
		;
	if (reader.is_bad)
		return false;
	letters.end = reader.at - 1;
	cie->code_align = mw_read_uleb(&reader);
	cie->data_align = mw_read_sleb(&reader);
	cie->ra_register = version == 1 ? mw_read_u8(&reader) : mw_read_uleb(&reader);
	if (mw_reader_left(&letters) > 0) {
		/* Without a leading 'z' the data has no length. Only historic compilers wrote
		 * that. */
		if (mw_read_u8(&letters) != 'z')
			return false;
		cie->has_augmentation = true;
		uint64_t bytes = mw_read_uleb(&reader);
		const uint8_t *data_at = mw_read_bytes(&reader, bytes);
		if (!data_at)
			return false;
		mw_reader_t data = mw_reader(data_at, reader.at);
		while (mw_reader_left(&letters) > 0)
			if (!read_augmentation(cie, &data, mw_read_u8(&letters)))
				return false;
	}
	cie->initial = reader;
	return !reader.is_bad;
}

bool mw_cfi_parse(const mw_cfi_area_t *area, const uint8_t *fde_at, mw_cfi_fde_t *fde) {
	record_t record, cie_record;
	cie_t cie;
	if (!read_record(area, fde_at, &record) || !read_cie_record(area, &record, &cie_record) ||
	    !read_cie(&cie_record, &cie))
		return false;
	mw_reader_t reader = mw_reader(record.id_field + sizeof(uint32_t), record.end);
	uintptr_t start = read_address(&reader, cie.pointer_encoding);
	uint64_t bytes = read_format(&reader, cie.pointer_encoding);
	if (cie.has_augmentation)
		mw_read_bytes(&reader, mw_read_uleb(&reader));
	if (reader.is_bad || bytes > UINTPTR_MAX - start)
		return false;
	*fde = (mw_cfi_fde_t){
		.pc_lo = start,
		.pc_hi = start + bytes,
		.initial = cie.initial,
		.program = reader,
		.code_align = cie.code_align,
		.data_align = cie.data_align,
		.ra_register = cie.ra_register,
		.is_signal = cie.is_signal,
	};
	return true;
}

/* Reads a word of entry `i` of the table: relative to the header, the function or its FDE. */
static uintptr_t table_word(const uint8_t *eh_frame_hdr, uint32_t i, unsigned word) {
	int32_t offset;
	memcpy(&offset, eh_frame_hdr + MW_CFI_TABLE_OFFSET + (size_t)i * 8 + word * 4,
	       sizeof(offset));
	return (uintptr_t)eh_frame_hdr + (uintptr_t)(intptr_t)offset;
}

uint32_t mw_cfi_table_entries(const uint8_t header[MW_CFI_TABLE_OFFSET]) {
	mw_reader_t reader = mw_reader(header, header + MW_CFI_TABLE_OFFSET);
	uint8_t version = mw_read_u8(&reader);
	uint8_t frame_encoding = mw_read_u8(&reader);
	uint8_t count_encoding = mw_read_u8(&reader);
	uint8_t table_encoding = mw_read_u8(&reader);
	mw_read_u32(&reader); /* address of .eh_frame: not needed, because the table refers to the
				 records */
	uint32_t count = mw_read_u32(&reader);
	/* bfd, gold, lld and mold write only this form. */
	if (version != 1 || (frame_encoding & 0x07) != ENC_UDATA4 || count_encoding != ENC_UDATA4 ||
	    table_encoding != (ENC_DATAREL | ENC_SDATA4))
		return 0;
	return count;
}

const uint8_t *mw_cfi_search(const mw_cfi_area_t *area, const uint8_t *eh_frame_hdr, uintptr_t pc) {
	if (!inside(area, eh_frame_hdr) || (size_t)(area->hi - eh_frame_hdr) < MW_CFI_TABLE_OFFSET)
		return NULL;
	uint32_t count = mw_cfi_table_entries(eh_frame_hdr);
	if (count == 0 || count > (size_t)(area->hi - eh_frame_hdr - MW_CFI_TABLE_OFFSET) / 8)
		return NULL;
	/* The last function at or below pc, if there is one, is among the `left` entries from
	 * `first` on. */
	uint32_t first = 0;
	for (uint32_t left = count; left > 1;) {
		uint32_t half = left / 2;
		if (table_word(eh_frame_hdr, first + half, 0) <= pc)
			first += half;
		left -= half;
	}
	const uint8_t *fde_at = (const uint8_t *)table_word(eh_frame_hdr, first, 1);
	return table_word(eh_frame_hdr, first, 0) <= pc && inside(area, fde_at) ? fde_at : NULL;
}

static uint64_t digest_bytes(uint64_t hash, const uint8_t *at, const uint8_t *end) {
	mw_reader_t reader = mw_reader(at, end);
	while (mw_reader_left(&reader) > 0) {
		size_t left = mw_reader_left(&reader);
		uint64_t word = mw_read_number(&reader, left < 8 ? (unsigned)left : 8);
		/* The number of bytes is hashed as well, so that zeros at the end count. */
		hash = (hash ^ word ^ (uint64_t)left << 56) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

uint64_t mw_cfi_digest(const mw_cfi_area_t *area, const uint8_t *fde_at) {
	record_t record, cie;
	if (!read_record(area, fde_at, &record) || !read_cie_record(area, &record, &cie))
		return 0;
	uint64_t hash = digest_bytes((uintptr_t)fde_at, record.id_field, record.end);
	hash = digest_bytes(hash, cie.id_field, cie.end);
	return hash ? hash : 1;
}
