/* SPDX-License-Identifier: MIT
 * test_control.c -- requests to a process, given and answered through a state file. */
#include <signal.h>

#include "fake_process.h"
#include "live/control.h"

#define WAIT_SECONDS 10.0

static fake_state_t state;
static mw_target_t target;

/* The file's process is not looked for: it is this one, or a child. */
static mw_target_t target_of(char *path) {
	return (mw_target_t){
		.path = path, .shown = path, .is_state = true, .alive = true, .is_elsewhere = true};
}

static void setup(void) {
	char path[64];
	snprintf(path, sizeof(path), "/tmp/mallow-test-control.%d", getpid());
	state = fake_state_create(path, (uint32_t)getpid(), 1);
	fake_state_hold(&state);
	target = target_of(state.path);
}

static mw_reply_t request(mw_request_kind_t kind, uint64_t mean_bytes, double wait_seconds) {
	mw_reply_t reply;
	mw_error_t error = {""};
	mw_request_t what = {.kind = kind, .mean_bytes = mean_bytes};
	int result = mw_control_send(&target, &what, wait_seconds, &reply, &error);
	CHECK_STR(error.text, "");
	CHECK_EQ(result, 0);
	return reply;
}

static void test_start_and_stop_are_idempotent(void) {
	setup();
	pid_t pid = fake_process_start(&state);
	mw_reply_t reply = request(MW_REQUEST_START, 0, WAIT_SECONDS);
	CHECK_EQ(reply.outcome, MW_OUTCOME_DONE);
	CHECK(!reply.was_active && reply.is_active && state.live->active);
	CHECK_EQ(reply.mean_bytes, 524288);
	reply = request(MW_REQUEST_START, 0, WAIT_SECONDS);
	CHECK_EQ(reply.outcome, MW_OUTCOME_NOTHING);
	CHECK(reply.was_active && !reply.was_pending);
	CHECK_EQ(reply.was_changed_ns, 1700000000000000001);
	CHECK_EQ(state.control->sequence, 1);
	reply = request(MW_REQUEST_STOP, 0, WAIT_SECONDS);
	CHECK_EQ(reply.outcome, MW_OUTCOME_DONE);
	CHECK(!state.live->active);
	reply = request(MW_REQUEST_STOP, 0, WAIT_SECONDS);
	CHECK_EQ(reply.outcome, MW_OUTCOME_NOTHING);
	CHECK_EQ(state.control->sequence, 2);
	fake_process_end(pid);
	fake_state_remove(&state);
}

static void test_rate_keeps_the_rest(void) {
	setup();
	pid_t pid = fake_process_start(&state);
	request(MW_REQUEST_START, 0, WAIT_SECONDS);
	mw_reply_t reply = request(MW_REQUEST_RATE, 65536, WAIT_SECONDS);
	CHECK_EQ(reply.outcome, MW_OUTCOME_DONE);
	CHECK_EQ(reply.was_mean_bytes, 524288);
	CHECK(state.live->active && state.live->mean_bytes == 65536);
	CHECK_EQ(request(MW_REQUEST_RATE, 65536, WAIT_SECONDS).outcome, MW_OUTCOME_NOTHING);
	fake_process_end(pid);
	fake_state_remove(&state);
}

static void test_reset_is_asked_for_each_time(void) {
	setup();
	pid_t pid = fake_process_start(&state);
	CHECK_EQ(request(MW_REQUEST_RESET, 0, WAIT_SECONDS).outcome, MW_OUTCOME_DONE);
	CHECK_EQ(state.live->resets_done, 1);
	CHECK_EQ(request(MW_REQUEST_RESET, 0, WAIT_SECONDS).outcome, MW_OUTCOME_DONE);
	CHECK_EQ(state.live->resets_done, 2);
	/* Another request does not reset again. */
	request(MW_REQUEST_START, 0, WAIT_SECONDS);
	CHECK_EQ(state.live->resets_done, 2);
	fake_process_end(pid);
	fake_state_remove(&state);
}

static void test_idle_process_gets_all_requests_later(void) {
	setup();
	mw_reply_t reply = request(MW_REQUEST_START, 0, 0);
	CHECK_EQ(reply.outcome, MW_OUTCOME_PENDING);
	reply = request(MW_REQUEST_START, 0, 0);
	CHECK_EQ(reply.outcome, MW_OUTCOME_NOTHING);
	CHECK(reply.was_pending && reply.was_active);
	/* What was requested and not yet seen is kept. */
	CHECK_EQ(request(MW_REQUEST_RATE, 4096, 0).outcome, MW_OUTCOME_PENDING);
	CHECK_EQ(request(MW_REQUEST_RESET, 0, 0).outcome, MW_OUTCOME_PENDING);
	fake_state_poll(&state);
	CHECK(state.live->active == 1 && state.live->mean_bytes == 4096);
	CHECK_EQ(state.live->resets_done, 1);
	fake_state_remove(&state);
}

static void test_own_changes_of_the_process_are_kept(void) {
	setup();
	pid_t pid = fake_process_start(&state);
	request(MW_REQUEST_START, 0, WAIT_SECONDS);
	/* As by mallctl: the control page still says what the last tool wanted. */
	state.live->mean_bytes = 777;
	request(MW_REQUEST_STOP, 0, WAIT_SECONDS);
	CHECK_EQ(state.live->mean_bytes, 777);
	fake_process_end(pid);
	fake_state_remove(&state);
}

