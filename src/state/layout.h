/* SPDX-License-Identifier: MIT
 * layout.h -- the state file, byte for byte. The library writes the file, tools read it.
 * Layer: state, the door of this folder. Little-endian; all offsets are from the start of the
 * file. The process owns every byte except the control section, which tools write. The process
 * keeps private tables of the same layout. It never reads the file back but for the control
 * section, whose values it checks.
 *
 * Readers do not trust the file: they validate the section table against the file's size and
 * indices against capacities, and clamp counts. Entries of several words that change (records)
 * carry a sequence number, which is odd while the entry is being written.
 *
 * Path: <dir>/mallow-<uid>/<pid>.<start_ticks>.<pid_namespace>. <dir> is /dev/shm, or else
 * $XDG_RUNTIME_DIR; or else the file is a memfd named "mallow-state" (found through
 * /proc/<pid>/map_files), or else there is private memory only. start_ticks is field 22 of
 * /proc/self/stat, so that a reused pid never finds another process's file. The namespace tells
 * apart equal pids of containers that share the directory.
 *
 * Alive or ended: the process holds a lock of its open file (F_OFD_SETLK; before Linux 3.15 flock)
 * on byte MW_STATE_ALIVE_LOCK, through its mapping, from before the magic is written until its
 * memory is gone. A file with a magic and without that lock belongs to a process that ended.
 *
 * The file is sparse: sections lie at fixed offsets of a mapping of the largest size, and blocks
 * are reserved (MADV_POPULATE_WRITE or fallocate) before they are touched. Readers use pread(2) and
 * read no more than the counts in the live section say: reading a mapped hole of a tmpfs file
 * allocates memory. An entry of zeros was never written, or never copied to the file
 * (MW_STATE_FILE_FULL). doc/reference/state-file.md describes the file for authors of readers.
 *
 * Reading order: layout.h, script_frames.h and script_kinds.def, heap_chunks.h, lease.h,
 * leak_check.h, tool_entry.h, settings.h and settings.def, stats.h and stats.def, sample_types.def,
 * dump_reasons.def. */
#ifndef MW_STATE_LAYOUT_H
#define MW_STATE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "state/cpu_source.h"
#include "state/heap_chunks.h"
#include "state/leak_check.h"
#include "state/script_frames.h"
#include "state/settings.h"

#define MW_STATE_MAGIC "MALLOWST"
/* A reader refuses any other version with a message that names both versions. */
#define MW_STATE_VERSION 15u
/* Byte offsets of file locks. A lock does not depend on the byte's contents. */
#define MW_STATE_ALIVE_LOCK 0u /* held by the process until it ends */
#define MW_STATE_TOOL_LOCK 1u  /* held by a tool while it writes control words */
/* The unit of the heap's numbers of kernel pages, whatever pages the kernel has. */
#define MW_STATE_PAGE_BYTES 4096u
/* Sections that grow begin at multiples of it, so that any kernel can map them alone. */
#define MW_STATE_ALIGN_BYTES 65536u

typedef enum mw_state_section_id {
	MW_SECTION_CONTROL,  /* one mw_state_control_t: tools write, the process reads */
	MW_SECTION_LIVE,     /* one mw_state_live_t: the process's state and its answers to tools */
	MW_SECTION_MODULES,  /* mw_state_module_t[] */
	MW_SECTION_STACKS,   /* mw_state_stack_t[]; entry 0 stands for "stack unknown" */
	MW_SECTION_FRAMES,   /* uint64_t[], each frame once: see MW_FRAME_*; entry 0 is unused */
	MW_SECTION_RECORDS,  /* mw_state_record_t[]; entry 0 is unused */
	MW_SECTION_TIMELINE, /* mw_state_tick_t[], oldest first, thinned when full */
	MW_SECTION_EVENTS,   /* mw_state_event_t[], a ring */
	MW_SECTION_LIFETIMES,  /* mw_state_lifetimes_t[]; entry 0 is unused */
	MW_SECTION_THREADS,    /* mw_state_thread_t[], a ring */
	MW_SECTION_CLASSES,    /* mw_state_class_t[]: size classes of the last heap walk */
	MW_SECTION_RANGES,     /* mw_state_range_t[]: address ranges of the last heap walk */
	MW_SECTION_NODES,      /* uint64_t[]: see MW_NODE_*; entry 0 is unused */
	MW_SECTION_SIZES,      /* mw_state_size_t[]; entry 0 is unused */
	MW_SECTION_CPU,        /* mw_state_cpu_t[]; entry 0 is unused */
	MW_SECTION_LEAK_CHECK, /* one mw_state_leak_check_t: the last leak check */
	MW_SECTION_LEAKS,      /* mw_state_leak_t[]: sampled blocks that it found leaked */
	MW_SECTION_CHUNKS,     /* mw_state_chunk_t[]: the last heap walk's map; in the file only */
	MW_SECTION_FUNCTIONS,  /* mw_state_function_t[]; entry 0 is unused */
	MW_SECTION_TEXTS,      /* uint64_t[]: see MW_TEXT_*; entry 0 is unused */
	MW_SECTION_COUNT,
} mw_state_section_id_t;

