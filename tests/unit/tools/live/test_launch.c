/* SPDX-License-Identifier: MIT
 * test_launch.c -- programs run on the caller's behalf, and whether a preload can reach them. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "fake_process.h"
#include "live/files/program.h"
#include "live/process/launch.h"

static int ticks;
/* The tick that ends the program, which waits for it; 0: none does. */
static int last_tick;
static int go[2];

static void count_tick(void *context, int pid) {
	CHECK(pid > 0);
	CHECK(context == &ticks);
	if (++ticks == last_tick)
		CHECK_EQ(write(go[1], "\n", 1), 1);
}

static mw_launch_t launch(const char *script) {
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
	mw_launch_tick_t tick = {.call = count_tick, .context = &ticks};
	mw_launch_t result;
	mw_error_t error;
	CHECK_EQ(mw_launch(argv, &tick, &result, &error), 0);
	return result;
}

static void test_status_and_times(void) {
	mw_launch_t result = launch("exit 7");
	CHECK(WIFEXITED(result.wait_status));
	CHECK_EQ(WEXITSTATUS(result.wait_status), 7);
	CHECK_EQ(result.exec_errno, 0);
	CHECK(result.pid > 0 && result.start_ticks > 0);
	CHECK(result.wall_ns > 0 && result.wall_ns < 60000000000u);
	result = launch("kill -9 $$");
	CHECK(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGKILL);
}

static void test_exec_failures_are_told_apart(void) {
	mw_launch_tick_t tick = {.call = count_tick, .context = &ticks};
	mw_launch_t result;
	mw_error_t error;
	CHECK_EQ(mw_launch((char *[]){"/nonexistent/program", NULL}, &tick, &result, &error), 0);
	CHECK_EQ(result.exec_errno, ENOENT);
	CHECK_EQ(mw_launch((char *[]){"no-such-program-anywhere", NULL}, &tick, &result, &error),
		 0);
	CHECK_EQ(result.exec_errno, ENOENT);
	CHECK_EQ(mw_launch((char *[]){"/etc/passwd", NULL}, &tick, &result, &error), 0);
	CHECK_EQ(result.exec_errno, EACCES);
}

static void test_ticks_while_it_runs(void) {
	char script[48];
	CHECK_EQ(pipe(go), 0);
	/* Not "<&10": two digits are no descriptor to every shell. */
	snprintf(script, sizeof(script), "read line </proc/self/fd/%d", go[0]);
	ticks = 0;
	last_tick = 8;
	mw_launch_t result = launch(script);
	last_tick = 0;
	close(go[0]);
	close(go[1]);
	CHECK(WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 0);
	CHECK(ticks >= 8);
	/* After 1, 3, 7, 15, 31, 63, 127 and 255 ms, or later on a busy machine, but not before. */
	CHECK(result.wall_ns >= 255000000u);
}

static void test_signals_are_sent_on(void) {
	static const char *const names[] = {"TERM", "INT", "HUP", "USR1"};
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char script[96];
		/* From another process than the program, whose own signals are not sent back; from
		 * one that is there only when it can be sent on. */
		snprintf(script, sizeof(script), "sh -c 'kill -%s %d' & exec sleep 60", names[i],
			 getpid());
		mw_launch_t result = launch(script);
		CHECK(WIFSIGNALED(result.wait_status));
		CHECK_EQ(WTERMSIG(result.wait_status), signals[i]);
	}
	/* A handler of the program decides, not we. */
	char script[128];
	snprintf(script, sizeof(script),
		 "trap 'kill $!; exit 3' TERM; sh -c 'kill -TERM %d' & sleep 60 & wait; wait",
		 getpid());
	mw_launch_t result = launch(script);
	CHECK(WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 3);
}

