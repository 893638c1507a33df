/* SPDX-License-Identifier: MIT
 * kernel_types.h -- finds functions of the running kernel by name, in its BTF.
 * Layer: live/bpf.  A BPF program calls such a function by the number of its type. */
#ifndef MW_TOOL_LIVE_BPF_KERNEL_TYPES_H
#define MW_TOOL_LIVE_BPF_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Returns the type of a function in BTF of `bytes` bytes; 0: there is none, or the BTF is damaged.
 */
uint32_t mw_btf_find_function(const void *btf, size_t bytes, const char *name);
/* The same of the running kernel; 0, too, if the kernel shows no BTF. */
uint32_t mw_kernel_function(const char *name);

#endif
