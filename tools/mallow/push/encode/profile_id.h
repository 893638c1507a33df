/* SPDX-License-Identifier: MIT
 * profile_id.h -- the 16 bytes by which receivers know a profile that was sent twice.
 * Layer: push/encode. */
#ifndef MW_TOOL_PUSH_ENCODE_PROFILE_ID_H
#define MW_TOOL_PUSH_ENCODE_PROFILE_ID_H

#include "store/profile_store.h"

enum { MW_PROFILE_ID_BYTES = 16 };

/* The id follows from the put's number, its kind and `part`: all attempts have the same.  It has
 * the form of a UUID of version 4. */
static inline void mw_profile_id(const mw_put_t *put, unsigned part,
				 unsigned char id[MW_PROFILE_ID_BYTES]) {
	/* splitmix64 of the number, kind and part, so that one bit changes all. */
	uint64_t words[2] = {put->number, put->number + ((uint64_t)put->kind << 8 | part)};
	for (int i = 0; i < 2; i++) {
		uint64_t x = words[i] + (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		x ^= x >> 31;
		for (int k = 0; k < 8; k++)
			id[8 * i + k] = (unsigned char)(x >> 8 * k);
	}
	id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
	id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
}

#endif
