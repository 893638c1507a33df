/* SPDX-License-Identifier: MIT
 * frames.h -- functions that are certain to have a frame of their own, for tests of walks. */
#ifndef MW_TEST_FRAMES_H
#define MW_TEST_FRAMES_H

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
/* Keeps a call from becoming a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
/* Makes an array be there. */
#define KEEP(array) __asm__ volatile("" ::"r"(array) : "memory")

#endif