/* Entry i lies at offset_bytes + i * stride_bytes if i >= first_entries, else at first_offset_bytes
 * + i * stride_bytes. The first entries of all sections share pages, because a small process has
 * few entries in each section. */
typedef struct mw_state_section {
	uint64_t
		/* A multiple of 8; a multiple of MW_STATE_ALIGN_BYTES in sections that grow. */
		offset_bytes;
	uint64_t capacity;     /* number of entries, including the first ones */
	uint32_t stride_bytes; /* size of one entry */
	uint32_t first_entries;
	uint64_t first_offset_bytes; /* a multiple of 8 */
} mw_state_section_t;

/* Lies at offset 0. Written once; `magic` is written last (release). */
typedef struct mw_state_header {
	char magic[8];
	uint32_t layout_version;
	uint32_t header_bytes;
	uint64_t file_bytes; /* largest size of the file */
	uint32_t pid;        /* pid in the process's own pid namespace */
	uint32_t uid;
	uint64_t start_ticks;   /* /proc/self/stat field 22 */
	uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: unknown */
	uint64_t created_realtime_ns;
	uint64_t created_monotonic_ns;
	uint32_t parent_pid; /* pid of the parent if the process was forked without exec; else 0 */
	uint32_t section_count;
	mw_state_section_t sections[MW_SECTION_COUNT];
	char library_version[32];
	char session[64]; /* option prof_session: set by `mallow run` to find a run's processes */
	char program[64]; /* base name of argv[0], else of the executable */
	char exe[512];    /* path of the executable; the end of a longer path is cut */
	char args[1024]; /* arguments separated by NUL, as in /proc/<pid>/cmdline; the end is cut */
	char unused_options[512]; /* options of jemalloc that are set but have no effect; names
				     separated by commas */
} mw_state_header_t;

/* Capacities in the file. They exceed the current numbers, to leave room for later settings. */
enum { MW_SETTING_CAPACITY = 32, MW_STATE_DUMP_NAME_BYTES = 256 };

/* A tool writes the want_* fields, then adds 1 to `sequence` (release). The process compares
 * `sequence` in its slow path, checks each value against its range and applies each value that
 * differs. */
typedef struct mw_state_control {
	_Atomic uint32_t sequence;
	_Atomic uint32_t want_active;     /* 0 or 1 */
	_Atomic uint64_t want_mean_bytes; /* 1 .. MW_STATE_MEAN_BYTES_MAX */
	_Atomic uint32_t want_resets;     /* differs from live.resets_done: set counters to zero */
	_Atomic uint32_t writer_pid;
	_Atomic uint32_t want_cpu_hz;       /* as live.cpu_hz */
	_Atomic uint32_t want_dumps;        /* differs from live.dumps_done: write a dump */
	_Atomic uint32_t want_leak_checks;  /* differs from leak_check.number: check for leaks */
	_Atomic uint32_t want_leak_options; /* MW_LEAK_PEEK and others */
	/* indexed and limited as in settings.def */
	_Atomic uint64_t want_settings[MW_SETTING_CAPACITY];
	/* Pattern of dump names, NUL-terminated. Written before `sequence`, as the other fields
	 * are. */
	char want_dump_name[MW_STATE_DUMP_NAME_BYTES];
	/* See lease.h. A change of the beats prolongs a lease, without a new `sequence`. */
	_Atomic uint32_t lease_cpu_hz; /* as live.cpu_hz, in the place of want_cpu_hz; 0: none */
	_Atomic uint32_t cpu_beats;
	_Atomic uint32_t lease_active; /* 1: the heap is sampled whatever want_active is; 0: none */
	_Atomic uint32_t heap_beats;
	_Atomic uint32_t want_trims; /* differs from live.trims_done: give free memory back */
} mw_state_control_t;

