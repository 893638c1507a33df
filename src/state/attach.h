/* SPDX-License-Identifier: MIT
 * attach.h -- what `mallow attach` and the code that it puts into a process (the blob) share.
 * Layer: state.
 *
 * The blob is an ELF file (ET_DYN) of two parts: [0, data_offset) is mapped readable and
 * executable, [data_offset, memory_bytes) readable and writable. The command maps memory_bytes of
 * private anonymous memory, writes the file's segments there, adds the base to the word of each
 * relocation R_X86_64_RELATIVE, and leaves the word of a relocation R_X86_64_DTPMOD64 zero; there
 * are no other kinds. The command finds entry code and work area by a note (mw_attach_note_t), in
 * the file and in a process, whose blob may be of another build.
 *
 * To enter: the command stops a thread, writes a mw_attach_frame_t at a multiple of 64 at least 128
 * bytes below the thread's stack pointer, sets the stack pointer to the frame and the program
 * counter to the entry code, and detaches. The entry code blocks all signals, follows the request
 * on a stack of the blob's own, and restores the frame's registers, those of floating point and the
 * signals. It stores to no other memory of the thread but 64 bytes below the frame.
 *
 * Requests: the command writes the fields that are marked C, then raises `requested` (release); the
 * blob answers by the fields marked B, then sets `answered` to the same number (release). One
 * command at a time; the command enters a process only while both numbers are equal. */
#ifndef MW_STATE_ATTACH_H
#define MW_STATE_ATTACH_H

#include <stdatomic.h>
#include <stdint.h>

/* Raised when this header changes. A command that meets another version in a process can only
 * detach by the command that attached. */
#define MW_ATTACH_VERSION 2

/* The ELF note: owner MW_ATTACH_NOTE_OWNER, this type (mw_tool_note_t has type 1). */
#define MW_ATTACH_NOTE_OWNER "mallow"
#define MW_ATTACH_NOTE_TYPE 2

/* What the note holds. Each offset is relative to the address of the field itself. */
typedef struct mw_attach_note {
	uint32_t version;     /* MW_ATTACH_VERSION */
	int32_t entry_offset; /* the entry code */
	int32_t work_offset;  /* mw_attach_work_t */
} mw_attach_note_t;

/* Registers of a thread that enters, in the order in which the entry code pops them. */
typedef struct mw_attach_frame {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rip, cs, rflags, rsp, ss; /* of iretq */
} mw_attach_frame_t;

/* Functions whose slots are replaced. C++ operators and jemalloc's extensions: only if the
 * allocator defines them itself. The suffix of an operator says what it takes: n: std::nothrow_t,
 * a: std::align_val_t, s: size. X(name, symbol) */
#define MW_ATTACH_FUNCTIONS(X)                                                                     \
	X(malloc, "malloc")                                                                        \
	X(free, "free")                                                                            \
	X(calloc, "calloc")                                                                        \
	X(realloc, "realloc")                                                                      \
	X(memalign, "memalign")                                                                    \
	X(aligned_alloc, "aligned_alloc")                                                          \
	X(posix_memalign, "posix_memalign")                                                        \
	X(valloc, "valloc")                                                                        \
	X(pvalloc, "pvalloc")                                                                      \
	X(dlopen, "dlopen")                                                                        \
	X(prctl, "prctl")                                                                          \
	X(new, "_Znwm")                                                                            \
	X(new_array, "_Znam")                                                                      \
	X(new_n, "_ZnwmRKSt9nothrow_t")                                                            \
	X(new_array_n, "_ZnamRKSt9nothrow_t")                                                      \
	X(new_a, "_ZnwmSt11align_val_t")                                                           \
	X(new_array_a, "_ZnamSt11align_val_t")                                                     \
	X(new_an, "_ZnwmSt11align_val_tRKSt9nothrow_t")                                            \
	X(new_array_an, "_ZnamSt11align_val_tRKSt9nothrow_t")                                      \
	X(delete, "_ZdlPv")                                                                        \
	X(delete_array, "_ZdaPv")                                                                  \
	X(delete_n, "_ZdlPvRKSt9nothrow_t")                                                        \
	X(delete_array_n, "_ZdaPvRKSt9nothrow_t")                                                  \
	X(delete_s, "_ZdlPvm")                                                                     \
	X(delete_array_s, "_ZdaPvm")                                                               \
	X(delete_a, "_ZdlPvSt11align_val_t")                                                       \
	X(delete_array_a, "_ZdaPvSt11align_val_t")                                                 \
	X(delete_sa, "_ZdlPvmSt11align_val_t")                                                     \
	X(delete_array_sa, "_ZdaPvmSt11align_val_t")                                               \
	X(delete_an, "_ZdlPvSt11align_val_tRKSt9nothrow_t")                                        \
	X(delete_array_an, "_ZdaPvSt11align_val_tRKSt9nothrow_t")                                  \
	X(mallocx, "mallocx")                                                                      \
	X(rallocx, "rallocx")                                                                      \
	X(dallocx, "dallocx")                                                                      \
	X(sdallocx, "sdallocx")

typedef enum mw_attach_function {
#define MW_ATTACH_FUNCTION(name, symbol) MW_ATTACH_##name,
	MW_ATTACH_FUNCTIONS(MW_ATTACH_FUNCTION)
#undef MW_ATTACH_FUNCTION
		MW_ATTACH_FUNCTION_COUNT
} mw_attach_function_t;

