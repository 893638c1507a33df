/* SPDX-License-Identifier: MIT
 * main.c -- the command `mallow`.  All of it is in cmd/, so that tests can link it. */
#include "cmd/command.h"

int main(int argc, char **argv) {
	return mw_command_main(argc, argv);
}