#define MW_STATE_MEAN_BYTES_MAX ((uint64_t)1 << 40)

/* Bits of live.flags: why a profile is incomplete. */
enum {
	MW_STATE_ENDED = 1u << 0, /* the process ended by exit(3) or by return from main */
	MW_STATE_FILE_FULL =
		1u << 1, /* the file system refused blocks: the file holds a part of the profile */
	MW_STATE_STACKS_FULL = 1u << 2, /* the stack table is full: new stacks count as "unknown" */
	/* the frame or node table is full: new stacks keep their leaf frame only */
	MW_STATE_FRAMES_FULL = 1u << 3,
	/* the record table is full: some samples count as allocated, not as live */
	MW_STATE_RECORDS_FULL = 1u << 4,
	MW_STATE_MODULES_FULL = 1u << 5,
	MW_STATE_QUIT = 1u << 6, /* the process called _exit(2) */
	/* At least one thread reached the limit on the cost of samples: see live.doublings. */
	MW_STATE_LIMITED = 1u << 7,
	/* Stacks were taken out: see live.stacks_forgotten. */
	MW_STATE_FORGOT = 1u << 8,
	/* The process did not start with mallow: the profile is from live.attached_realtime_ns on,
	 * and knows nothing of blocks allocated before. */
	MW_STATE_ATTACHED = 1u << 9,
	MW_STATE_DETACHED = 1u << 10, /* the program calls its own allocator again, unseen */
};

/* Capacities in the file. They exceed the current numbers, to leave room for later statistics. */
enum { MW_STAT_CAPACITY = 64, MW_STATE_DUMP_PATH_BYTES = 512 };
#define MW_STATE_PATH_CUT "..."

/* Values of live.rejected_reason: why the process rejected a request. */
typedef enum mw_reject_reason {
	MW_REJECT_VALUE,      /* a value is out of range, or not possible at this moment */
	MW_REJECT_PRIVILEGES, /* the process may do more than the user who can write to the file */
} mw_reject_reason_t;

