/* SPDX-License-Identifier: MIT
 * markers.h -- system calls that do not exist: between the two moved_lines.c counts. */
#ifndef BENCH_MARKERS_H
#define BENCH_MARKERS_H

enum { MARK_COUNT_BEGIN = 7700, MARK_COUNT_END = 7701 };

#endif
