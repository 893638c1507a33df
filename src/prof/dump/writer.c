/* SPDX-License-Identifier: MIT
 * writer.c -- buffers output, and writes stored deflate blocks and their checksum. */
#include "prof/dump/writer.h"

#include <string.h>

#include "base/fmt.h"
#include "os/file/file.h"
#include "os/file/proc.h"

/* CRC-32 of gzip (RFC 1952), four bits at a time, for the values 0 .. 15. A table of 1 KiB would
 * double the speed, but the writer waits for the disk anyway. */
static const uint32_t crc_of_nibble[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

static uint32_t add_to_crc(uint32_t crc, const unsigned char *bytes, size_t length) {
	crc = ~crc;
	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ crc_of_nibble[crc & 15];
		crc = crc >> 4 ^ crc_of_nibble[crc & 15];
	}
	return ~crc;
}

static void send(mw_writer_t *out, const void *bytes, size_t length) {
	if (out->result != MW_OK)
		return;
	if (out->write) {
		out->result = out->write(out->context, bytes, length) ? MW_OK : MW_ERR_IO;
		return;
	}
	out->file_bytes += length;
	out->result = out->file_bytes > out->limit_bytes ? MW_ERR_NO_MEMORY
							 : mw_os_write(out->file, bytes, length);
}

static void put_le(unsigned char *place, uint32_t value, unsigned bytes) {
	for (unsigned i = 0; i < bytes; i++)
		place[i] = (unsigned char)(value >> 8 * i);
}

static void flush(mw_writer_t *out, bool last) {
	if (out->gzip) {
		unsigned char head[5] = {last};
		put_le(head + 1, (uint32_t)out->length, 2);
		put_le(head + 3, ~(uint32_t)out->length, 2);
		out->crc = add_to_crc(out->crc, out->buffer, out->length);
		send(out, head, sizeof head);
	}
	if (out->length > 0)
		send(out, out->buffer, out->length);
	out->length = 0;
}

void mw_writer_start(mw_writer_t *out) {
	/* gzip, deflate, no flags, no time, unknown system */
	static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	out->limit_bytes = mw_os_file_size_limit();
	if (out->gzip)
		send(out, head, sizeof head);
}

void mw_writer_put(mw_writer_t *out, const void *bytes, size_t length) {
	const char *next = bytes;
	out->plain_bytes += length;
	while (length > 0 && out->result == MW_OK) {
		size_t room = MW_WRITER_BUFFER_BYTES - out->length;
		size_t now = length < room ? length : room;
		memcpy(out->buffer + out->length, next, now);
		out->length += now;
		next += now;
		length -= now;
		if (out->length == MW_WRITER_BUFFER_BYTES)
			flush(out, false);
	}
}

void mw_writer_print(mw_writer_t *out, const char *format, ...) {
	char text[1024];
	va_list args;
	va_start(args, format);
	size_t length = mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	mw_writer_put(out, text, length < sizeof text ? length : sizeof text - 1);
}

mw_result_t mw_writer_finish(mw_writer_t *out) {
	flush(out, true);
	if (out->gzip) {
		unsigned char tail[8];
		put_le(tail, out->crc, 4);
		put_le(tail + 4, (uint32_t)out->plain_bytes, 4);
		send(out, tail, sizeof tail);
	}
	return out->result;
}
