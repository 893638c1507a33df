/* SPDX-License-Identifier: MIT
 * heap_cxx.c -- the operators under their mangled names. */
#include "heap_cxx.h"

#include "api/cxx.h"

void *cxx_new(unsigned choice, size_t bytes, size_t align) {
	switch (choice % 4) {
	case 0:
		return _Znwm(bytes);
	case 1:
		return _ZnwmSt11align_val_t(bytes, align);
	case 2:
		return _Znam(bytes);
	default:
		return _ZnamSt11align_val_t(bytes, align);
	}
}

void cxx_delete(size_t choice, void *block, size_t bytes, size_t align) {
	switch (choice % (align > 16 ? 4 : 8)) {
	case 0:
		_ZdlPvSt11align_val_t(block, align);
		break;
	case 1:
		_ZdlPvmSt11align_val_t(block, bytes, align);
		break;
	case 2:
		_ZdaPvSt11align_val_t(block, align);
		break;
	case 3:
		_ZdaPvmSt11align_val_t(block, bytes, align);
		break;
	case 4:
		_ZdlPv(block);
		break;
	case 5:
		_ZdlPvm(block, bytes);
		break;
	case 6:
		_ZdaPv(block);
		break;
	default:
		_ZdaPvm(block, bytes);
		break;
	}
}
