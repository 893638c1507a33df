/* SPDX-License-Identifier: MIT
 * text.c -- decodes UTF-8 and recognises control characters. */
#include "model/text.h"

#include <string.h>

/* Returns the length of the UTF-8 character whose first byte is `first`; 0 = no character begins
 * so. */
static size_t length_of(unsigned char first) {
	return first < 0x80   ? 1
	       : first < 0xc2 ? 0
	       : first < 0xe0 ? 2
	       : first < 0xf0 ? 3
	       : first < 0xf5 ? 4
			      : 0;
}

/* False for overlong forms, surrogates and code points above U+10FFFF, which are not UTF-8. */
static bool is_allowed(uint32_t code, size_t length) {
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	return code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/* U+206A to U+206F are deprecated, but some terminals still obey them. */
bool mw_text_is_order(uint32_t code) {
	return code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x206f);
}

mw_character_t mw_text_character(const char *text) {
	const unsigned char *at = (const unsigned char *)text;
	size_t length = length_of(at[0]);
	uint32_t code = length > 1 ? at[0] & (0x7fu >> length) : at[0];
	size_t i = 1;
	/* The NUL at the end of the text is no continuation byte, so the loop never passes it. */
	for (; i < length && (at[i] & 0xc0) == 0x80; i++)
		code = code << 6 | (at[i] & 0x3f);
	if (length == 0 || i < length || !is_allowed(code, length))
		return (mw_character_t){.bytes = 1, .code = at[0]};
	return (mw_character_t){.bytes = length,
				.code = code,
				.is_utf8 = true,
				.is_control = code < ' ' || (code >= 0x7f && code < 0xa0) ||
					      mw_text_is_order(code),
				.is_order = mw_text_is_order(code)};
}

char *mw_text_clean(char *text, const char *kept) {
	char *to = text;
	for (const char *from = text; *from != '\0';) {
		mw_character_t c = mw_text_character(from);
		bool is_safe =
			c.is_utf8 && (!c.is_control || (c.bytes == 1 && strchr(kept, *from)));
		if (is_safe)
			memmove(to, from, c.bytes);
		else
			*to = '?';
		to += is_safe ? c.bytes : 1;
		from += c.bytes;
	}
	*to = '\0';
	return text;
}

void mw_text_print(FILE *out, const char *text) {
	const char *printed = text; /* end of the text printed so far */
	while (*text != '\0') {
		mw_character_t c = mw_text_character(text);
		if (!c.is_utf8 || c.is_control) {
			fwrite(printed, 1, (size_t)(text - printed), out);
			fputc('?', out);
			printed = text + c.bytes;
		}
		text += c.bytes;
	}
	fwrite(printed, 1, (size_t)(text - printed), out);
}
