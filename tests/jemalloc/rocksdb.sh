#!/bin/bash
# SPDX-License-Identifier: MIT
# rocksdb.sh BUILD_DIR -- a program that links RocksDB: 100000 puts, gets and deletes, with libc's
# malloc, with jemalloc and with mallow in its place; and what RocksDB and MariaDB do to find
# jemalloc.
. "$(dirname "$0")/lib.sh"
need cc jeprof
echo '#include <rocksdb/c.h>' | cc -E - >/dev/null 2>&1 || {
    echo "skipped: no librocksdb-dev here"
    exit 77
}
cat >"$work/program.c" <<'END'
#include <dlfcn.h>
#include <rocksdb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As RocksDB declares it: absent, the address is null. */
void *mallocx(size_t, int) __attribute__((weak));

static int has_jemalloc(void) {
	int (*mallctl)(const char *, void *, size_t *, void *, size_t) =
		(int (*)(const char *, void *, size_t *, void *, size_t))dlsym(
			RTLD_DEFAULT, "mallctl");
	const char *version = NULL;
	size_t length = sizeof version;
	if (!mallocx || !mallctl || mallctl("version", &version, &length, NULL, 0) != 0)
		return 0;
	uint64_t *counter = NULL;
	length = sizeof counter;
	if (mallctl("thread.allocatedp", &counter, &length, NULL, 0) != 0)
		return 0;
	uint64_t before = *(volatile uint64_t *)counter;
	void *volatile block = malloc(1);
	int moved = *(volatile uint64_t *)counter != before;
	free(block);
	return moved && version[0] == '5';
}

static void check(char *error) {
	if (!error)
		return;
	printf("rocksdb: %s\n", error);
	exit(1);
}

int main(int argc, char **argv) {
	enum { COUNT = 100000 };
	char *error = NULL, key[32], value[300];
	(void)argc;
	fprintf(stderr, "jemalloc: %d\n", has_jemalloc());
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_write_buffer_size(options, 2 << 20);
	rocksdb_t *db = rocksdb_open(options, argv[1], &error);
	check(error);
	rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();
	for (int i = 0; i < COUNT; i++) {
		int n = snprintf(key, sizeof key, "key%08d", i * 7919 % COUNT);
		memset(value, 'a' + i % 26, sizeof value);
		rocksdb_put(db, write, key, (size_t)n, value, (size_t)(i % 300), &error);
		check(error);
	}
	for (int i = 0; i < COUNT; i += 3) {
		int n = snprintf(key, sizeof key, "key%08d", i);
		rocksdb_delete(db, write, key, (size_t)n, &error);
		check(error);
	}
	uint64_t found = 0, bytes = 0, sum = 0;
	for (int i = 0; i < COUNT; i++) {
		size_t length = 0;
		int n = snprintf(key, sizeof key, "key%08d", i);
		char *got = rocksdb_get(db, read, key, (size_t)n, &length, &error);
		check(error);
		if (!got)
			continue;
		found++;
		bytes += length;
		for (size_t j = 0; j < length; j++)
			sum = sum * 31 + (unsigned char)got[j];
		free(got);
	}
	printf("%lu found, %lu bytes, sum %lx\n", (unsigned long)found, (unsigned long)bytes,
	       (unsigned long)sum);
	rocksdb_close(db);
	return 0;
}
END
cc -O1 -g "$work/program.c" -o "$work/program" -lrocksdb -ldl
session() {
    LD_PRELOAD=$library/libjemalloc.so.2 \
        MALLOC_CONF="prof:true,lg_prof_interval:22,prof_prefix:$here/jeprof" \
        "$work/program" "$here/db" 2>"$here/log" || return 1
    grep -qx 'jemalloc: 1' "$here/log" || fail "$side: it is not taken for jemalloc"
    clean_log abort
}
each_library session
"$work/program" "$work/plain" 2>"$work/log" | diff - "$work/ours.out" ||
    fail "libc's malloc gives another result"
grep -qx 'jemalloc: 0' "$work/log" || fail "libc's malloc is taken for jemalloc"
readable_dumps "$work/program" 3
