/* SPDX-License-Identifier: MIT
 * cxx_shared.c -- addresses of libstdc++'s functions, found at run time, because libmallow.so does
 * not need libstdc++. */
#include "api/cxx.h"

extern mw_new_handler_t _ZSt15get_new_handlerv(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

const mw_cxx_library_t mw_cxx_library = {_ZSt15get_new_handlerv, _ZSt17__throw_bad_allocv};
