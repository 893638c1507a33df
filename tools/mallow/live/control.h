/* SPDX-License-Identifier: MIT
 * control.h -- sends requests to a live process through the control page of its state file.
 * Layer: live.  The command maps the control page and the live page, writes the request under a
 * lock of the file, raises control.sequence, and waits for live.sequence_seen.  The process
 * reads its control page only when a thread refills a tcache list. One that does not is had to
 * answer (live/enter/enter.h), except for MW_REQUEST_WALK, which views send often, and
 * MW_REQUEST_LEAK_CHECK, whose sender does that. */
#ifndef MW_TOOL_LIVE_CONTROL_H
#define MW_TOOL_LIVE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "live/target.h"
#include "model/error.h"
#include "state/layout.h"

typedef enum mw_request_kind {
	MW_REQUEST_START,
	MW_REQUEST_STOP,
	MW_REQUEST_RATE,
	MW_REQUEST_RESET,
	MW_REQUEST_SETTINGS,
	MW_REQUEST_DUMP, /* the process writes a dump */
	/* The process updates its counters and walks its heap; no setting changes. */
	MW_REQUEST_WALK,
	MW_REQUEST_CPU,        /* the rate of CPU samples; 0 stops them */
	MW_REQUEST_LEAK_CHECK, /* begins a leak check, whose result is in the state file later */
	MW_REQUEST_TRIM,       /* the process gives free memory back to the kernel */
	MW_REQUEST_LEASE,      /* for live/sampling_lease.c: begins, or begins again, and ends */
	MW_REQUEST_LEASE_END,
} mw_request_kind_t;

typedef struct mw_request {
	mw_request_kind_t kind;
	uint64_t mean_bytes;   /* for MW_REQUEST_RATE: the new T */
	uint32_t cpu_hz;       /* for MW_REQUEST_CPU */
	uint32_t leak_options; /* for MW_REQUEST_LEAK_CHECK: as control.want_leak_options */
	/* For MW_REQUEST_SETTINGS: the settings whose bit is set in the mask are changed, and
	 * the pattern of dump names unless it is NULL. */
	uint64_t settings_mask;
	uint64_t settings[MW_SETTING_COUNT];
	const char *dump_name;
	struct mw_lease *lease; /* for MW_REQUEST_LEASE and MW_REQUEST_LEASE_END */
} mw_request_t;

typedef enum mw_outcome {
	/* The process already was in the requested state; nothing was written. */
	MW_OUTCOME_NOTHING,
	MW_OUTCOME_DONE,    /* the process has applied the request */
	MW_OUTCOME_PENDING, /* the request is written; the process has not read it yet */
} mw_outcome_t;

typedef struct mw_reply {
	mw_outcome_t outcome;
	uint32_t sequence; /* of the request, as control.sequence; 0 = nothing was written */
	bool was_pending;  /* an earlier request was pending, and `was_*` are its values */
	bool was_active;   /* by the standing request; see has_heap_lease, too */
	uint64_t was_mean_bytes;
	uint64_t was_changed_ns; /* CLOCK_REALTIME when was_active began; 0 = never */
	bool is_active;          /* state after the request, even if it is pending */
	uint64_t mean_bytes;
	uint32_t was_cpu_hz, cpu_hz; /* of the standing request */
	/* Before the request: the rate of a lease of CPU samples (live/sampling_lease.h), or 0, and
	 * whether there is a lease of the heap's. Tools that watch for some time have them. */
	uint32_t cpu_lease_hz;
	bool has_heap_lease;
	uint32_t cpu_error;          /* mw_cpu_error_t of a finished MW_REQUEST_CPU */
	uint64_t trimmed_bytes;      /* for a finished MW_REQUEST_TRIM */
	uint32_t leak_check;         /* for MW_REQUEST_LEAK_CHECK: its number */
	uint64_t was_cpu_changed_ns; /* CLOCK_REALTIME since when was_cpu_hz is 0 or not; 0 = never
				      */
	uint64_t was_settings[MW_SETTING_COUNT];
	char was_dump_name[MW_STATE_DUMP_NAME_BYTES];
	/* Why a process that does not allocate did not answer, a part of a sentence; "": it was not
	 * tried. */
	mw_error_t why;
	/* For a finished MW_REQUEST_DUMP: path of the dump; "" = none. */
	char last_dump[MW_STATE_DUMP_PATH_BYTES];
} mw_reply_t;

/* Longest wait for a process.  A busy process refills thousands of times a second. */
#define MW_REQUEST_WAIT_SECONDS 2.0
/* How long a process has to see a request by itself: one that allocates takes less than 1 ms. */
#define MW_REQUEST_BY_ITSELF_SECONDS 0.002
/* First wait for a process that was had to answer; each is twice as long as the one before. A
 * thread that ran in the library did not answer. */
#define MW_REQUEST_ANSWER_SECONDS 0.05
/* Sends a request to the process of the target, after it made sure that the process still is the
 * one that was found (live/process/reach.h).  Waits up to `wait_seconds` for the process to read
 * the request.  Returns 0, also if the request is pending. -1: the request was not written, the
 * process rejected it, the target is no live process, or the process has ended or is stopped, and
 * the request is pending (reply->outcome), unless it is an MW_REQUEST_WALK or an
 * MW_REQUEST_LEAK_CHECK. */
int mw_control_send(const mw_target_t *target, const mw_request_t *request, double wait_seconds,
		    mw_reply_t *reply, mw_error_t *error);

/* Returns why the process has rejected a request with this sequence, as a part of a sentence; NULL:
 * it has not. */
const char *mw_control_rejected(const mw_state_live_t *live, uint32_t sequence);

/* Says when a pending request takes effect, and why it has not. */
#define MW_PENDING_BYTES 640
const char *mw_control_pending(const mw_reply_t *reply, char text[MW_PENDING_BYTES]);

/* How many threads use the rate of the last change. */
typedef struct mw_follow {
	uint32_t threads; /* threads that have allocated */
	uint32_t behind;  /* threads among them that have not allocated since the last change */
	bool seen;        /* false: the process was idle, and the counts are old */
} mw_follow_t;

/* Waits up to `wait_seconds` until every thread of the process uses the rate of the last change.
 * The command sends one request after another, because the process counts its threads at each
 * request. */
int mw_control_wait_threads(const mw_target_t *target, double wait_seconds, mw_follow_t *out,
			    mw_error_t *error);

/* Returns why a process takes no samples of CPU time; NULL: it can. `why`: live.cpu_error. */
const char *mw_control_cpu_trouble(uint32_t why);

#endif
