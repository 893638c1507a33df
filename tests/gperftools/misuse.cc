/* SPDX-License-Identifier: MIT
 * misuse.cc -- makes the mistake that its argument names. */
#include <cstdlib>
#include <cstring>
#include <new>

int main(int count, char **arguments) {
	const char *what = count > 1 ? arguments[1] : "nothing";
	char *volatile block = (char *)malloc(100);
	static char variable[64];
	if (strcmp(what, "overrun") == 0)
		memset(block, 1, 101);
	if (strcmp(what, "foreign") == 0)
		block = variable + 16;
	free(block);
	if (strcmp(what, "double-free") == 0)
		free(block);
	if (strcmp(what, "wrong-size") == 0)
		::operator delete(::operator new(100), (std::size_t)300);
	return 0;
}
