// SPDX-License-Identifier: MIT
// own_frames.cc -- one caller for each way into the allocator; see own_frames.sh.  Each keeps its
// block, so that it is in the profile at the end, and none is inlined.
#include <cstdlib>
#include <new>

#include <malloc.h>

#define CALLER extern "C" __attribute__((noipa)) void

static void *volatile kept;

CALLER by_malloc(size_t bytes) {
	kept = malloc(bytes);
}
CALLER by_calloc(size_t bytes) {
	kept = calloc(1, bytes);
}
CALLER by_realloc(size_t bytes) {
	kept = realloc(malloc(bytes / 4), bytes);
}
CALLER by_posix_memalign(size_t bytes) {
	void *block = nullptr;
	if (posix_memalign(&block, 256, bytes) != 0)
		abort();
	kept = block;
}
CALLER by_aligned_alloc(size_t bytes) {
	kept = aligned_alloc(64, (bytes + 63) & ~static_cast<size_t>(63));
}
CALLER by_memalign(size_t bytes) {
	kept = memalign(128, bytes);
}
CALLER by_valloc(size_t bytes) {
	kept = valloc(bytes);
}
CALLER by_new(size_t bytes) {
	kept = ::operator new(bytes);
}
CALLER by_new_array(size_t bytes) {
	kept = ::operator new[](bytes);
}
CALLER by_nothrow_new(size_t bytes) {
	kept = ::operator new(bytes, std::nothrow);
}
CALLER by_aligned_new(size_t bytes) {
	kept = ::operator new(bytes, std::align_val_t(64));
}

int main() {
	/* Tiny, small, large, huge: each takes another path through the library. */
	static const size_t sizes[] = {40, 3000, 40000, 300000, 9000000};
	for (size_t bytes : sizes) {
		by_malloc(bytes);
		by_calloc(bytes);
		by_realloc(bytes);
		by_posix_memalign(bytes);
		by_aligned_alloc(bytes);
		by_memalign(bytes);
		by_valloc(bytes);
		by_new(bytes);
		by_new_array(bytes);
		by_nothrow_new(bytes);
		by_aligned_new(bytes);
	}
	return 0;
}