typedef struct mw_state_live {
	_Atomic uint32_t sequence_seen; /* last control.sequence that the process applied */
	_Atomic uint32_t flags;
	_Atomic uint32_t active; /* 1: sampling is on; 0: off */
	_Atomic uint32_t resets_done;
	_Atomic uint64_t mean_bytes;
	_Atomic uint64_t changed_realtime_ns; /* time when `active` last changed */
	_Atomic uint64_t rate_changed_realtime_ns;
	_Atomic uint64_t reset_realtime_ns; /* time of the last reset; 0: never */
	_Atomic uint32_t rejected_sequence; /* last sequence that was not applied, in part or whole;
					       0: none */
	/* number of resets; records of an earlier generation do not count */
	_Atomic uint32_t generation;
	_Atomic uint64_t modules_used;
	_Atomic uint64_t stacks_used;
	_Atomic uint64_t frames_used;
	/* high-water mark: entries from here on were never written */
	_Atomic uint64_t records_used;
	/* Ticks in use, at most the capacity. When the section is full, the process drops every
	 * second tick and doubles the interval, so that the ticks span the whole run. A reader that
	 * reads meanwhile drops each tick that is not later than the tick before it. */
	_Atomic uint64_t ticks_written;
	_Atomic uint64_t events_written; /* events since the start; a ring: the newest is entry (n -
					    1) % capacity */
	/* Sums over all stacks. Estimates, as in mw_state_stack_t. */
	_Atomic int64_t live_objects_q16;
	_Atomic int64_t live_bytes;
	_Atomic int64_t alloc_objects_q16;
	_Atomic int64_t alloc_bytes;
	_Atomic uint64_t samples;        /* samples taken since the start */
	_Atomic uint64_t resident_bytes; /* resident memory of the process at the last tick */
	_Atomic uint64_t updated_realtime_ns;
	_Atomic uint64_t lifetimes_used;
	_Atomic uint64_t threads_written; /* threads since the start; a ring, as the events */
	/* Number of the current maximum of live_bytes; 0: no bytes were live yet. A new maximum
	 * gets a new number, which marks the peak values of all stacks as outdated. Peak value of
	 * each stack: mw_state_stack_t. */
	_Atomic uint32_t peak_number;
	/* Largest number of times that a thread doubled T because of the limit on the cost of
	 * samples; 0: no thread reached the limit. */
	_Atomic uint32_t doublings;
	_Atomic int64_t peak_bytes;
	_Atomic uint64_t peak_monotonic_ns; /* time of the maximum: CLOCK_MONOTONIC */
	/* Number of the last heap walk. Odd while the process writes the result; 0: no walk yet. */
	_Atomic uint64_t heap_walk_sequence;
	_Atomic uint64_t heap_walk_realtime_ns;
	_Atomic uint64_t classes_used;
	/* ranges found; if above the capacity, the rest was left out */
	_Atomic uint64_t ranges_used;
	/* chunks found by the last walk; if above the capacity, the rest was left out */
	_Atomic uint64_t chunks_used;
	uint64_t stat_count; /* entries of `stats` in use */
	_Atomic uint64_t stats[MW_STAT_CAPACITY];
	/* Threads that had not applied the last change of the sampling rate when sequence_seen was
	 * set; out of `threads`. */
	_Atomic uint32_t threads_behind;
	_Atomic uint32_t threads;
	_Atomic uint32_t dumps_done; /* last control.want_dumps that the process followed */
	_Atomic uint32_t setting_count;
	_Atomic uint64_t settings[MW_SETTING_CAPACITY]; /* the current values */
	_Atomic uint64_t dumps_written, dumps_failed;
	_Atomic uint64_t nodes_used;
	_Atomic uint64_t sizes_used;
	/* Period that the counters cover. counted_since_ns: start of the process or time of the
	 * last reset. stops: how often sampling was switched off since then. off_ns: for how long
	 * in total, excluding the current period without sampling; mw_state_off_ns() includes
	 * it. */
	_Atomic uint64_t counted_since_ns; /* CLOCK_REALTIME */
	_Atomic uint64_t off_ns, stops;
	/* CPU samples (MW_SECTION_CPU). cpu_hz: see cpu_source.h; 0: off. cpu_changed_ns:
	 * CLOCK_REALTIME when cpu_hz last changed between 0 and another value; 0: never. */
	_Atomic uint32_t cpu_hz;
	_Atomic uint32_t cpu_error;   /* mw_cpu_error_t */
	_Atomic uint32_t cpu_signal;  /* number of the timers' signal while cpu_hz > 0 */
	_Atomic uint32_t cpu_threads; /* threads that have a timer */
	_Atomic uint64_t cpu_changed_ns;
	_Atomic uint64_t cpu_used;      /* entries of MW_SECTION_CPU in use; 0: never switched on */
	_Atomic uint64_t cpu_ns;        /* CPU time that all samples stand for */
	_Atomic uint64_t wall_ns;       /* wall-clock time that all samples stand for */
	_Atomic uint64_t cpu_samples;   /* samples that are counted in MW_SECTION_CPU */
	_Atomic uint64_t cpu_truncated; /* samples among them without their outermost frames */
	_Atomic uint64_t cpu_dropped;   /* samples that are not counted there */
	_Atomic uint64_t cpu_refused;   /* timers of threads that the kernel refused */
	/* Stacks that were taken out because nothing referred to them any more: what they allocated
	 * counts as entry 0's. */
	_Atomic uint64_t stacks_forgotten;
	/* Raised at the begin and at the end of each collection that takes stacks out: odd while
	 * one runs. A reader that sees it change while it reads the sections reads them again. */
	_Atomic uint32_t collections;
	_Atomic uint32_t rejected_reason; /* mw_reject_reason_t of rejected_sequence */
	/* Leases that hold: the rate of control.lease_cpu_hz, and 1 for control.lease_active. */
	_Atomic uint32_t cpu_lease_hz, heap_lease;
	/* What cpu_hz and active are when no lease holds. */
	_Atomic uint32_t standing_cpu_hz, standing_active;
	/* Bytes given back to the kernel for the last control.want_trims; before trims_done. */
	_Atomic uint64_t trimmed_bytes;
	_Atomic uint32_t trims_done;
	_Atomic uint64_t functions_used, texts_used; /* 0: no interpreter was met */
	/* With MW_STATE_ATTACHED: CLOCK_REALTIME when the last attach began and when it ended; 0:
	 * it goes on. */
	_Atomic uint64_t attached_realtime_ns, detached_realtime_ns;
	/* Slots of global offset tables that were replaced, modules of the process, and those of
	 * them that came after the attach. */
	_Atomic uint32_t attach_slots, attach_modules, attach_modules_later;
	_Atomic uint32_t attach_generation;       /* number of attaches */
	_Atomic uint32_t attach_reason;           /* mw_attach_reason_t (attach.h): why it ended */
	char dump_name[MW_STATE_DUMP_NAME_BYTES]; /* pattern of dump names */
	/* Path of the newest dump. A longer path is stored as MW_STATE_PATH_CUT and the path's
	 * end. */
	char last_dump[MW_STATE_DUMP_PATH_BYTES];
} mw_state_live_t;

