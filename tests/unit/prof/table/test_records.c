/* SPDX-License-Identifier: MIT
 * test_records.c -- a reader of the file sees whole records while they are written. */
#include "prof/table/records.h"

#include <pthread.h>
#include <time.h>

#include "prof/control/control.h"
#include "prof_fixture.h"

enum { WRITERS = 4, SECONDS_MAX = 20, READS_WANTED = 300000 };

static _Atomic int stop;

/* Records whose fields all follow from the address. */
static void *write_records(void *argument) {
	uint64_t address = 1 + (size_t)argument * 1000003;
	mw_record_id_t held[16] = {0};
	for (unsigned i = 0; !stop; i++) {
		mw_record_id_t *slot = &held[i % 16];
		bool locked = mw_tables_lock(&mw_control_table_lock);
		if (*slot)
			mw_records_remove(*slot, &(mw_release_t){0});
		address++;
		mw_sample_t sample = {.stack = 0,
				      .thread_id = (uint32_t)(address * 3),
				      .address = address,
				      .requested_bytes = address ^ 0x5555,
				      .usable_bytes = address + 7,
				      .weight_q16 = address * 5};
		*slot = mw_records_add(&sample);
		mw_tables_unlock(&mw_control_table_lock, locked);
		CHECK(*slot);
	}
	return NULL;
}

static void readers_see_whole_records(void) {
	start(1, 0, false);
	/* Sanitizers and emulators take long over code that is new to them: a turn that is taken
	 * over for that would be two writers of one record. */
	mw_table_lock_wait_max_ns = UINT64_MAX;
	char *file = map_state_of(getpid());
	pthread_t threads[WRITERS];
	for (size_t i = 0; i < WRITERS; i++)
		CHECK(pthread_create(&threads[i], NULL, write_records, (void *)i) == 0);
	long whole = 0, torn = 0;
	time_t begin = time(NULL);
	while (whole < READS_WANTED && time(NULL) - begin < SECONDS_MAX)
		for (uint64_t i = 1; i <= WRITERS * 16; i++) {
			uint32_t before = atomic_load_explicit(&record_entry(file, i)->sequence,
							       memory_order_acquire);
			mw_state_record_t copy;
			memcpy((char *)&copy + 4, (char *)record_entry(file, i) + 4,
			       sizeof copy - 4);
			atomic_thread_fence(memory_order_acquire);
			uint32_t after = atomic_load_explicit(&record_entry(file, i)->sequence,
							      memory_order_relaxed);
			if (before != after || before % 2) {
				torn++;
				continue;
			}
			if (copy.address == 0 || copy.stack == MW_RECORD_FREE)
				continue;
			whole++;
			CHECK_EQ(copy.requested_bytes, copy.address ^ 0x5555);
			CHECK_EQ(copy.usable_bytes, copy.address + 7);
			CHECK_EQ(copy.weight_q16, copy.address * 5);
			CHECK_EQ(copy.thread_id, (uint32_t)(copy.address * 3));
		}
	stop = 1;
	for (size_t i = 0; i < WRITERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(whole >= 1000);
	printf("# %ld whole, %ld being written\n", whole, torn);
}

int main(void) {
	RUN_IN_CHILD(readers_see_whole_records);
	return 0;
}