static void test_rejected_request_is_an_error(void) {
	setup();
	mw_request_t what = {.kind = MW_REQUEST_RATE, .mean_bytes = MW_STATE_MEAN_BYTES_MAX + 1};
	mw_reply_t reply;
	mw_error_t error = {""};
	pid_t pid = fake_process_start(&state);
	CHECK_EQ(mw_control_send(&target, &what, WAIT_SECONDS, &reply, &error), -1);
	CHECK(strstr(error.text, "rejected"));
	CHECK_EQ(state.live->mean_bytes, 524288);
	/* The next good one is taken. */
	CHECK_EQ(request(MW_REQUEST_RATE, 1, WAIT_SECONDS).outcome, MW_OUTCOME_DONE);
	fake_process_end(pid);
	fake_state_remove(&state);
}

/* Another tool that is writing: the opening that has the lock. */
static int lock_as_tool(void) {
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MW_STATE_TOOL_LOCK, .l_len = 1};
	int fd = open(state.path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0);
	return fd;
}

/* The kernel takes it back, in whatever pid namespace the tool was. */
static void test_lock_of_a_dead_tool_is_gone(void) {
	setup();
	pid_t pid = fork();
	if (pid == 0) {
		lock_as_tool();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK_EQ(request(MW_REQUEST_START, 0, 0).outcome, MW_OUTCOME_PENDING);
	fake_state_remove(&state);
}

static void test_lock_of_a_live_tool_is_respected(void) {
	setup();
	int tool = lock_as_tool();
	mw_request_t what = {.kind = MW_REQUEST_START};
	mw_reply_t reply;
	mw_error_t error = {""};
	CHECK_EQ(mw_control_send(&target, &what, 0, &reply, &error), -1);
	CHECK(strstr(error.text, "another mallow"));
	CHECK_EQ(state.control->sequence, 0);
	close(tool);
	fake_state_remove(&state);
}

/* Whoever has the pid now: the file's process is gone. */
static void test_no_request_to_an_ended_process(void) {
	setup();
	close(state.lock);
	state.lock = -1;
	mw_request_t what = {.kind = MW_REQUEST_START};
	mw_reply_t reply;
	mw_error_t error = {""};
	CHECK_EQ(mw_control_send(&target, &what, 0, &reply, &error), -1);
	CHECK(strstr(error.text, "has ended"));
	CHECK_EQ(state.control->sequence, 0);
	fake_state_remove(&state);
}

static void test_many_tools_at_once_lose_no_request(void) {
	setup();
	pid_t process = fake_process_start(&state);
	pid_t tools[8];
	for (int i = 0; i < 8; i++) {
		tools[i] = fork();
		if (tools[i] == 0) {
			for (int n = 0; n < 5; n++)
				request(MW_REQUEST_RESET, 0, WAIT_SECONDS);
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;
		CHECK(waitpid(tools[i], &status, 0) == tools[i] && status == 0);
	}
	CHECK_EQ(state.control->sequence, 40);
	CHECK_EQ(state.live->sequence_seen, 40);
	CHECK_EQ(state.live->resets_done, 40);
	fake_process_end(process);
	fake_state_remove(&state);
}

static void test_file_cut_meanwhile_is_an_error(void) {
	setup();
	pid_t pid = fork();
	if (pid == 0) {
		usleep(200000);
		CHECK(truncate(state.path, 0) == 0);
		_exit(0);
	}
	mw_request_t what = {.kind = MW_REQUEST_START};
	mw_reply_t reply;
	mw_error_t error = {""};
	CHECK_EQ(mw_control_send(&target, &what, WAIT_SECONDS, &reply, &error), -1);
	CHECK(strstr(error.text, "became shorter"));
	waitpid(pid, NULL, 0);
	fake_state_remove(&state);
}

static void test_short_file_is_an_error(void) {
	setup();
	CHECK(truncate(state.path, MW_STATE_PAGE_BYTES) == 0);
	mw_request_t what = {.kind = MW_REQUEST_START};
	mw_reply_t reply;
	mw_error_t error = {""};
	CHECK_EQ(mw_control_send(&target, &what, 0, &reply, &error), -1);
	CHECK(error.text[0] != '\0');
	fake_state_remove(&state);
	CHECK_EQ(mw_control_send(&target, &what, 0, &reply, &error), -1);
}

int main(void) {
	RUN(test_start_and_stop_are_idempotent);
	RUN(test_rate_keeps_the_rest);
	RUN(test_reset_is_asked_for_each_time);
	RUN(test_idle_process_gets_all_requests_later);
	RUN(test_own_changes_of_the_process_are_kept);
	RUN(test_rejected_request_is_an_error);
	RUN(test_lock_of_a_dead_tool_is_gone);
	RUN(test_lock_of_a_live_tool_is_respected);
	RUN(test_no_request_to_an_ended_process);
	RUN(test_many_tools_at_once_lose_no_request);
	RUN(test_file_cut_meanwhile_is_an_error);
	RUN(test_short_file_is_an_error);
	return 0;
}