/* Returns for how many nanoseconds of the period that the counters cover sampling was off. */
static inline uint64_t mw_state_off_ns(const mw_state_live_t *live, uint64_t now_ns) {
	uint64_t off_ns = atomic_load_explicit(&live->off_ns, memory_order_relaxed);
	uint64_t changed_ns =
		atomic_load_explicit(&live->changed_realtime_ns, memory_order_relaxed);
	uint64_t since_ns = atomic_load_explicit(&live->counted_since_ns, memory_order_relaxed);
	since_ns = changed_ns > since_ns ? changed_ns : since_ns;
	if (atomic_load_explicit(&live->active, memory_order_relaxed) != 0 || now_ns <= since_ns)
		return off_ns;
	return off_ns + (now_ns - since_ns);
}

/* One loaded object, or a range of code without an object. Written before modules_used counts it;
 * afterwards only unloaded_ns changes. */
typedef struct mw_state_module {
	uint64_t start; /* start of the executable segment, as mapped */
	uint64_t limit;
	uint64_t file_offset;         /* offset of the segment in the file */
	uint64_t bias;                /* runtime address - address in the ELF file */
	uint64_t loaded_ns;           /* CLOCK_REALTIME when first seen */
	_Atomic uint64_t unloaded_ns; /* CLOCK_REALTIME when the object was found unloaded; 0: not
					 found unloaded */
	uint8_t build_id_bytes;       /* 0: the object has no build-id */
	uint8_t build_id[31];
	char path[432];
} mw_state_module_t;

/* A frame. Bit 63: the address is an exact PC (the frame was interrupted by a signal); 0: a return
 * address. Bits 62..48: module index + 1; 0: no module. Bits 47..0: address in the ELF file (PC -
 * bias); without a module the PC. MW_FRAME_KERNEL in place of a module: the PC is an address in the
 * kernel, where bits 63..48 are 1. A frame of a script: see script_frames.h. */
#define MW_FRAME_EXACT ((uint64_t)1 << 63)
#define MW_FRAME_MODULE_SHIFT 48
#define MW_FRAME_MODULE_MAX 0x7fffu
#define MW_FRAME_KERNEL ((uint64_t)MW_FRAME_MODULE_MAX << MW_FRAME_MODULE_SHIFT)
#define MW_FRAME_ADDRESS_MASK (((uint64_t)1 << 48) - 1)

/* A node of the tree of stacks. Bits 63..32: index of the node's frame. Bits 31..0: index of the
 * caller's node; 0: the frame is the outermost. A stack is the path from a leaf node to an
 * outermost node. A word of 0: the node is free. */
#define MW_NODE_FRAME_SHIFT 32
#define MW_STATE_DEPTH_MAX 512u

/* Why a dump was written: %r in its name (state/dump_reasons.def). */
typedef enum mw_dump_reason {
#define MW_DUMP_REASON(name, help) MW_DUMP_##name,
#include "state/dump_reasons.def"
#undef MW_DUMP_REASON
	MW_DUMP_REASON_COUNT
} mw_dump_reason_t;

/* MAPPING: the stack of a call of the program that maps memory. Of its counters only live_* and
 * alloc_* of objects and bytes are in use: numbers and bytes of mappings. They are exact and not in
 * the sums of the live section. */
enum { MW_STACK_TRUNCATED = 1u << 0, MW_STACK_MAPPING = 1u << 1 };

/* One distinct stack and its counters. Estimates: each sample adds its weight 1/p. *_objects_q16
 * are in units of 1/65536 object. Bytes are rounded to whole bytes per sample, so that a free
 * subtracts exactly what the allocation added. "bytes" are usable bytes, "requested" bytes are
 * those that the program requested. */
