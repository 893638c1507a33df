/* SPDX-License-Identifier: MIT
 * test_huge_table.c -- the table against a plain array, with many collisions. */
#include "heap/large/huge_table.h"
#include "test.h"

#define MODEL 3000

static void test_random_inserts_and_removals(void) {
	static mw_huge_block_t model[MODEL];
	mw_huge_table_t table = {0};
	uint64_t state = 12345;
	size_t live = 0;
	for (int turn = 0; turn < 200000; turn++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		unsigned i = (unsigned)(state >> 33) % MODEL;
		/* Few distinct pages apart: neighbours in the hash, long probes. */
		uintptr_t base = (uintptr_t)(i + 1) << 12;
		mw_huge_block_t *found = mw_huge_table_find(&table, base);
		if (model[i].base) {
			CHECK(found != NULL);
			CHECK_EQ(found->bytes, model[i].bytes);
			mw_huge_table_remove(&table, found);
			model[i].base = 0;
			live--;
		} else {
			CHECK(found == NULL);
			model[i] = (mw_huge_block_t){base, (size_t)turn, 0, 0};
			CHECK(mw_huge_table_insert(&table, &model[i]));
			live++;
		}
		CHECK_EQ(table.count, live);
	}
	for (unsigned i = 0; i < MODEL; i++)
		CHECK_EQ(mw_huge_table_find(&table, (uintptr_t)(i + 1) << 12) != NULL,
			 model[i].base != 0);
}

int main(void) {
	RUN(test_random_inserts_and_removals);
	return 0;
}
