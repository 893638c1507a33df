/* SPDX-License-Identifier: MIT
 * nothrow_plugin.cc -- the nothrow forms of new when there is no memory: they call the new handler,
 * and what it throws makes NULL.  A plugin of a program in C, and the body of a static program. */
#include <cstddef>
#include <new>

extern "C" int test_nothrow(void);

/* More than any address space holds; volatile, so that the compiler cannot know. */
static volatile size_t too_much = static_cast<size_t>(1) << 62;
static int calls;

static void give_up() {
	if (++calls == 3)
		std::set_new_handler(nullptr);
}

static void refuse() {
	calls++;
	throw std::bad_alloc();
}

static void *ask(int form) {
	auto align = static_cast<std::align_val_t>(4096);
	switch (form) {
	case 0:
		return ::operator new(too_much, std::nothrow);
	case 1:
		return ::operator new[](too_much, std::nothrow);
	case 2:
		return ::operator new(too_much, align, std::nothrow);
	default:
		return ::operator new[](too_much, align, std::nothrow);
	}
}

/* 0: all is well; else the form and the step that is not. */
int test_nothrow() {
	for (int form = 0; form < 4; form++) {
		calls = 0;
		std::set_new_handler(give_up);
		if (ask(form) != nullptr || calls != 3)
			return form * 10 + 1;
		calls = 0;
		std::set_new_handler(refuse);
		if (ask(form) != nullptr || calls != 1)
			return form * 10 + 2;
		std::set_new_handler(nullptr);
		if (ask(form) != nullptr || calls != 1)
			return form * 10 + 3;
	}
	char *block = new (std::nothrow) char[100];
	bool made = block != nullptr;
	delete[] block;
	return made ? 0 : 50;
}

#ifdef NOTHROW_PROGRAM
#include <cstdio>
int main() {
	int failed = test_nothrow();
	printf("nothrow: %d\n", failed);
	return failed != 0;
}
#endif