typedef struct mw_state_stack {
	uint64_t hash;  /* hash of the frames; 0 for entry 0, and in free entries */
	uint32_t node;  /* node of the leaf frame */
	uint16_t depth; /* number of frames, at most MW_STATE_DEPTH_MAX */
	uint16_t flags;
	_Atomic int64_t live_objects_q16;
	_Atomic int64_t live_bytes;
	_Atomic int64_t live_requested_bytes;
	/* the part of live_objects with requests for 0 bytes */
	_Atomic int64_t live_zero_objects_q16;
	_Atomic int64_t alloc_objects_q16;
	_Atomic int64_t alloc_bytes;
	_Atomic int64_t alloc_requested_bytes;
	_Atomic int64_t alloc_zero_objects_q16;
	_Atomic uint64_t live_samples;
	_Atomic uint64_t alloc_samples;
	/* Live objects and bytes at the maximum with the number peak_number; the first change after
	 * a maximum stores them. If peak_number differs from live.peak_number, the stack has not
	 * changed since the current maximum, and its values are live_*. */
	_Atomic int64_t peak_objects_q16;
	_Atomic int64_t peak_bytes;
	_Atomic uint32_t peak_number;
	_Atomic uint32_t
		/* Entry of MW_SECTION_LIFETIMES; 0: none of the stack's samples was freed yet. */
		lifetimes;
	/* alloc_* divided by object size. MW_SECTION_SIZES has an entry for each size except the
	 * first one; `sizes` is the newest entry (0: none; or MW_SIZES_UNKNOWN). Objects of the
	 * first size are the rest. */
	_Atomic uint32_t first_size_bytes; /* the first object size; 0: sizes are not known */
	_Atomic uint32_t sizes;
} mw_state_stack_t;

/* Value of mw_state_stack_t.sizes: the sizes are not known, because the table was full. */
#define MW_SIZES_UNKNOWN UINT32_MAX

/* Objects of one size that a stack allocated, for each size after the stack's first. */
typedef struct mw_state_size {
	_Atomic int64_t objects_q16;
	_Atomic int64_t bytes;
	_Atomic int64_t requested_bytes;
	_Atomic uint64_t samples;
	uint64_t usable_bytes; /* usable bytes of one object, see mw_state_size_of() */
	uint32_t next;         /* the stack's entry before this one; 0: none */
	uint32_t stack;        /* index of the stack */
	uint64_t reserved[2];  /* padding: the size of an entry divides a page */
} mw_state_size_t;

/* Largest size that is stored exactly: the small size classes. Larger sizes are rounded up to one
 * of four steps per doubling, because there is no limit to their number. */
#define MW_SIZE_EXACT_MAX_BYTES ((uint64_t)65536)

static inline uint64_t mw_state_size_of(uint64_t usable_bytes) {
	if (usable_bytes <= MW_SIZE_EXACT_MAX_BYTES || usable_bytes > UINT64_MAX / 2)
		return usable_bytes;
	uint64_t step = (uint64_t)1 << (63 - __builtin_clzll(usable_bytes - 1)) >> 2;
	return (usable_bytes + step - 1) & ~(step - 1);
}

/* Lifetimes are counted by decade: below 1 microsecond, below 10, ... below 1000 s, 1000 s and
 * more. */
enum { MW_LIFETIME_DECADES = 11 };
#define MW_LIFETIME_FIRST_NS 1000u

/* Lifetimes of a stack's sampled objects that were freed, with weights applied. */
typedef struct mw_state_lifetimes {
	_Atomic uint64_t samples;
	_Atomic int64_t object_us;        /* sum of the lifetimes, in microseconds */
	_Atomic int64_t other_thread_q16; /* objects freed by another thread than the one that
					     allocated them */
	_Atomic int64_t temporary_q16;    /* objects freed before their thread allocated again */
	_Atomic int64_t decades_q16[MW_LIFETIME_DECADES];
	uint64_t reserved;
} mw_state_lifetimes_t;

/* A thread that took a sample. The name is updated while the thread takes samples. */
typedef struct mw_state_thread {
	uint32_t thread_id; /* the kernel's thread id; 0: not written yet */
	uint32_t reserved;
	char name[16];     /* NUL-terminated */
	uint64_t first_ns; /* CLOCK_MONOTONIC of the thread's first sample */
} mw_state_thread_t;

/* One live sample. stack == MW_RECORD_FREE: the entry is free. address == 0: the entry was never
 * written. Only records whose generation equals live.generation count. */