typedef enum mw_attach_request {
	MW_ATTACH_START = 1, /* attach, or attach again after MW_ATTACH_STOP */
	/* Detach. Also before MW_ATTACH_START in a forked child, which has its parent's state. */
	MW_ATTACH_STOP,
} mw_attach_request_t;

typedef enum mw_attach_state {
	MW_ATTACH_NEW, /* nothing was requested yet */
	MW_ATTACH_ON,
	MW_ATTACH_OFF,    /* detached; the program calls its allocator directly again */
	MW_ATTACH_FAILED, /* see `reason`; the slots are as after MW_ATTACH_OFF */
} mw_attach_state_t;

/* Why the blob switched itself off, or refused. */
typedef enum mw_attach_reason {
	MW_ATTACH_REASON_NONE,
	MW_ATTACH_REASON_VALUE,     /* a field of the request is out of range */
	MW_ATTACH_REASON_MEMORY,    /* the kernel refuses memory for the profile */
	MW_ATTACH_REASON_SLOTS,     /* no slot could be replaced */
	MW_ATTACH_REASON_ASSERTION, /* an error of mallow's: see `message` */
	MW_ATTACH_REASON_FILE,      /* no state file can be made */
	/* the thread that entered was inside of the profiler: nothing was done; enter again */
	MW_ATTACH_REASON_BUSY,
	MW_ATTACH_REASON_DETACH_TIME, /* detach_after_ns is over; state MW_ATTACH_OFF */
	/* the program is about to forbid itself system calls; state MW_ATTACH_OFF */
	MW_ATTACH_REASON_FILTER,
} mw_attach_reason_t;

/* A loaded object, as dl_iterate_phdr(3) would report it. */
typedef struct mw_attach_module {
	uint64_t bias;         /* address - address in the ELF file */
	uint64_t headers;      /* address of the program headers in the process */
	uint64_t header_count; /* 1 .. 64 */
	uint64_t name;         /* address of the NUL-terminated path; empty: the program */
} mw_attach_module_t;

/* A slot of a global offset table: 8 aligned bytes with a function's address. The slot is replaced
 * if its value is still `original`. */
typedef struct mw_attach_slot {
	uint64_t address;
	uint64_t original; /* value before; the function itself, or an unbound slot's stub */
	uint32_t function; /* mw_attach_function_t */
	/* PROT_* of the slot's page. Without PROT_WRITE: the dynamic linker closed the page when it
	 * had relocated the module, and the blob opens it for a moment. */
	uint16_t protection;
	uint16_t replaced; /* B: 1: the slot holds, or held at detach, the blob's function */
} mw_attach_slot_t;

#define MW_ATTACH_MODULES_MAX 2048u
#define MW_ATTACH_SLOTS_MAX 16384u

typedef struct mw_attach_work {
	uint32_t version;           /* MW_ATTACH_VERSION, from the build on */
	uint32_t work_bytes;        /* sizeof(mw_attach_work_t), from the build on */
	_Atomic uint32_t requested; /* C: number of the last request */
	_Atomic uint32_t answered;  /* B */
	uint32_t request;           /* C: mw_attach_request_t */
	_Atomic uint32_t state;     /* B: mw_attach_state_t */
	/* B: mw_attach_reason_t of the last answer, of FAILED, and of OFF without a request */
	uint32_t reason;
	uint32_t error; /* B: errno of the kernel; 0: none */
	/* B: number of times that the blob attached. */
	uint32_t generation;
	uint32_t slots_refused; /* B: slots that another value had meanwhile, or no memory at all */
	_Atomic uint32_t slots_replaced; /* B: including those of modules that came later */
	_Atomic uint32_t modules_later;  /* B: modules loaded since, whose slots were replaced */
	uint64_t mean_bytes;             /* C: T; 1: every object */
	uint64_t detach_after_ns;        /* C: 0: never */
	uint64_t attached_realtime_ns;   /* B */
	uint64_t blob_address;           /* C: where the blob is mapped, and its size */
	uint64_t blob_bytes;
	/* Addresses of functions of the process, or 0. */
	uint64_t original[MW_ATTACH_FUNCTION_COUNT]; /* C: the first definition */
	uint64_t malloc_usable_size;                 /* C: of the same allocator */
	uint64_t dl_find_object;                     /* C: _dl_find_object (glibc 2.35 and later) */
	uint64_t dl_iterate_phdr;                    /* C: by which modules of later are found */
	/* The blob's functions that replace them, from the build on; relocated by the command. */
	uint64_t replacement[MW_ATTACH_FUNCTION_COUNT];
	/* Addresses of the blob's tables, from the build on; relocated by the command: an array of
	 * MW_ATTACH_MODULES_MAX mw_attach_module_t and one of MW_ATTACH_SLOTS_MAX mw_attach_slot_t.
	 */
	uint64_t modules, slots;
	/* C: entries that the command wrote, the program's module first; B adds those of modules
	 * that come later. */
	uint64_t module_count, slot_count;
	char message[96]; /* B: text of MW_ATTACH_REASON_ASSERTION, or the last warning */
} mw_attach_work_t;

#endif
