/* SPDX-License-Identifier: MIT
 * probes.h -- static probe points (USDT), for profilers outside of the process.
 * Layer: prof.  Async-signal-safe.
 *
 * A probe is one nop and a note in the ELF file (.note.stapsdt, as SystemTap, bpftrace and perf
 * read it) with its address and those of its arguments. A tool that attaches replaces the nop. The
 * note is written here, so that nothing is needed at build time.
 *
 * The arguments lie in the registers of a function's arguments, because readers of OpenTelemetry's
 * provider take them from there and read no descriptors. The nop has one byte: in place of one of
 * five bytes kernels of 2026 put a call, whose return address overwrites the caller's red zone. */
#ifndef MW_PROF_PROBES_H
#define MW_PROF_PROBES_H

#include <stdint.h>

#include "os/platform/arch.h"

/* Provider name as in the OpenTelemetry profiler's proposal; the probes' names are below. */
#define MW_PROBE_PROVIDER "otel_memory"

/* The note: lengths of name and contents, type 3; the name; then the contents: the nop's address,
 * the address of .stapsdt.base (for prelink), no semaphore; provider, probe, arguments. */
#define MW_PROBE_NOTE(name, arguments)                                                             \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt,\"\",%%note\n"                                                 \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, _.stapsdt.base, 0\n"                                                    \
	".asciz \"" MW_PROBE_PROVIDER "\"\n"                                                       \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" arguments "\"\n"                                                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n"                      \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

/* Fires when a block of `bytes` is sampled. `weighted_bytes`: bytes of all blocks that it
 * represents. Called in one place, so that there is one note. */
static inline void mw_probe_alloc(uint64_t address, uint64_t bytes, uint64_t weighted_bytes) {
	register uint64_t first __asm__(MW_OS_ARGUMENT_1) = address;
	register uint64_t second __asm__(MW_OS_ARGUMENT_2) = bytes;
	register uint64_t third __asm__(MW_OS_ARGUMENT_3) = weighted_bytes;
	__asm__ volatile(MW_PROBE_NOTE("alloc", "8@%0 8@%1 8@%2")
			 :
			 : "r"(first), "r"(second), "r"(third));
}

/* Fires when a sampled block is freed. Called in one place. */
static inline void mw_probe_free(uint64_t address) {
	register uint64_t first __asm__(MW_OS_ARGUMENT_1) = address;
	__asm__ volatile(MW_PROBE_NOTE("free", "8@%0") : : "r"(first));
}

#endif