typedef struct mw_state_record {
	_Atomic uint32_t sequence; /* odd while the process writes the record */
	uint32_t stack;
	uint64_t address;
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t weight_q16;
	uint64_t time_ns; /* CLOCK_MONOTONIC; header.created_* relate it to the time of day */
	uint32_t thread_id;
	uint32_t generation;
	uint64_t reserved;
} mw_state_record_t;

#define MW_RECORD_FREE UINT32_MAX

/* Time of one stack in one thread, on one processor and in one state. */
typedef struct mw_state_cpu {
	uint32_t stack; /* index in MW_SECTION_STACKS */
	uint32_t thread_id;
	uint16_t processor; /* its number */
	uint16_t state;     /* mw_cpu_state_t */
	uint32_t reserved;  /* padding: the size of an entry divides a page */
	_Atomic uint64_t samples;
	_Atomic uint64_t time_ns; /* time, or number of events, that the samples stand for */
} mw_state_cpu_t;

typedef struct mw_state_tick {
	uint64_t time_ns; /* CLOCK_REALTIME */
	int64_t live_bytes;
	uint64_t resident_bytes;
	int64_t alloc_bytes;
} mw_state_tick_t;

typedef enum mw_state_event_kind {
	MW_EVENT_NONE,
	MW_EVENT_START, /* sampling was switched on; a = mean bytes */
	MW_EVENT_STOP,
	MW_EVENT_RATE, /* a = old, b = new mean bytes */
	MW_EVENT_RESET,
	MW_EVENT_FORK,     /* a = pid of the parent */
	MW_EVENT_FULL,     /* a = the MW_STATE_*_FULL bit that was set */
	MW_EVENT_REJECTED, /* a control word was out of range; a = its value */
	MW_EVENT_UNLOAD,   /* a = module index */
	MW_EVENT_EXIT,
	MW_EVENT_DUMP,        /* a = mw_dump_reason_t, b = number of the dump in this process */
	MW_EVENT_DUMP_FAILED, /* a = mw_dump_reason_t, b = errno, or 0 */
	MW_EVENT_REQUEST,     /* a = bytes of the request, b = number of its stack */
	MW_EVENT_CRASH,       /* a = signal number */
	MW_EVENT_SOFT_LIMIT,  /* a = bytes that would have been in use, b = the limit */
	MW_EVENT_HARD_LIMIT,  /* as SOFT_LIMIT; the request was refused */
} mw_state_event_kind_t;

typedef struct mw_state_event {
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t kind;
	uint64_t a;
	uint64_t b;
} mw_state_event_t;

/* Sums over the pages of one size class; block_bytes == 0: over all large blocks. */
typedef struct mw_state_class {
	uint64_t block_bytes;
	uint64_t memory_bytes;  /* bytes of the pages */
	uint64_t touched_bytes; /* bytes of blocks that were used at least once */
	uint64_t used_bytes;    /* bytes of blocks that the program holds or that lie in a thread's
				   tcache list */
} mw_state_class_t;

typedef struct mw_state_range {
	uint64_t start, limit;
	uint64_t kind;  /* MW_RANGE_* of state/stats.h */
	uint64_t stack; /* of MW_RANGE_MAPPING: number of the stack; else 0 */
} mw_state_range_t;

_Static_assert(sizeof(mw_state_section_t) == 32, "file format");
_Static_assert(sizeof(mw_state_header_t) <= MW_STATE_PAGE_BYTES, "file format");
_Static_assert(sizeof(mw_state_control_t) == 576, "file format");
_Static_assert((int)MW_SETTING_COUNT <= (int)MW_SETTING_CAPACITY, "file format");
_Static_assert(sizeof(mw_state_live_t) <= MW_STATE_PAGE_BYTES, "file format");
_Static_assert(sizeof(mw_state_module_t) == 512, "file format");
_Static_assert(sizeof(mw_state_stack_t) == 128, "file format");
_Static_assert(sizeof(mw_state_record_t) == 64, "file format");
_Static_assert(sizeof(mw_state_tick_t) == 32, "file format");
_Static_assert(sizeof(mw_state_event_t) == 32, "file format");
_Static_assert(sizeof(mw_state_lifetimes_t) == 128, "file format");
_Static_assert(sizeof(mw_state_size_t) == 64, "file format");
_Static_assert(sizeof(mw_state_thread_t) == 32, "file format");
_Static_assert(sizeof(mw_state_class_t) == 32, "file format");
_Static_assert(sizeof(mw_state_range_t) == 32, "file format");
_Static_assert(sizeof(mw_state_cpu_t) == 32, "file format");
_Static_assert((int)MW_CPU_STATES <= (int)UINT16_MAX, "mw_state_cpu_t.state");
_Static_assert(sizeof(mw_state_leak_check_t) <= MW_STATE_PAGE_BYTES, "file format");
_Static_assert(sizeof(mw_state_leak_t) == 64, "file format");

