/* SPDX-License-Identifier: MIT
 * heap_cxx.h -- all forms of C++'s operator new and delete, chosen by number: part of fuzz_heap. */
#ifndef FUZZ_HEAP_CXX_H
#define FUZZ_HEAP_CXX_H

#include <stddef.h>

/* One of eight forms, odd numbers are the aligned ones; `align` is a power of two. */
void *cxx_new(unsigned choice, size_t bytes, size_t align);
/* One of the forms that fit a block of this alignment: above 16 those that are told of it. */
void cxx_delete(size_t choice, void *block, size_t bytes, size_t align);

#endif
