/* SPDX-License-Identifier: MIT
 * layout.h -- the state file, byte for byte: what the library writes and the tools read.
 * Layer: state.  Little-endian, all offsets from the start of the file.  The process owns every
 * byte except the control section, which tools write.  It keeps a private image of the same layout
 * and never reads the file back, the control section aside, whose values it checks.
 *
 * Readers trust nothing: the section table is validated against the file's size, indices against
 * capacities, and counts are clamped.  Multi-word entries that change (records) carry a sequence
 * number: odd while being written.
 *
 * Place: <dir>/mallow-<uid>/<pid>.<start_ticks>, dir being /dev/shm, then $XDG_RUNTIME_DIR; else a
 * memfd named "mallow-state" (found through /proc/<pid>/map_files), else private memory only.  The
 * name is
 * "/proc/<pid>/stat" field 22, so that a reused pid never finds another's file.
 * The file is sparse: sections sit at fixed offsets of a mapping of the largest size, and blocks
 * are reserved (MADV_POPULATE_WRITE or fallocate) before they are touched.  Readers use pread(2)
 * and read no more than the counts in the live section say: mapping a hole of a tmpfs file
 * allocates it. An entry that is zero throughout was never written, or never mirrored
 * (MW_STATE_FILE_FULL). Explained for readers: doc/state-file.md. */
#ifndef MW_STATE_LAYOUT_H
#define MW_STATE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "state/settings.h"
#include "state/stats.h"

#define MW_STATE_MAGIC "MALLOWST"
/* Readers refuse another version with a message that names both. */
#define MW_STATE_VERSION 5u
#define MW_STATE_PAGE_BYTES 4096u

typedef enum mw_state_section_id {
	MW_SECTION_CONTROL,  /* one mw_state_control_t: tools write, the process reads */
	MW_SECTION_LIVE,     /* one mw_state_live_t: the process's side of the conversation */
	MW_SECTION_MODULES,  /* mw_state_module_t[] */
	MW_SECTION_STACKS,   /* mw_state_stack_t[]; entry 0 stands for "stack unknown" */
	MW_SECTION_FRAMES,   /* uint64_t[], each once: see MW_FRAME_*; entry 0 is unused */
	MW_SECTION_RECORDS,  /* mw_state_record_t[]; entry 0 is unused */
	MW_SECTION_TIMELINE, /* mw_state_tick_t[], oldest first, thinned when full */
	MW_SECTION_EVENTS,   /* mw_state_event_t[], a ring */
	MW_SECTION_LIVES,    /* mw_state_life_t[]; entry 0 is unused */
	MW_SECTION_THREADS,  /* mw_state_thread_t[], a ring */
	MW_SECTION_CLASSES,  /* mw_state_class_t[]: the last survey of the heap */
	MW_SECTION_RANGES,   /* mw_state_range_t[]: likewise */
	MW_SECTION_NODES,    /* uint64_t[]: see MW_NODE_*; entry 0 is unused */
	MW_SECTION_SIZES,    /* mw_state_size_t[]; entry 0 is unused */
	MW_SECTION_COUNT,
} mw_state_section_id_t;

/* Entries from `first_entries` on stand at offset_bytes + index * stride_bytes, those before
 * likewise from first_offset_bytes on: the first ones of all sections share pages, as a small
 * process has few of each. */
typedef struct mw_state_section {
	uint64_t
		offset_bytes; /* multiple of 8; of MW_STATE_PAGE_BYTES where entries may be added */
	uint64_t capacity;    /* entries, the first ones included */
	uint32_t stride_bytes; /* of one entry */
	uint32_t first_entries;
	uint64_t first_offset_bytes; /* multiple of 8 */
} mw_state_section_t;

