/* SPDX-License-Identifier: MIT
 * fmt.c -- the printf subset. */
#include "base/fmt.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/libc_text.h"

typedef struct sink {
	char *buffer;
	size_t capacity;
	size_t length; /* bytes of the whole text, including those beyond the capacity */
} sink_t;

typedef struct spec {
	bool zero_pad, alternate;
	int width;
	int precision; /* -1: none */
	int longs;     /* 0 int, 1 long or size_t, 2 long long */
} spec_t;

static void put(sink_t *sink, char c) {
	if (sink->length + 1 < sink->capacity)
		sink->buffer[sink->length] = c;
	sink->length++;
}

static void put_text(sink_t *sink, const char *text, size_t length, const spec_t *spec) {
	for (size_t i = length; (int)i < spec->width; i++)
		put(sink, ' ');
	for (size_t i = 0; i < length; i++)
		put(sink, text[i]);
}

static void put_number(sink_t *sink, uint64_t value, bool negative, unsigned base,
		       const spec_t *spec) {
	char digits[24];
	int count = 0;
	bool prefix = base == 16 && spec->alternate && value != 0;
	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	int length = count + (negative ? 1 : 0) + (prefix ? 2 : 0);
	if (!spec->zero_pad)
		for (int i = length; i < spec->width; i++)
			put(sink, ' ');
	if (negative)
		put(sink, '-');
	if (prefix) {
		put(sink, '0');
		put(sink, 'x');
	}
	if (spec->zero_pad)
		for (int i = length; i < spec->width; i++)
			put(sink, '0');
	while (count > 0)
		put(sink, digits[--count]);
}

/* Reads the flags, width, precision and length after the '%'. Returns the position of the
 * conversion. */
static const char *parse_spec(const char *format, spec_t *spec, int star) {
	*spec = (spec_t){.precision = -1};
	for (;; format++) {
		if (*format == '0')
			spec->zero_pad = true;
		else if (*format == '#')
			spec->alternate = true;
		else
			break;
	}
	while (*format >= '0' && *format <= '9')
		spec->width = spec->width * 10 + (*format++ - '0');
	if (*format == '.') {
		format++;
		spec->precision = 0;
		if (*format == '*') {
			spec->precision = star;
			format++;
		}
		while (*format >= '0' && *format <= '9')
			spec->precision = spec->precision * 10 + (*format++ - '0');
	}
	for (;; format++) {
		if (*format == 'l')
			spec->longs++;
		else if (*format == 'z')
			spec->longs = 1;
		else
			break;
	}
	return format;
}

static void put_string(sink_t *sink, const char *text, const spec_t *spec) {
	size_t length = 0;
	if (!text)
		text = "(null)";
	while ((spec->precision < 0 || length < (size_t)spec->precision) && text[length])
		length++;
	put_text(sink, text, length, spec);
}

/* "%.*" takes the precision from the argument before the value. */
static bool takes_star(const char *format) {
	while (*format == '0' || *format == '#' || (*format >= '1' && *format <= '9'))
		format++;
	return format[0] == '.' && format[1] == '*';
}

size_t mw_vfmt(char *buffer, size_t capacity, const char *format, va_list args) {
	sink_t sink = {buffer, capacity, 0};
	for (; *format; format++) {
		if (*format != '%') {
			put(&sink, *format);
			continue;
		}
		spec_t spec;
		int star = takes_star(format + 1) ? va_arg(args, int) : 0;
		format = parse_spec(format + 1, &spec, star);
		if (*format == 'd' || *format == 'i') {
			int64_t value = spec.longs ? va_arg(args, long) : va_arg(args, int);
			uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
			put_number(&sink, magnitude, value < 0, 10, &spec);
		} else if (*format == 'u' || *format == 'x') {
			uint64_t value =
				spec.longs ? va_arg(args, unsigned long) : va_arg(args, unsigned);
			put_number(&sink, value, false, *format == 'u' ? 10 : 16, &spec);
		} else if (*format == 'p') {
			put(&sink, '0');
			put(&sink, 'x');
			put_number(&sink, (uintptr_t)va_arg(args, void *), false, 16, &spec);
		} else if (*format == 's') {
			put_string(&sink, va_arg(args, const char *), &spec);
		} else if (*format == 'c') {
			put(&sink, (char)va_arg(args, int));
		} else if (*format) {
			put(&sink, *format);
		} else {
			break;
		}
	}
	if (capacity > 0)
		buffer[sink.length < capacity ? sink.length : capacity - 1] = '\0';
	return sink.length;
}

size_t mw_fmt(char *buffer, size_t capacity, const char *format, ...) {
	va_list args;
	va_start(args, format);
	size_t length = mw_vfmt(buffer, capacity, format, args);
	va_end(args);
	return length;
}

size_t mw_fmt_copy(char *buffer, size_t capacity, const char *text) {
	size_t length = mw_strlen(text);
	if (capacity > 0) {
		size_t kept = length < capacity ? length : capacity - 1;
		memcpy(buffer, text, kept);
		buffer[kept] = '\0';
	}
	return length;
}
