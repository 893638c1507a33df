/* SPDX-License-Identifier: MIT
 * deepbind.c -- a plugin opened with RTLD_DEEPBIND frees what libc and the program allocated, as
 * PHP's extensions do.  With the argument "kept" the flag is honoured: the plugin's free() is
 * libc's. */
#include <dlfcn.h>
#include <stdbool.h>

#include "programs.h"

int main(int argc, char **argv) {
	bool kept = argc > 1 && strcmp(argv[1], "kept") == 0;
	MUST(argv[0] != NULL);
	/* Found by this program's run path, and by no other. */
	void *plugin = dlopen("plugin.so", RTLD_NOW | RTLD_DEEPBIND);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	MUST(plugin != NULL);
	void *(*copy)(const char *text);
	void (*drop)(void *block);
	void *(*free_function)(void);
	*(void **)&copy = dlsym(plugin, "plugin_copy");
	*(void **)&drop = dlsym(plugin, "plugin_drop");
	*(void **)&free_function = dlsym(plugin, "plugin_free_function");
	MUST(copy && drop && free_function);
	void (*own)(void *) = free;
	MUST((free_function() == *(void **)&own) == !kept);
	if (!kept) {
		drop(copy("libc's"));
		drop(strdup("the program's"));
		free(copy("freed here"));
		drop(malloc(1 << 20));
	}
	MUST(dlopen("no such file", RTLD_NOW | RTLD_DEEPBIND) == NULL && dlerror() != NULL);
	MUST(dlopen(NULL, RTLD_NOW) != NULL);
	MUST(dlclose(plugin) == 0);
	return 0;
}
