/* SPDX-License-Identifier: MIT
 * compat_hooks.h -- functions that start-up calls and compat/ defines, for other allocators'
 * names. Layer: api/process. Each function is a hook: this folder declares it, a higher folder
 * defines it.
 */
#ifndef MW_API_COMPAT_H
#define MW_API_COMPAT_H

#include <stdbool.h>

#include "base/compiler.h"
#include "config/options.h"

/* Adds the configuration strings that the program defines (malloc_conf). Called once, before
 * options are parsed. */
MW_HOOK void mw_compat_add_sources(mw_conf_sources_t *sources);
/* Options are known.  Both arguments stay valid for the life of the process. */
MW_HOOK void mw_compat_start(const mw_options_t *options, const mw_conf_sources_t *sources);
/* Called when the profiler has started. Not called in set-uid programs. */
MW_HOOK void mw_compat_profiler_started(void);
/* Handlers of fork(2). The prepare handler takes the locks of control names before the profiler and
 * the heap take theirs. The release handler unlocks them in parent and child. */
MW_HOOK void mw_compat_fork_prepare(void);
MW_HOOK void mw_compat_fork_release(bool child);
/* Prints statistics on stderr as malloc_stats_print() does, with `letters` as its options. */
MW_HOOK MW_COLD void mw_compat_print_stats(const char *letters);

#endif