/* At offset 0; written once, magic last (release). */
typedef struct mw_state_header {
	char magic[8];
	uint32_t layout_version;
	uint32_t header_bytes;
	uint64_t file_bytes; /* the largest size */
	uint32_t pid;        /* in the process's own pid namespace */
	uint32_t uid;
	uint64_t start_ticks; /* /proc/<pid>/stat field 22 */
	uint64_t created_realtime_ns;
	uint64_t created_monotonic_ns;
	uint32_t parent_pid; /* of the process this one was forked from without exec; else 0 */
	uint32_t section_count;
	mw_state_section_t sections[MW_SECTION_COUNT];
	char library_version[32];
	char session[64]; /* option prof_session: set by `mallow run` to find a run's processes */
	char program[64]; /* base name it was called by, else of the executable */
	char exe[512];    /* path, cut at the end when longer */
	char args[1024];  /* NUL-separated as /proc/<pid>/cmdline, cut at the end */
	char unused_options[512]; /* of jemalloc, set and without effect; names with commas */
} mw_state_header_t;

/* Places in the file: room for rows to come. */
enum { MW_SETTING_CAPACITY = 32, MW_STATE_DUMP_NAME_BYTES = 256 };

/* Tools fill in the wants, then raise `sequence` by one (release).  The process compares the
 * sequence at its refills, checks each value against its range and applies what differs. */
typedef struct mw_state_control {
	_Atomic uint32_t sequence;
	_Atomic uint32_t want_active;     /* 0 or 1 */
	_Atomic uint64_t want_mean_bytes; /* 1 .. MW_STATE_MEAN_BYTES_MAX */
	_Atomic uint32_t want_resets;     /* differs from live.resets_done: set counters to zero */
	_Atomic uint32_t writer_pid;
	_Atomic uint32_t lock;       /* tools: 0, or pid of the tool that is writing */
	_Atomic uint32_t want_dumps; /* differs from live.dumps_done: write a dump */
	_Atomic uint64_t want_settings[MW_SETTING_CAPACITY]; /* settings.def's, in its ranges */
	/* Pattern of the names of dumps, NUL-terminated; written before `sequence` as all else. */
	char want_dump_name[MW_STATE_DUMP_NAME_BYTES];
} mw_state_control_t;

#define MW_STATE_MEAN_BYTES_MAX ((uint64_t)1 << 40)

/* Why a profile holds less than it should; bits of live.flags. */
enum {
	MW_STATE_ENDED = 1u << 0,        /* the process ended by exit(3) or return */
	MW_STATE_FILE_FULL = 1u << 1,    /* the file system refused blocks: mirror truncated */
	MW_STATE_STACKS_FULL = 1u << 2,  /* new stacks are counted as "unknown" */
	MW_STATE_FRAMES_FULL = 1u << 3,  /* of frames or nodes: new stacks are cut to their leaf */
	MW_STATE_RECORDS_FULL = 1u << 4, /* some samples count as allocated, not as live */
	MW_STATE_MODULES_FULL = 1u << 5,
	MW_STATE_LEFT = 1u << 6, /* the process called _exit(2) */
};

/* Places in the file: room for rows to come. */
enum { MW_STAT_CAPACITY = 64, MW_STATE_DUMP_PATH_BYTES = 512 };
#define MW_STATE_PATH_CUT "..."

