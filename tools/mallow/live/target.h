/* SPDX-License-Identifier: MIT
 * target.h -- resolves TARGET, the user's text for a process, a state file, a profile file, or a
 * URL.
 * Layer: live.  The folder's door. state_places.h lists the state files of this machine,
 * control.h sends requests to their processes, fetch.h downloads, library.h finds libmallow.so.
 * A plain number is a pid: of a live process, or of a killed process whose state file still
 * exists. A text with a slash is a path or a URL. Any other word is a file in the current
 * directory, unless there is none or it is a program: then the word is the name of a process, as
 * the state file has it. The content of a file decides its format. */
#ifndef MW_TOOL_LIVE_TARGET_H
#define MW_TOOL_LIVE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/state/state_file.h"
#include "live/process/reach.h"
#include "live/state_places.h"
#include "model/error.h"

typedef enum mw_fate {
	MW_FATE_RUNNING,   /* the process exists, whether or not sampling is on */
	MW_FATE_STOPPED,   /* a signal or a debugger has stopped the process: Linux's state T */
	MW_FATE_ELSEWHERE, /* the process runs in a pid namespace that cannot be seen from here */
	MW_FATE_ENDED,     /* the process called exit(3) and kept its file */
	MW_FATE_QUIT,      /* the process called _exit(2), as forked children do */
	MW_FATE_KILLED,    /* the process ended without either call */
} mw_fate_t;

/* Returns "running", "stopped", "elsewhere", "exited", "_exit" or "killed". */
const char *mw_fate_name(mw_fate_t fate);
/* Returns the fate of a snapshot's process.  `live_pid` comes from mw_place_process() or
 * mw_target_process(). */
mw_fate_t mw_fate_of(const mw_snapshot_t *snapshot, int live_pid);

typedef struct mw_target {
	char *path;        /* path to open */
	char *shown;       /* name in messages */
	bool is_state;     /* true: a state file; false: a profile of another format */
	bool alive;        /* the process holds the state file's lock */
	bool is_elsewhere; /* the process runs in a pid namespace that cannot be seen from here */
	bool is_pid;       /* the user gave a pid, or the name of a process */
	bool is_stored;    /* `path` is a question to a store (cmd/store/question.h) */
	/* The profile was downloaded into the file `fd`, and `path` is the URL. */
	bool is_url;
	int fd;
	int pid;              /* process of a state file, as seen from here unless is_elsewhere */
	uint64_t start_ticks; /* of that process; 0: not known */
	dev_t device;         /* of the state file */
	ino_t inode;          /* 0: not known */
	char note[256];       /* a note for the user, or "" */
} mw_target_t;

/* Resolves `text`.  Returns 0: the caller calls mw_target_release(). -1: `error` says what the
 * user can do instead. */
int mw_target_resolve(const char *text, mw_target_t *out, mw_error_t *error);
void mw_target_release(mw_target_t *target);

/* Says which process a pid means from now on: when mw_target_resolve() is given the pid, and
 * another process has it by then, that is an error.  For commands that choose a process themselves.
 */
void mw_target_pin(int pid, uint64_t start_ticks);

/* Returns whether `word` is the name of one process, and no option or path. */
bool mw_target_is_named(const char *word);

/* Pid in /proc of the target's live process; 0 = it has ended; MW_PID_ELSEWHERE = it cannot be
 * seen from here. */
#define MW_PID_ELSEWHERE (-1)
int mw_place_process(const mw_place_t *place);
int mw_target_process(const mw_target_t *target);

/* Names the live process and its state file, for those who change something in it
 * (live/process/reach.h). */
mw_process_key_t mw_target_key(const mw_target_t *target);
/* Opens the state file, or the one that the process has made at the same path after an exec(2),
 * with the flags of open(2). Returns the descriptor, or -1 with errno; ESTALE: another's file is
 * there. */
int mw_target_open(const mw_target_t *target, int flags);

/* Reads the state file as mw_snapshot_read() does, if it is still the one that was found. */
int mw_target_read(const mw_target_t *target, unsigned what, mw_snapshot_t **snapshot,
		   mw_error_t *error);

/* As mw_target_read(), of the state file that is open as `fd`. */
int mw_target_read_fd(const mw_target_t *target, int fd, unsigned what, mw_snapshot_t **snapshot,
		      mw_error_t *error);

/* Makes a target of a live process's place.  The caller calls mw_target_release(). */
mw_target_t mw_target_of_place(const mw_place_t *place);

/* True if the process of the state file still runs. */
bool mw_target_is_alive(const mw_target_t *target);
/* As mw_target_is_alive(), for the state file that is open as `fd`. */
bool mw_target_holds(const mw_target_t *target, int fd);
/* Returns what a process has done that no longer holds its state file, which is open as `fd`:
 * "ended" or "started another program (exec)", for messages. */
const char *mw_target_end(const mw_target_t *target, int fd);
/* Reads the title that a live process has set (live/process/process.h); false: none. */
bool mw_target_title(const mw_target_t *target, char *title, size_t size);

#endif
