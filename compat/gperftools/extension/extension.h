/* SPDX-License-Identifier: MIT
 * extension.h -- gperftools' MallocExtension: its functions for C, its C++ object, its properties.
 * Layer: compat/gperftools/extension, the door of this folder. <gperftools/malloc_extension_c.h>
 * declares the functions that programs call.
 *
 * Reading order: extension.c, properties.def, extension_cxx.c, constructor.c (start and end of the
 * process). */
#ifndef MW_COMPAT_GPERFTOOLS_EXTENSION_EXTENSION_H
#define MW_COMPAT_GPERFTOOLS_EXTENSION_EXTENSION_H

/* Sets the delay after which free memory is given back: 1000 ms at rate 1. 0: never. */
void mw_gp_set_release_rate(double rate);
double mw_gp_release_rate(void);

#endif
