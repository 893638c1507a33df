/* SPDX-License-Identifier: MIT
 * problems.cc -- a server with one problem, which the argument chooses.  Runs until it is killed.
 */
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline))

struct Session {
	std::string user;
	std::vector<std::string> headers;
};

static std::vector<std::string> split(const std::string &line) {
	std::vector<std::string> parts;
	std::stringstream in(line);
	for (std::string part; std::getline(in, part, ',');)
		parts.push_back(part);
	return parts;
}

APART static std::shared_ptr<Session> open_session(int number) {
	auto session = std::make_shared<Session>();
	session->user = "user number " + std::to_string(number) + " of a long list";
	for (int i = 0; i < 8; i++)
		session->headers.push_back("header " + std::to_string(i) + " with some value");
	return session;
}

/* Of ten sessions one is remembered forever. */
static std::vector<std::shared_ptr<Session>> failed_logins;
static void leak_slowly(int number) {
	auto session = open_session(number);
	if (number % 10 == 0)
		failed_logins.push_back(session);
}

/* Of five hundred requests one fails, and the text is lost. */
APART static char *format_error(int number) {
	char *text = (char *)malloc(3000);
	snprintf(text, 3000, "error %d", number);
	return text;
}
static void leak_rarely(int number) {
	split("a first field,b,c,a field that is longer than the small buffer");
	if (number % 500 == 0 && format_error(number)[0] == 'x')
		abort();
}

class PriceCache {
	std::unordered_map<std::string, std::vector<double>> prices;

      public:
	double lookup(const std::string &key) {
		auto found = prices.find(key);
		if (found == prices.end())
			found = prices.emplace(key, std::vector<double>(20, 1.0)).first;
		return found->second[0];
	}
};
static PriceCache price_cache;
static void fill_cache(int number) {
	price_cache.lookup("an instrument with a long name " + std::to_string(number));
}

/* Of thirty rows one stays. */
static std::vector<std::string *> rows;
APART static void import_rows(void) {
	for (int i = 0; i < 600000; i++)
		rows.push_back(new std::string((size_t)(60 + i % 40), 'x'));
}
static void scatter(int number) {
	if (number > 0)
		return;
	import_rows();
	for (size_t i = 0; i < rows.size(); i++)
		if (i % 30 != 0)
			delete rows[i];
}

/* The nightly report takes three times what the server does otherwise. */
APART static size_t nightly_report(void) {
	std::map<int, std::string> lines;
	for (int i = 0; i < 200000; i++)
		lines[i] = "line " + std::to_string(i) + " of the nightly report, with a text";
	return lines.size();
}
static std::deque<std::shared_ptr<Session>> recent;
static void spike(int number) {
	recent.push_back(open_session(number));
	if (recent.size() > 10000)
		recent.pop_front();
	if (number == 20000 && nightly_report() == 0)
		abort();
}

/* Splits and joins texts all the time. */
APART static void handle(const std::string &line) {
	std::string joined;
	for (const std::string &part : split(line))
		joined = joined + ";" + part;
	__asm__ volatile("" : : "r"(joined.data()) : "memory");
}
static void split_texts(int) {
	for (int i = 0; i < 100; i++)
		handle("a first field that is long,a second one that is longer,4,5,6,7,8");
}

/* Eight threads change one table. */
static std::mutex registry_mutex;
static std::map<int, std::string> registry;
APART static void register_client(int number) {
	std::lock_guard<std::mutex> guard(registry_mutex);
	registry[number % 1000] = std::string(100, 'a');
	auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
	while (std::chrono::steady_clock::now() < until) {
	}
}
static void wait_in_line(int) {
	std::vector<std::thread> threads;
	for (int i = 0; i < 8; i++)
		threads.emplace_back([i] {
			for (int number = i;; number += 8)
				register_client(number);
		});
	for (std::thread &thread : threads)
		thread.join();
}

/* A library takes the CPU time. */
APART static void compress_page(void) {
	static unsigned char in[1 << 20], out[2 << 20];
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (unsigned char)(i * i >> 7);
	uLongf bytes = sizeof out;
	if (compress2(out, &bytes, in, sizeof in, 9) != Z_OK)
		abort();
}
static void compress_pages(int) {
	compress_page();
}

int main(int, char **arguments) {
	static const struct {
		const char *name;
		void (*serve)(int number);
	} problems[] = {{"slow-leak", leak_slowly}, {"rare-leak", leak_rarely},
			{"cache", fill_cache},      {"fragmentation", scatter},
			{"spike", spike},           {"hot-path", split_texts},
			{"convoy", wait_in_line},   {"library", compress_pages}};
	for (const auto &problem : problems)
		for (int number = 0; !strcmp(problem.name, arguments[1]); number++) {
			problem.serve(number);
			if (number % 100 == 0)
				usleep(1000);
		}
	return 2;
}