typedef struct mw_state_live {
	_Atomic uint32_t sequence_seen; /* control.sequence last applied */
	_Atomic uint32_t flags;
	_Atomic uint32_t active; /* is sampling on */
	_Atomic uint32_t resets_done;
	_Atomic uint64_t mean_bytes;
	_Atomic uint64_t changed_realtime_ns; /* when `active` last changed */
	_Atomic uint64_t rate_changed_realtime_ns;
	_Atomic uint64_t reset_realtime_ns; /* 0: never */
	_Atomic uint32_t rejected_sequence; /* last sequence with a value out of range; 0: none */
	_Atomic uint32_t generation; /* raised by a reset; records of older ones do not count */
	_Atomic uint64_t modules_used;
	_Atomic uint64_t stacks_used;
	_Atomic uint64_t frames_used;
	_Atomic uint64_t records_used; /* high-water mark: entries above were never written */
	/* Ticks in use, never above the capacity: when the section is full every second tick is
	 * dropped and the interval doubles, so that it spans the whole run.  A reader that comes in
	 * between drops a tick that is not later than the one before it. */
	_Atomic uint64_t ticks_written;
	_Atomic uint64_t events_written; /* total; a ring: the newest is (n - 1) % capacity */
	/* Sums over all stacks, estimates as in mw_state_stack_t. */
	_Atomic int64_t live_objects_q16;
	_Atomic int64_t live_bytes;
	_Atomic int64_t alloc_objects_q16;
	_Atomic int64_t alloc_bytes;
	_Atomic uint64_t samples;        /* taken since the start */
	_Atomic uint64_t resident_bytes; /* of the process, at the last tick */
	_Atomic uint64_t updated_realtime_ns;
	_Atomic uint64_t lives_used;
	_Atomic uint64_t threads_written; /* total; a ring, as the events */
	/* The last maximum of live_bytes that passed the one before by 5 %: its number (0: none
	 * yet), and what was live then.  Each stack's share: mw_state_stack_t. */
	_Atomic uint32_t peak_number;
	uint32_t reserved;
	_Atomic int64_t peak_bytes;
	_Atomic uint64_t peak_realtime_ns;
	/* Of the last survey: odd while it is being written, 0: none yet. */
	_Atomic uint64_t survey_sequence;
	_Atomic uint64_t survey_realtime_ns;
	_Atomic uint64_t classes_used;
	_Atomic uint64_t ranges_used; /* more than the capacity: that many were left out */
	uint64_t stat_count;          /* entries of `stats` in use */
	_Atomic uint64_t stats[MW_STAT_CAPACITY];
	/* Threads that have not yet taken over the last change of the rate, as counted when
	 * sequence_seen was set; of `threads` in all. */
	_Atomic uint32_t threads_behind;
	_Atomic uint32_t threads;
	_Atomic uint32_t dumps_done; /* control.want_dumps last obeyed */
	_Atomic uint32_t setting_count;
	_Atomic uint64_t settings[MW_SETTING_CAPACITY]; /* as they hold now */
	_Atomic uint64_t dumps_written, dumps_failed;
	_Atomic uint64_t nodes_used;
	_Atomic uint64_t sizes_used;
	char dump_name[MW_STATE_DUMP_NAME_BYTES]; /* the pattern */
	/* Path of the newest; of a longer one the end, after MW_STATE_PATH_CUT. */
	char last_dump[MW_STATE_DUMP_PATH_BYTES];
} mw_state_live_t;

/* One loaded object, or a range of code without one.  Written before modules_used counts it; only
 * unloaded_ns changes afterwards. */
typedef struct mw_state_module {
	uint64_t start; /* of the executable segment, as mapped */
	uint64_t limit;
	uint64_t file_offset;         /* of that segment */
	uint64_t bias;                /* runtime address - address in the ELF file */
	uint64_t loaded_ns;           /* CLOCK_REALTIME when first seen */
	_Atomic uint64_t unloaded_ns; /* 0: still there when last looked */
	uint8_t build_id_bytes;       /* 0: none */
	uint8_t build_id[31];
	char path[432];
} mw_state_module_t;

/* A frame: bit 63 "the exact PC" (of a frame interrupted by a signal; all others are return
 * addresses), bits 62..48 module index + 1 (0: no module), bits 47..0 address in the ELF file
 * (PC - bias; the plain PC without a module). */
#define MW_FRAME_EXACT ((uint64_t)1 << 63)
#define MW_FRAME_MODULE_SHIFT 48
#define MW_FRAME_MODULE_MAX 0x7fffu
#define MW_FRAME_ADDRESS_MASK (((uint64_t)1 << 48) - 1)

