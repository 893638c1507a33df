/* SPDX-License-Identifier: MIT
 * interpreter.h -- tells which interpreter a command line runs.
 * Layer: live/files. */
#ifndef MW_TOOL_LIVE_FILES_INTERPRETER_H
#define MW_TOOL_LIVE_FILES_INTERPRETER_H

typedef enum mw_interpreter {
	MW_INTERPRETER_NONE, /* another program, perhaps one that starts an interpreter */
	MW_INTERPRETER_NODE,
	MW_INTERPRETER_PYTHON,
	MW_INTERPRETER_JAVA,
	MW_INTERPRETER_PHP,
	MW_INTERPRETERS,
} mw_interpreter_t;

/* Recognises the interpreter by the name of the program, as it is called or as its links lead to a
 * file; of a script by its "#!" line; behind env(1) by the word that env executes. */
mw_interpreter_t mw_interpreter_find(char *const *command_line);

#endif
