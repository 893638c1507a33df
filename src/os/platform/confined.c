/* SPDX-License-Identifier: MIT
 * confined.c -- the variable that all folders of src/os read. */
#include "os/platform/confined.h"

_Atomic bool mw_os_confined;