/* A node of the tree of stacks: the number of its frame above bit 32, below the node of the caller,
 * which is a smaller number; 0 for the outermost.  A stack is the path from its leaf to there. */
#define MW_NODE_FRAME_SHIFT 32
#define MW_STATE_DEPTH_MAX 512u

/* Why a dump was written: %r of its name (state/dump_reasons.def). */
typedef enum mw_dump_reason {
#define MW_DUMP_REASON(name, help) MW_DUMP_##name,
#include "state/dump_reasons.def"
#undef MW_DUMP_REASON
	MW_DUMP_REASON_COUNT
} mw_dump_reason_t;

enum { MW_STACK_TRUNCATED = 1u << 0 };
/* Of a stack's flags, from this bit on: the threads that count in this entry, which are some of
 * all.  Others count the same stack in another, and readers add them up. */
#define MW_STACK_PART_SHIFT 8
#define MW_STACK_PARTS 4u

/* A distinct stack and its counters.  Estimates: each sample adds its weight 1/p; *_objects_q16 in
 * units of 1/65536 object, bytes rounded to whole bytes per sample, so that a free takes back just
 * what the allocation added.  "bytes" are usable bytes, "requested" what the program asked for. */
typedef struct mw_state_stack {
	uint64_t hash;  /* of the frames; 0 for entry 0 */
	uint32_t node;  /* of its leaf */
	uint16_t depth; /* frames, at most MW_STATE_DEPTH_MAX */
	uint16_t flags;
	_Atomic int64_t live_objects_q16;
	_Atomic int64_t live_bytes;
	_Atomic int64_t live_requested_bytes;
	_Atomic int64_t live_zero_objects_q16; /* of live_objects, those of requests for 0 bytes */
	_Atomic int64_t alloc_objects_q16;
	_Atomic int64_t alloc_bytes;
	_Atomic int64_t alloc_requested_bytes;
	_Atomic int64_t alloc_zero_objects_q16;
	_Atomic uint64_t live_samples;
	_Atomic uint64_t alloc_samples;
	/* What was live at the maximum numbered peak_number, kept by the first change after it.
	 * When that is not live.peak_number, nothing has changed since: live_* are the values. */
	_Atomic int64_t peak_objects_q16;
	_Atomic int64_t peak_bytes;
	_Atomic uint32_t peak_number;
	_Atomic uint32_t life; /* entry of MW_SECTION_LIVES; 0: none of its samples was freed yet */
	/* alloc_* by the size of the objects: those of any other size than the first one's are in
	 * MW_SECTION_SIZES, where `sizes` is the newest entry (0: none; MW_SIZES_UNKNOWN); the rest
	 * is of the first. */
	_Atomic uint32_t first_size_bytes; /* 0: sizes are not known */
	_Atomic uint32_t sizes;
} mw_state_stack_t;

/* There was no room for one of them. */
#define MW_SIZES_UNKNOWN UINT32_MAX

/* What was allocated by a stack in objects of one size, of those since its first. */
typedef struct mw_state_size {
	_Atomic int64_t objects_q16;
	_Atomic int64_t bytes;
	_Atomic int64_t requested_bytes;
	_Atomic uint64_t samples;
	uint64_t usable_bytes; /* of one object, see mw_state_size_of() */
	uint32_t next;         /* entry of the stack's size before, a smaller number; 0: none */
	uint32_t stack;        /* whose list it is in */
} mw_state_size_t;

/* Sizes up to here are told apart exactly: size classes.  Above there is no end of them, so they
 * are rounded up to the next of four in a doubling. */
#define MW_SIZE_EXACT_MAX_BYTES ((uint64_t)65536)