static void test_signal_state_is_inherited(void) {
	signal(SIGINT, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	mw_launch_t result = launch("kill -INT $$; exit 4");
	CHECK(WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 4);
	struct sigaction now;
	CHECK(sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	result = launch("kill -INT $$; exit 4");
	CHECK(WIFSIGNALED(result.wait_status));
	CHECK(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

static void end_alike(const char *script, int want_status) {
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		mw_launch_end_alike(launch(script).wait_status);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, want_status);
}

static void test_end_alike(void) {
	end_alike("exit 5", W_EXITCODE(5, 0));
	end_alike("kill -KILL $$", W_EXITCODE(0, SIGKILL));
	end_alike("kill -TERM $$", W_EXITCODE(0, SIGTERM));
}

static const char *write_and_ask_as(const void *bytes, size_t length, mode_t mode, uid_t owner) {
	char path[64];
	snprintf(path, sizeof(path), "/tmp/mallow-test-program.%d", getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	CHECK(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	CHECK(fchown(fd, owner, (gid_t)-1) == 0 && fchmod(fd, mode) == 0);
	close(fd);
	const char *why = mw_program_refuses_preload(path);
	unlink(path);
	return why ? why : "";
}

static const char *write_and_ask(const void *bytes, size_t length) {
	return write_and_ask_as(bytes, length, 0700, geteuid());
}

typedef struct tiny_elf {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	char loader[64];
} tiny_elf_t;

static tiny_elf_t make_elf(uint32_t segment_type, const char *loader) {
	tiny_elf_t elf = {
		.header = {.e_ident = ELFMAG,
			   .e_phoff = offsetof(tiny_elf_t, segment),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = segment_type,
			    .p_offset = offsetof(tiny_elf_t, loader),
			    .p_filesz = sizeof(elf.loader)},
	};
	elf.header.e_ident[EI_CLASS] = ELFCLASS64;
	snprintf(elf.loader, sizeof(elf.loader), "%s", loader);
	return elf;
}

static void test_why_no_preload(void) {
	char path[256];
	CHECK(mw_program_find("sh", path, sizeof(path)) && path[0] == '/');
	CHECK(mw_program_refuses_preload(path) == NULL);
	CHECK(!mw_program_find("no-such-program-anywhere", path, sizeof(path)));
	CHECK(!mw_program_find("/etc/passwd", path, sizeof(path)));
	tiny_elf_t elf = make_elf(PT_INTERP, "/lib64/ld-linux-x86-64.so.2");
	CHECK_STR(write_and_ask(&elf, sizeof(elf)), "");
	/* Own set-uid files change nothing; only root can make one of somebody else's. */
	CHECK_STR(write_and_ask_as(&elf, sizeof(elf), 04700, geteuid()), "");
	if (geteuid() == 0)
		CHECK(strstr(write_and_ask_as(&elf, sizeof(elf), 04755, 65534), "set-uid"));
	elf = make_elf(PT_LOAD, "");
	CHECK(strstr(write_and_ask(&elf, sizeof(elf)), "statically linked"));
	elf = make_elf(PT_INTERP, "/lib/ld-musl-x86_64.so.1");
	CHECK(strstr(write_and_ask(&elf, sizeof(elf)), "musl"));
	elf.header.e_ident[EI_CLASS] = ELFCLASS32;
	/* An archive of 64 bits does not help it. */
	const char *why = write_and_ask(&elf, sizeof(elf));
	CHECK(strstr(why, "32-bit") && !strstr(why, "libmallow.a"));
	/* Damaged: nothing is known, nothing is read outside the file. */
	elf = make_elf(PT_INTERP, "");
	elf.header.e_phnum = UINT16_MAX;
	CHECK_STR(write_and_ask(&elf, sizeof(elf)), "");
	elf.header.e_phnum = 1;
	elf.header.e_phoff = UINT64_MAX - 8;
	CHECK_STR(write_and_ask(&elf, sizeof(elf)), "");
	CHECK_STR(write_and_ask("x", 1), "");
	/* A script is as good as its interpreter; one that names itself ends the search. */
	char script[512];
	memset(script, '\n', sizeof(script));
	memcpy(script, "#! /bin/sh -e", 13);
	CHECK_STR(write_and_ask(script, sizeof(script)), "");
	snprintf(script, sizeof(script), "#!/tmp/mallow-test-program.%d\n", getpid());
	CHECK_STR(write_and_ask(script, sizeof(script)), "");
}

int main(void) {
	RUN(test_status_and_times);
	RUN(test_exec_failures_are_told_apart);
	RUN(test_ticks_while_it_runs);
	RUN(test_signals_are_sent_on);
	RUN(test_signal_state_is_inherited);
	RUN(test_end_alike);
	RUN(test_why_no_preload);
	return 0;
}
