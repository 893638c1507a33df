/* SPDX-License-Identifier: MIT
 * gperftools/profiler.h -- the interface of gperftools' CPU profiler, as mallow's libprofiler has
 * it. Link with -lprofiler. doc/reference/gperftools.md says what each function does.
 *
 * Any thread may call these functions, but no signal handler, except ProfilerGetStackTrace(). */
#ifndef BASE_PROFILER_H_
#define BASE_PROFILER_H_

#include <time.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The filter decides whether a sample is counted: it returns 0 to leave the sample out. It runs in
 * a signal handler of the sampled thread. NULL: all samples are counted. */
struct ProfilerOptions {
	int (*filter_in_thread)(void *arg);
	void *filter_in_thread_arg;
};

/* Starts a profile of all threads that goes into the file. Returns 0 if a profile runs already, if
 * the file cannot be written, or if the program handles the timer's signal; else another value. */
PERFTOOLS_DLL_DECL int ProfilerStart(const char *fname);
PERFTOOLS_DLL_DECL int ProfilerStartWithOptions(const char *fname,
						const struct ProfilerOptions *options);
/* Ends the profile and writes its file. Without a profile it does nothing. */
PERFTOOLS_DLL_DECL void ProfilerStop(void);
/* Writes the file as the profile is now; the profile goes on. */
PERFTOOLS_DLL_DECL void ProfilerFlush(void);

/* Without effect, as in gperftools. */
PERFTOOLS_DLL_DECL void ProfilerEnable(void);
PERFTOOLS_DLL_DECL void ProfilerDisable(void);

/* Returns whether a profile runs. */
PERFTOOLS_DLL_DECL int ProfilingIsEnabledForAllThreads(void);

/* With CPUPROFILE_PER_THREAD_TIMERS: starts the calling thread's timer at once. Threads that do not
 * call it are found within 20 ms of CPU time. */
PERFTOOLS_DLL_DECL void ProfilerRegisterThread(void);

struct ProfilerState {
	int enabled;
	time_t start_time;       /* 0: no profile runs */
	char profile_name[1024]; /* "": no profile runs */
	int samples_gathered;
};
PERFTOOLS_DLL_DECL void ProfilerGetCurrentState(struct ProfilerState *state);

/* Writes up to max_depth return addresses of the calling thread, leaf first, without the first
 * skip_count. `uc`: a signal's ucontext_t, whose stack is taken; NULL: the caller's. Returns their
 * number. */
PERFTOOLS_DLL_DECL int ProfilerGetStackTrace(void **result, int max_depth, int skip_count,
					     const void *uc);

#ifdef __cplusplus
}
#endif

#endif
