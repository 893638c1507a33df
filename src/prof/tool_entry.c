/* SPDX-License-Identifier: MIT
 * tool_entry.c -- code that a tool lets a sleeping thread enter (state/tool_entry.h). */
#include <errno.h>

#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "os/lock/lock.h"
#include "prof/control/control.h"
#include "prof/unwind/unwind.h"
#include "state/tool_entry.h"

#if defined(__x86_64__)

/* Called by the code below. The tool chooses a thread that sleeps in a system call of the program;
 * should it be one of the library after all, the thread may hold its locks. */
static MW_COLD __attribute__((used)) void answer_tool(void) {
	int saved_errno = errno;
	if (mw_lock_held_ranks == 0 && !mw_lock_is_forking() && !mw_unwind_is_interrupted())
		mw_control_poll();
	errno = saved_errno;
}

/* The unwind rule says that the caller is not known. */
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_control_entry\n"
	".hidden mw_control_entry\n"
	".type mw_control_entry, @function\n"
	"mw_control_entry:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n" MW_TOOL_ENTRY_CODE(
		"call answer_tool") ".cfi_endproc\n"
				    ".size mw_control_entry, . - mw_control_entry\n"
				    ".popsection\n");

/* mw_tool_note_t, by which tools find the code and mw_heap_poll_word in the process's memory. */
_Static_assert(sizeof(mw_heap_poll_word) == sizeof(void *), "mw_tool_note_t.words_offset");
#define TEXT_OF_NUMBER(number) #number
#define TEXT_OF(number) TEXT_OF_NUMBER(number)
__asm__(".pushsection .note.mallow,\"a\",@note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, " TEXT_OF(MW_TOOL_NOTE_TYPE) "\n"
							      "1: .asciz \"" MW_TOOL_NOTE_OWNER
							      "\"\n"
							      "2: .balign 4\n"
							      "3: .long mw_control_entry - .\n"
							      ".long mw_heap_poll_word - .\n"
							      "4:\n"
							      ".popsection\n");

#endif
