/* SPDX-License-Identifier: MIT
 * hung_page.c serve|wait|map FOLDER HUNG -- a file system with one file, and programs that map it.
 * "wait" waits in a thread on a stack which is a private mapping of that file. Once the program has
 * made the file HUNG, the file system gives no page: whoever touches one below the stack pointer
 * never goes on. "map" maps the file as code, and makes HUNG.all: the file system answers nothing
 * any more. "serve" ends with 77 where the kernel refuses file systems.
 *
 * It is linked with -z now: a function that is found at its first call would take more stack than
 * what the thread has touched.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, STACK_BYTES = 262144, ROOT = 1, STACK = 2 };

/* ---- the file system ---- */

static struct {
	struct fuse_in_header header;
	char rest[FUSE_MIN_READ_BUFFER + PAGE_BYTES];
} request;

static void answer(int device, int error, const void *data, size_t bytes) {
	struct {
		struct fuse_out_header header;
		char data[PAGE_BYTES];
	} reply = {.header = {.error = -error, .unique = request.header.unique}};
	if (bytes > 0)
		memcpy(reply.data, data, bytes);
	reply.header.len = (uint32_t)(sizeof(reply.header) + bytes);
	if (write(device, &reply, reply.header.len) < 0)
		perror("reply");
}

static struct fuse_attr attributes_of(uint64_t node) {
	return (struct fuse_attr){.ino = node,
				  .size = node == STACK ? STACK_BYTES : 0,
				  .mode = node == STACK ? S_IFREG | 0600 : S_IFDIR | 0700,
				  .nlink = 1,
				  .blksize = PAGE_BYTES};
}

static void serve_one(int device, int is_hung) {
	static const char zeros[PAGE_BYTES];
	/* No page is read ahead. */
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_write = PAGE_BYTES};
	const struct fuse_entry_out entry = {.nodeid = STACK, .attr = attributes_of(STACK)};
	const struct fuse_attr_out attributes = {.attr = attributes_of(request.header.nodeid)};
	const struct fuse_open_out opened = {0};
	switch (request.header.opcode) {
	case FUSE_INIT:
		answer(device, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(device, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(device, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		answer(device, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (!is_hung)
			answer(device, 0, zeros, sizeof(zeros));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(device, ENOSYS, NULL, 0);
	}
}

/* `hung`: no page is given once this file exists, and nothing once "hung.all" does. */
static int serve(const char *folder, const char *hung) {
	char options[64], all[4096];
	snprintf(all, sizeof(all), "%s.all", hung);
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device < 0 || mount("hung", folder, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		return 77;
	while (read(device, &request, sizeof(request)) > 0)
		if (access(all, F_OK) != 0)
			serve_one(device, access(hung, F_OK) == 0);
	return 0;
}

/* ---- the program ---- */

static const char *hung_path;

static void *wait_on_file(void *unused) {
	/* Calls that follow take less than what is touched here. */
	volatile char touched[2 * PAGE_BYTES];
	for (size_t i = 0; i < sizeof(touched); i += 64)
		touched[i] = 1;
	int fd = open(hung_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(1, "ready\n", 6) != 6)
		_exit(1);
	for (;;)
		pause();
	return unused;
}

static int wait_in_thread(const char *folder) {
	char path[4096];
	pthread_attr_t attributes;
	pthread_t thread;
	snprintf(path, sizeof(path), "%s/stack", folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *guard =
		mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || guard == MAP_FAILED)
		return 1;
	char *stack = mmap(guard + PAGE_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_FIXED, fd, 0);
	if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
	    pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, wait_on_file, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

/* The mapping is not touched: the program itself goes on. */
static int map_as_code(const char *folder) {
	char path[4096];
	snprintf(path, sizeof(path), "%s/stack", folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *code = mmap(NULL, STACK_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	char *block = malloc(8 << 20);
	if (fd < 0 || code == MAP_FAILED || block == NULL)
		return 1;
	memset(block, 1, 8 << 20);
	snprintf(path, sizeof(path), "%s.all", hung_path);
	int hung = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (hung < 0 || write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv) {
	if (argc != 4)
		return 2;
	hung_path = argv[3];
	if (strcmp(argv[1], "map") == 0)
		return map_as_code(argv[2]);
	return strcmp(argv[1], "serve") == 0 ? serve(argv[2], argv[3]) : wait_in_thread(argv[2]);
}
