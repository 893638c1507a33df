/* SPDX-License-Identifier: MIT
 * leak_check.h -- the part of the state file (layout.h) that holds the last leak check.
 * Layer: state. */
#ifndef MW_STATE_LEAK_CHECK_H
#define MW_STATE_LEAK_CHECK_H

#include <stdatomic.h>
#include <stdint.h>

/* Byte offset of a file lock, beside those of layout.h and lease.h. Held by a tool from its request
 * for a check until it has read the result: there is one result, of the last check. */
#define MW_STATE_LEAK_CHECK_LOCK 4u

/* Bits of control.want_leak_options. */
enum {
	MW_LEAK_PEEK = 1u << 0,   /* store the first bytes of leaked blocks */
	MW_LEAK_SHARED = 1u << 1, /* pointers in memory that processes share count, too */
	/* Also store who holds the sampled blocks that are not leaked, of those that were allocated
	 * in the last seconds: their number is in the upper bits; 0: all. */
	MW_LEAK_HOLDERS = 1u << 2,
	MW_LEAK_SECONDS_SHIFT = 8,
};

typedef enum mw_leak_check_state {
	MW_LEAK_CHECK_NONE, /* no check was requested yet */
	MW_LEAK_CHECK_RUNNING,
	MW_LEAK_CHECK_DONE,
	MW_LEAK_CHECK_FAILED, /* see leak_check.error */
} mw_leak_check_state_t;

/* Values of leak_check.error: why a check failed. */
typedef enum mw_leak_error {
	MW_LEAK_FINE,
	MW_LEAK_NO_MEMORY,  /* no memory for the copy of the process, or in it */
	MW_LEAK_ENDED,      /* the copy was ended: by its limit of time, or by a signal */
	MW_LEAK_NO_STOP,    /* a filter of system calls, or no signal is free to stop threads */
	MW_LEAK_NO_ANSWERS, /* a thread did not stop in time */
	MW_LEAK_BUSY,       /* the program checks by itself */
} mw_leak_error_t;

/* Blocks of one size class in a leak check; block_bytes == 0: larger blocks than any class. Bytes
 * are usable bytes. All blocks are counted, sampled or not. */
typedef struct mw_state_leak_class {
	uint64_t block_bytes;
	uint64_t live_blocks, live_bytes; /* all, reachable or not */
	uint64_t direct_blocks, direct_bytes;
	uint64_t indirect_blocks, indirect_bytes;
} mw_state_leak_class_t;

/* More than there are size classes. */
enum { MW_LEAK_CLASS_CAPACITY = 64 };

/* The last leak check. The process writes it in the file only, never in its private tables: the
 * copy of the process, which searches, writes all from live_blocks on, and `state` last
 * (release). */
typedef struct mw_state_leak_check {
	_Atomic uint32_t number; /* of the check: control.want_leak_checks when it began */
	_Atomic uint32_t state;  /* mw_leak_check_state_t */
	_Atomic uint32_t error;  /* mw_leak_error_t */
	_Atomic uint32_t copy_pid;
	_Atomic uint64_t realtime_ns;      /* when the process was copied */
	_Atomic uint64_t pause_ns;         /* how long threads were stopped */
	_Atomic uint32_t threads;          /* all */
	_Atomic uint32_t running_threads;  /* those that could not be stopped */
	_Atomic uint64_t read_block_bytes; /* of blocks, read so far */
	uint64_t live_blocks, live_bytes;  /* all, reachable or not */
	uint64_t direct_blocks, direct_bytes;
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t root_bytes;   /* read */
	uint64_t unread_bytes; /* of roots, that could not be read */
	uint64_t scan_ns;
	uint64_t leaks_found; /* sampled blocks that are leaked */
	uint64_t leak_stacks; /* different stacks of these */
	uint64_t leaks_used;  /* entries of MW_SECTION_LEAKS; fewer if the file is full */
	uint64_t class_count;
	mw_state_leak_class_t classes[MW_LEAK_CLASS_CAPACITY];
	uint64_t held_found; /* sampled blocks of MW_LEAK_KIND_HELD, stored or not */
} mw_state_leak_check_t;

typedef enum mw_leak_kind {
	MW_LEAK_KIND_DIRECT,   /* no other leaked block leads to the block */
	MW_LEAK_KIND_INDIRECT, /* another leaked block leads to the block */
	MW_LEAK_KINDS,
	MW_LEAK_KIND_HELD = 16, /* not leaked: MW_LEAK_HOLDERS asks who holds the block */
} mw_leak_kind_t;

enum { MW_LEAK_PEEK_BYTES = 32 };

/* Where the search began that came to a block first. */
typedef enum mw_leak_root {
	MW_LEAK_ROOT_DATA, /* writable data of the program and its libraries, other mappings */
	MW_LEAK_ROOT_STACK,
	MW_LEAK_ROOT_REGISTER,
	MW_LEAK_ROOT_THREAD_LOCAL, /* data of the first thread, which is not in its stack */
	MW_LEAK_ROOTS
} mw_leak_root_t;

/* Who holds a block that is not leaked. Data is searched first, then stacks. */
typedef struct mw_state_holder {
	uint64_t address;  /* of the pointer in the root; 0 in registers */
	uint32_t root;     /* mw_leak_root_t */
	uint32_t thread;   /* id of the thread, except of data; 0: not known */
	uint32_t record;   /* of the nearest sampled block on the way to the block; 0: none */
	uint32_t sequence; /* of that record */
	/* Start of the mapping that has the pointer; 0: the data of the program or of a library, a
	 * stack, or registers. */
	uint64_t mapping;
} mw_state_holder_t;

/* A sampled block that is leaked, or held. It counts while its record exists with this sequence
 * number: a program that hides a pointer from the check may free the block afterwards. */
typedef struct mw_state_leak {
	uint32_t record;   /* index in MW_SECTION_RECORDS */
	uint32_t sequence; /* of the record when the process was copied */
	uint16_t kind;     /* mw_leak_kind_t */
	uint16_t peek_bytes;
	uint32_t reserved; /* padding: the size of an entry divides a page */
	/* Leaked blocks that this block leads to, directly and through others, and that no entry
	 * before this one counts. */
	uint64_t below_blocks, below_bytes;
	union {
		uint8_t peek[MW_LEAK_PEEK_BYTES]; /* the first bytes of the block */
		mw_state_holder_t holder;         /* MW_LEAK_KIND_HELD */
	};
} mw_state_leak_t;

#endif
