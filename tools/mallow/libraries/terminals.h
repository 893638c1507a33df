/* SPDX-License-Identifier: MIT
 * terminals.h -- functions and variables of libedit, by which the shell reads lines, and of
 * ncurses, which draws the live views.  Layer: libraries.  Only these two need them, so other
 * subcommands start without.  MW_LINKS_LIBRARIES (a command for other systems, scripts/tarball.sh):
 * both are part of the command. */
#ifndef MW_TOOL_LIBRARIES_TERMINALS_H
#define MW_TOOL_LIBRARIES_TERMINALS_H

/* The functions of ncurses, not macros of their names, nor the variable of the screen. */
#define NCURSES_NOMACROS
#include <curses.h>
#include <editline/readline.h>

#include "model/error.h"

/* F(name): each function that is called, and each variable that is set. */
#define MW_EDITLINE_NAMES(F)                                                                       \
	F(add_history)                                                                             \
	F(readline)                                                                                \
	F(rl_attempted_completion_function)                                                        \
	F(rl_attempted_completion_over)                                                            \
	F(rl_completion_append_character)                                                          \
	F(rl_completion_matches)                                                                   \
	F(rl_readline_name)                                                                        \
	F(using_history)

typedef struct mw_editline {
#define MW_EDITLINE_FIELD(name) __typeof__(name) *name;
	MW_EDITLINE_NAMES(MW_EDITLINE_FIELD)
#undef MW_EDITLINE_FIELD
} mw_editline_t;

/* All NULL until mw_editline_load() has returned 0. */
extern mw_editline_t mw_editline;

/* F(name): each function that is called. */
#define MW_NCURSES_FUNCTIONS(F)                                                                    \
	F(COLOR_PAIR)                                                                              \
	F(cbreak)                                                                                  \
	F(curs_set)                                                                                \
	F(endwin)                                                                                  \
	F(getmaxx)                                                                                 \
	F(getmaxy)                                                                                 \
	F(has_colors)                                                                              \
	F(init_pair)                                                                               \
	F(initscr)                                                                                 \
	F(keypad)                                                                                  \
	F(noecho)                                                                                  \
	F(set_escdelay)                                                                            \
	F(start_color)                                                                             \
	F(use_default_colors)                                                                      \
	F(waddnstr)                                                                                \
	F(waddnwstr)                                                                               \
	F(wattroff)                                                                                \
	F(wattron)                                                                                 \
	F(wchgat)                                                                                  \
	F(werase)                                                                                  \
	F(wgetch)                                                                                  \
	F(whline)                                                                                  \
	F(wmove)                                                                                   \
	F(wrefresh)                                                                                \
	F(wtimeout)

typedef struct mw_ncurses {
#define MW_NCURSES_FIELD(name) __typeof__(name) *name;
	MW_NCURSES_FUNCTIONS(MW_NCURSES_FIELD)
#undef MW_NCURSES_FIELD
} mw_ncurses_t;

/* All NULL until mw_ncurses_load() has returned 0. */
extern mw_ncurses_t mw_ncurses;

/* Each loads its library, once for the process.  0, or -1 with an error that says what to install.
 */
int mw_editline_load(mw_error_t *error);
int mw_ncurses_load(mw_error_t *error);

#endif
