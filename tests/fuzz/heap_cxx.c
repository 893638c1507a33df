/* SPDX-License-Identifier: MIT
 * heap_cxx.c -- the operators under their mangled names. */
#include "heap_cxx.h"

#include "api/cxx.h"

void *cxx_new(unsigned choice, size_t bytes, size_t align) {
	switch (choice % 8) {
	case 0:
		return _Znwm(bytes);
	case 1:
		return _ZnwmSt11align_val_t(bytes, align);
	case 2:
		return _Znam(bytes);
	case 3:
		return _ZnamSt11align_val_t(bytes, align);
	case 4:
		return _ZnwmRKSt9nothrow_t(bytes, NULL);
	case 5:
		return _ZnwmSt11align_val_tRKSt9nothrow_t(bytes, align, NULL);
	case 6:
		return _ZnamRKSt9nothrow_t(bytes, NULL);
	default:
		return _ZnamSt11align_val_tRKSt9nothrow_t(bytes, align, NULL);
	}
}

void cxx_delete(size_t choice, void *block, size_t bytes, size_t align) {
	switch (choice % (align > 16 ? 6 : 12)) {
	case 0:
		_ZdlPvSt11align_val_t(block, align);
		break;
	case 1:
		_ZdlPvmSt11align_val_t(block, bytes, align);
		break;
	case 2:
		_ZdlPvSt11align_val_tRKSt9nothrow_t(block, align, NULL);
		break;
	case 3:
		_ZdaPvSt11align_val_t(block, align);
		break;
	case 4:
		_ZdaPvmSt11align_val_t(block, bytes, align);
		break;
	case 5:
		_ZdaPvSt11align_val_tRKSt9nothrow_t(block, align, NULL);
		break;
	case 6:
		_ZdlPv(block);
		break;
	case 7:
		_ZdlPvm(block, bytes);
		break;
	case 8:
		_ZdlPvRKSt9nothrow_t(block, NULL);
		break;
	case 9:
		_ZdaPv(block);
		break;
	case 10:
		_ZdaPvm(block, bytes);
		break;
	default:
		_ZdaPvRKSt9nothrow_t(block, NULL);
		break;
	}
}
