/* SPDX-License-Identifier: MIT
 * probes.h -- static probe points (USDT), for profilers outside of the process.
 * Layer: prof.  Async-signal-safe.
 *
 * A probe is one nop and a note in the ELF file (.note.stapsdt, as SystemTap, bpftrace and perf
 * read it) with its address and those of its arguments. A tool that attaches replaces the nop. The
 * note is written here, so that nothing is needed at build time. */
#ifndef MW_PROF_PROBES_H
#define MW_PROF_PROBES_H

#include <stdint.h>

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
 * represents. */
static inline void mw_probe_alloc(uint64_t address, uint64_t bytes, uint64_t weighted_bytes) {
	__asm__ volatile(MW_PROBE_NOTE("alloc", "8@%0 8@%1 8@%2")
			 :
			 : "r"(address), "r"(bytes), "r"(weighted_bytes));
}

/* Fires when a sampled block is freed. */
static inline void mw_probe_free(uint64_t address) {
	__asm__ volatile(MW_PROBE_NOTE("free", "8@%0") : : "r"(address));
}

#endif
