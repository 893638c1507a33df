/* SPDX-License-Identifier: MIT
 * waiting.cc -- blocks that the program freed and the debug library holds back are not in use: what
 * MallocExtension, the delete hook and the heap profile say. */
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_hook.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int COUNT = 500;
static const size_t SIZES[] = {100, 10000, 200000, 3000000};
static int deleted;

static void on_delete(const void *) {
	deleted++;
}

static size_t in_use() {
	size_t bytes = 0;
	MallocExtension::instance()->GetNumericProperty("generic.current_allocated_bytes", &bytes);
	return bytes;
}

__attribute__((noinline)) static char *take(size_t bytes) {
	return static_cast<char *>(malloc(bytes));
}

int main() {
	static char *blocks[COUNT];
	for (size_t bytes : SIZES) {
		int count = bytes > 1000000 ? 10 : COUNT;
		/* From now on every block is recorded, and reported when it is freed. */
		MallocHook::AddDeleteHook(on_delete);
		size_t before = in_use();
		for (int i = 0; i < count; i++)
			blocks[i] = take(bytes);
		size_t full = in_use();
		for (int i = 0; i < count; i++)
			free(blocks[i]);
		MallocHook::RemoveDeleteHook(on_delete);
		size_t after = in_use();
		printf("%zu taken %d left %d deleted %d\n", bytes, full - before >= bytes * count,
		       after - before >= bytes * count / 2, deleted >= count);
		deleted = 0;
	}
	/* A profile as the heap profiler writes it: blocks and bytes in use stand first. */
	HeapProfilerStart("/nonexistent/profile");
	for (int i = 0; i < COUNT; i++)
		blocks[i] = take(10000);
	for (int i = 0; i < COUNT; i++)
		free(blocks[i]);
	char *profile = GetHeapProfile();
	const char *line = strchr(profile, ':');
	long used = line ? strtol(line + 1, NULL, 10) : -1;
	printf("profile %d\n", used >= 0 && used < COUNT / 10);
	free(profile);
	HeapProfilerStop();
	return 0;
}