static inline uint64_t mw_state_size_of(uint64_t usable_bytes) {
	if (usable_bytes <= MW_SIZE_EXACT_MAX_BYTES || usable_bytes > UINT64_MAX / 2)
		return usable_bytes;
	uint64_t step = (uint64_t)1 << (63 - __builtin_clzll(usable_bytes - 1)) >> 2;
	return (usable_bytes + step - 1) & ~(step - 1);
}

/* Lifetimes are counted by powers of ten: below 1 microsecond, below 10, ... below 1000 s, longer.
 */
enum { MW_LIFE_DECADES = 11 };
#define MW_LIFE_FIRST_NS 1000u

/* What became of a stack's sampled objects that were freed, weights applied. */
typedef struct mw_state_life {
	_Atomic uint64_t samples;
	_Atomic int64_t object_us;        /* sum of the lifetimes, in microseconds */
	_Atomic int64_t other_thread_q16; /* freed by another thread than allocated them */
	_Atomic int64_t temporary_q16;    /* freed before their thread allocated again */
	_Atomic int64_t decades_q16[MW_LIFE_DECADES];
	uint64_t reserved;
} mw_state_life_t;

/* A thread that took a sample; the name is looked at again while it goes on to. */
typedef struct mw_state_thread {
	uint32_t thread_id; /* of the kernel; 0: not written yet */
	uint32_t reserved;
	char name[16];     /* NUL-terminated */
	uint64_t first_ns; /* CLOCK_MONOTONIC, of its first sample */
} mw_state_thread_t;

/* A live sample.  stack == MW_RECORD_FREE: free entry; address == 0: never written.  Only records
 * of live.generation count. */
typedef struct mw_state_record {
	_Atomic uint32_t sequence; /* odd: being written */
	uint32_t stack;
	uint64_t address;
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t weight_q16;
	uint64_t time_ns; /* CLOCK_MONOTONIC: header.created_* say what time of day that is */
	uint32_t thread_id;
	uint32_t generation;
	uint64_t reserved;
} mw_state_record_t;

#define MW_RECORD_FREE UINT32_MAX

typedef struct mw_state_tick {
	uint64_t time_ns; /* CLOCK_REALTIME */
	int64_t live_bytes;
	uint64_t resident_bytes;
	int64_t alloc_bytes;
} mw_state_tick_t;

typedef enum mw_state_event_kind {
	MW_EVENT_NONE,
	MW_EVENT_START, /* sampling on; a = mean bytes */
	MW_EVENT_STOP,
	MW_EVENT_RATE, /* a = old, b = new mean bytes */
	MW_EVENT_RESET,
	MW_EVENT_FORK,     /* a = pid of the parent */
	MW_EVENT_FULL,     /* a = the MW_STATE_*_FULL bit that was set */
	MW_EVENT_REJECTED, /* a control word was out of range; a = its value */
	MW_EVENT_UNLOAD,   /* a = module index */
	MW_EVENT_EXIT,
	MW_EVENT_DUMP,        /* a = mw_dump_reason_t, b = its number in this process */
	MW_EVENT_DUMP_FAILED, /* a = mw_dump_reason_t, b = the errno or 0 */
	MW_EVENT_REQUEST,     /* a = bytes of the request, b = number of its stack */
	MW_EVENT_CRASH,       /* a = the signal */
	MW_EVENT_SOFT_LIMIT,  /* a = bytes that would have been in use, b = the limit */
	MW_EVENT_HARD_LIMIT,  /* likewise; the request was refused */
} mw_state_event_kind_t;

typedef struct mw_state_event {
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t kind;
	uint64_t a;
	uint64_t b;
} mw_state_event_t;

/* The pages of a size class, or all large blocks (block_bytes == 0), added up. */
typedef struct mw_state_class {
	uint64_t block_bytes;
	uint64_t memory_bytes;  /* of the pages */
	uint64_t touched_bytes; /* in blocks that were used at least once */
	uint64_t used_bytes;    /* in blocks that are handed out, or wait in a thread's list */
} mw_state_class_t;