/* Returns the size of an entry in this version of the layout. Always inlined: a section that the
 * compiler knows needs no table. */
MW_ALWAYS_INLINE uint64_t mw_state_stride(mw_state_section_id_t section) {
	static const uint16_t strides[MW_SECTION_COUNT] = {
		[MW_SECTION_CONTROL] = sizeof(mw_state_control_t),
		[MW_SECTION_LIVE] = sizeof(mw_state_live_t),
		[MW_SECTION_MODULES] = sizeof(mw_state_module_t),
		[MW_SECTION_STACKS] = sizeof(mw_state_stack_t),
		[MW_SECTION_FRAMES] = sizeof(uint64_t),
		[MW_SECTION_NODES] = sizeof(uint64_t),
		[MW_SECTION_RECORDS] = sizeof(mw_state_record_t),
		[MW_SECTION_TIMELINE] = sizeof(mw_state_tick_t),
		[MW_SECTION_EVENTS] = sizeof(mw_state_event_t),
		[MW_SECTION_LIFETIMES] = sizeof(mw_state_lifetimes_t),
		[MW_SECTION_SIZES] = sizeof(mw_state_size_t),
		[MW_SECTION_THREADS] = sizeof(mw_state_thread_t),
		[MW_SECTION_CLASSES] = sizeof(mw_state_class_t),
		[MW_SECTION_RANGES] = sizeof(mw_state_range_t),
		[MW_SECTION_CPU] = sizeof(mw_state_cpu_t),
		[MW_SECTION_LEAK_CHECK] = sizeof(mw_state_leak_check_t),
		[MW_SECTION_LEAKS] = sizeof(mw_state_leak_t),
		[MW_SECTION_CHUNKS] = sizeof(mw_state_chunk_t),
		[MW_SECTION_FUNCTIONS] = sizeof(mw_state_function_t),
		[MW_SECTION_TEXTS] = sizeof(uint64_t),
	};
	return strides[section];
}

/* Offsets of the first entries of each section, behind the header, as the library writes them;
 * readers use the section table. A section that is not listed has all its entries in pages of its
 * own. The sizes fit a process with a few stacks and samples. */
#define MW_STATE_FIRSTS_BYTES (4 * MW_STATE_PAGE_BYTES)

typedef struct mw_state_first {
	uint16_t offset_bytes;
	uint16_t entries;
} mw_state_first_t;

MW_ALWAYS_INLINE mw_state_first_t mw_state_first(mw_state_section_id_t section) {
	static const mw_state_first_t firsts[MW_SECTION_COUNT] = {
		[MW_SECTION_EVENTS] = {3072, 16},    [MW_SECTION_THREADS] = {3584, 16},
		[MW_SECTION_CONTROL] = {4096, 1},    [MW_SECTION_LIVE] = {4672, 1},
		[MW_SECTION_NODES] = {6720, 56},     [MW_SECTION_FRAMES] = {7168, 64},
		[MW_SECTION_SIZES] = {7680, 8},      [MW_SECTION_STACKS] = {8192, 16},
		[MW_SECTION_LIFETIMES] = {10240, 8}, [MW_SECTION_RECORDS] = {11264, 16},
		[MW_SECTION_MODULES] = {12288, 4},   [MW_SECTION_TIMELINE] = {14336, 32},
		[MW_SECTION_CLASSES] = {15360, 24},  [MW_SECTION_RANGES] = {16128, 8},
	};
	return firsts[section];
}

/* Returns the number of the section's bytes that lie among the first entries. */
MW_ALWAYS_INLINE uint64_t mw_state_first_bytes(mw_state_section_id_t section) {
	return mw_state_first(section).entries * mw_state_stride(section);
}

_Static_assert(sizeof(mw_state_header_t) <= 3072, "file format: the first events stand behind");
_Static_assert(4672 + sizeof(mw_state_live_t) <= 6720, "file format: the first nodes stand behind");

#endif
