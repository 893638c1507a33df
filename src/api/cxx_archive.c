/* SPDX-License-Identifier: MIT
 * cxx_archive.c -- addresses of libstdc++'s functions, which the linker finds. Only in libmallow.a:
 * a C++ program is linked with libstdc++, and a C program does not contain this file. */
#include "api/cxx.h"

extern mw_new_handler_t _ZSt15get_new_handlerv(void);
extern void _ZSt17__throw_bad_allocv(void);

const mw_cxx_library_t mw_cxx_library = {_ZSt15get_new_handlerv, _ZSt17__throw_bad_allocv};