typedef struct mw_state_range {
	uint64_t start, limit;
	uint64_t kind; /* MW_RANGE_* of state/stats.h */
	uint64_t reserved;
} mw_state_range_t;

_Static_assert(sizeof(mw_state_section_t) == 32, "file format");
_Static_assert(sizeof(mw_state_header_t) <= MW_STATE_PAGE_BYTES, "file format");
_Static_assert(sizeof(mw_state_control_t) == 544, "file format");
_Static_assert((int)MW_SETTING_COUNT <= (int)MW_SETTING_CAPACITY, "file format");
_Static_assert(sizeof(mw_state_live_t) <= MW_STATE_PAGE_BYTES, "file format");
_Static_assert(sizeof(mw_state_module_t) == 512, "file format");
_Static_assert(sizeof(mw_state_stack_t) == 128, "file format");
_Static_assert(sizeof(mw_state_record_t) == 64, "file format");
_Static_assert(sizeof(mw_state_tick_t) == 32, "file format");
_Static_assert(sizeof(mw_state_event_t) == 32, "file format");
_Static_assert(sizeof(mw_state_life_t) == 128, "file format");
_Static_assert(sizeof(mw_state_size_t) == 48, "file format");
_Static_assert(sizeof(mw_state_thread_t) == 32, "file format");
_Static_assert(sizeof(mw_state_class_t) == 32, "file format");
_Static_assert(sizeof(mw_state_range_t) == 32, "file format");

/* Bytes of one entry of the section in this version of the layout. */
static inline uint64_t mw_state_stride(mw_state_section_id_t section) {
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
		[MW_SECTION_LIVES] = sizeof(mw_state_life_t),
		[MW_SECTION_SIZES] = sizeof(mw_state_size_t),
		[MW_SECTION_THREADS] = sizeof(mw_state_thread_t),
		[MW_SECTION_CLASSES] = sizeof(mw_state_class_t),
		[MW_SECTION_RANGES] = sizeof(mw_state_range_t),
	};
	return strides[section];
}

/* Where the library puts the first entries of each section, behind the header: readers take this
 * from the section table.  In four pages, with the control section at the start of one, so that it
 * can be mapped; the sizes are by what a process with a handful of stacks and samples has. */
#define MW_STATE_FIRSTS_BYTES (4 * MW_STATE_PAGE_BYTES)

typedef struct mw_state_first {
	uint16_t offset_bytes;
	uint16_t entries;
} mw_state_first_t;

static inline mw_state_first_t mw_state_first(mw_state_section_id_t section) {
	static const mw_state_first_t firsts[MW_SECTION_COUNT] = {
		[MW_SECTION_EVENTS] = {3072, 16},   [MW_SECTION_THREADS] = {3584, 16},
		[MW_SECTION_CONTROL] = {4096, 1},   [MW_SECTION_LIVE] = {4672, 1},
		[MW_SECTION_NODES] = {6656, 64},    [MW_SECTION_FRAMES] = {7168, 64},
		[MW_SECTION_SIZES] = {7680, 10},    [MW_SECTION_STACKS] = {8192, 16},
		[MW_SECTION_LIVES] = {10240, 8},    [MW_SECTION_RECORDS] = {11264, 16},
		[MW_SECTION_MODULES] = {12288, 4},  [MW_SECTION_TIMELINE] = {14336, 32},
		[MW_SECTION_CLASSES] = {15360, 24}, [MW_SECTION_RANGES] = {16128, 8},
	};
	return firsts[section];
}

/* Bytes of a section that are among the first. */
static inline uint64_t mw_state_first_bytes(mw_state_section_id_t section) {
	return mw_state_first(section).entries * mw_state_stride(section);
}

_Static_assert(sizeof(mw_state_header_t) <= 3072, "file format: the first events stand behind");
_Static_assert(4672 + sizeof(mw_state_live_t) <= 6656, "file format: the first nodes stand behind");

#endif
