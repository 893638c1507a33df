/* SPDX-License-Identifier: MIT
 * nothrow.c -- a program in C, without libstdc++, whose plugin is written in C++. */
#include <dlfcn.h>

#include "programs.h"

int main(void) {
	must_be_mallow();
	void *plugin = dlopen("nothrow_plugin.so", RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	MUST(plugin != NULL);
	int (*test)(void);
	*(void **)&test = dlsym(plugin, "test_nothrow");
	MUST(test != NULL);
	int failed = test();
	if (failed)
		fprintf(stderr, "step %d\n", failed);
	MUST(failed == 0);
	return 0;
}
