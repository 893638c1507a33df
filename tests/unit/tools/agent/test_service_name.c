/* SPDX-License-Identifier: MIT
 * test_service_name.c -- services, versions and labels by rules: control groups, labels of
 * containers, files of a process, hostile names and links. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/rules/service_name.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static char folder[] = "/tmp/mallow-names.XXXXXX";

static void write_file(const char *path, const char *text) {
	char whole[512], command[700];
	snprintf(whole, sizeof(whole), "%s%s", folder, path);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", whole);
	CHECK_EQ(system(command), 0);
	FILE *file = fopen(whole, "w");
	CHECK(file != NULL);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

static void link_file(const char *to, const char *path) {
	char whole[512];
	snprintf(whole, sizeof(whole), "%s%s", folder, path);
	unlink(whole);
	CHECK_EQ(symlink(to, whole), 0);
}

static void fail_on_mistake(void *context, const char *line) {
	(void)context;
	fprintf(stderr, "%s\n", line);
	exit(1);
}

static mw_rules_t rules_of(const char *text) {
	mw_rules_t rules;
	mw_rules_init(&rules);
	mw_rules_read_text(&rules, "test", text, strlen(text), fail_on_mistake, NULL);
	return rules;
}

/* A process in a control group, whose root is the test's folder. */
static mw_name_sources_t facts_of(const char *cgroup) {
	return (mw_name_sources_t){.program = "server",
				   .command = "/usr/bin/server --name=front -v 1.2",
				   .cgroup = strdup(cgroup),
				   .root = open(folder, O_PATH | O_DIRECTORY),
				   .engines = folder};
}

/* Checks service and version that the rules give. */
static void named(const char *text, const char *cgroup, const char *service, const char *version) {
	mw_rules_t rules = rules_of(text);
	mw_name_sources_t facts = facts_of(cgroup);
	mw_service_name_t name;
	mw_service_name_find(&rules, &facts, &name);
	CHECK(!name.is_ignored);
	CHECK_STR(name.service, service);
	CHECK_STR(name.version, version);
	mw_service_name_release(&name);
	mw_name_sources_release(&facts);
	mw_rules_release(&rules);
}

static void test_cgroups(void) {
	static const struct {
		const char *text, *cgroup;
	} rows[] = {
		{"0::/system.slice/nginx.service\n", "/system.slice/nginx.service"},
		{"12:cpu,cpuacct:/a\n1:name=systemd:/system.slice/x.service\n0::/\n",
		 "/system.slice/x.service"},
		{"3:memory:/docker/" ID "\n", "/docker/" ID},
		{"0::/\n", "/"},
		{"", ""},
		{"garbage\n:\n::\n", ""},
		{"no newline 0::/x", "/x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *cgroup = mw_cgroup_of_text(rows[i].text);
		CHECK_STR(cgroup, rows[i].cgroup);
		free(cgroup);
	}
}

static void test_units_and_containers(void) {
	char unit[256], id[MW_CONTAINER_ID_LETTERS + 1];
	CHECK(mw_unit_of_cgroup("/system.slice/system-postgresql.slice/postgresql@15-main.service",
				unit, sizeof(unit)));
	CHECK_STR(unit, "postgresql@15-main");
	CHECK(mw_unit_of_cgroup("/user.slice/user@1000.service/app.slice/a.service/sub", unit,
				sizeof(unit)));
	CHECK_STR(unit, "a");
	CHECK(!mw_unit_of_cgroup("/user.slice/session-3.scope", unit, sizeof(unit)));
	CHECK(!mw_unit_of_cgroup("/.service", unit, sizeof(unit)));
	CHECK(!mw_unit_of_cgroup("/abcdefgh.service", unit, 8));
	CHECK(mw_container_of_cgroup("/system.slice/docker-" ID ".scope", id));
	CHECK_STR(id, ID);
	CHECK(mw_container_of_cgroup("/kubepods/pod1/" ID "/" OTHER_ID, id));
	CHECK_STR(id, OTHER_ID);
	CHECK(!mw_container_of_cgroup("/" ID "0", id));
	CHECK(!mw_container_of_cgroup("/x" ID, id));
	CHECK(!mw_container_of_cgroup("/0123456789abcdef", id));
}

static void test_standard(void) {
	named("", "/system.slice/nginx.service", "nginx", "");
	named("", "/", "server", "");
	named("service unit ^web-(.*)\n", "/web-7.service", "7", "");
	named("service unit ^web-(.*)\n", "/db.service", "db", "");
	named("service text fixed\nservice unit\n", "/db.service", "fixed", "");
}

static void test_command(void) {
	named("service command --name=(\\w+) web-$1\nversion command \"-v ([0-9.]+)\"\n", "/",
	      "web-front", "1.2");
	named("service command --title=(\\w+)\nservice cgroup ^/([^/]+)/ $1$$$0\n", "/a/b", "a$/a/",
	      "");
	/* A group that took no part in the match is empty. */
	named("service command --name=(x)?front $0-$1\n", "/", "--name=front-", "");
}

static void test_containers(void) {
	static const char rule[] = "service container-label app\n"
				   "version container-label org.opencontainers.image.version\n";
	write_file("/var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"Config\":{\"Labels\":{\"app\":\"shop\","
		   "\"org.opencontainers.image.version\":\"7\"}}}");
	write_file("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" OTHER_ID "/config.json",
		   "{\"annotations\":{\"app\":\"cart\"}}");
	named(rule, "/system.slice/docker-" ID ".scope", "shop", "7");
	named(rule, "/kubepods/cri-containerd-" OTHER_ID ".scope", "cart", "");
	/* Damaged or other JSON gives no label. */
	static const char *const damaged[] = {"",
					      "{",
					      "[]",
					      "{\"Config\":7}",
					      "{\"Config\":{\"Labels\":[\"app\"]}}",
					      "{\"Config\":{\"Labels\":{\"app\":7}}}",
					      "{\"annotations\":{\"app\":\"\"}}"};
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		write_file("/var/lib/docker/containers/" ID "/config.v2.json", damaged[i]);
		named(rule, "/docker/" ID, "server", "");
	}
}

static void test_files(void) {
	static const char rule[] = "service file-key /etc/podinfo/labels app.kubernetes.io/name\n"
				   "version file /etc/podinfo/version ^v(.*)\n";
	write_file("/etc/podinfo/..data/labels", "app.kubernetes.io/name-not=\"no\"\n"
						 "app.kubernetes.io/name=\"sh\\\"op\"\n"
						 "tier=\"back\"\n");
	write_file("/etc/podinfo/version", "v3.4\nmore\n");
	link_file("..data/labels", "/etc/podinfo/labels");
	named(rule, "/", "sh\"op", "3.4");
	/* Links with whole paths are those of the container. */
	link_file("/etc/podinfo/..data/labels", "/etc/podinfo/labels");
	named(rule, "/", "sh\"op", "3.4");
	/* No file of this host, device or pipe is read. */
	static const char *const bad[] = {"/etc/passwd", "../../../../../../../../etc/passwd",
					  "/proc/self/environ", "/dev/zero", "/etc"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		link_file(bad[i], "/etc/podinfo/labels");
		named("service file /etc/podinfo/labels\n", "/", "server", "");
	}
	link_file("/etc/podinfo/pipe", "/etc/podinfo/labels");
	char pipe_path[300];
	snprintf(pipe_path, sizeof(pipe_path), "%s/etc/podinfo/pipe", folder);
	CHECK_EQ(mkfifo(pipe_path, 0600), 0);
	named("service file /etc/podinfo/labels\n", "/", "server", "");
}

static void test_hostile(void) {
	static char long_text[200000];
	write_file("/etc/name", "a\033[2Jb\xff"
				"c\n");
	named("service file /etc/name\n", "/", "a?[2Jb?c", "");
	memset(long_text, 'x', sizeof(long_text) - 1);
	write_file("/etc/name", long_text);
	named("service file /etc/name\n", "/", "server", "");
	/* Names are cut between characters. */
	memset(long_text, 'x', 1022);
	strcpy(long_text + 1022, "\xc3\xa4\xc3\xa4");
	write_file("/etc/name", long_text);
	long_text[1022] = '\0';
	named("service file /etc/name\n", "/", long_text, "");
}

static void test_labels_and_ignore(void) {
	mw_rules_t rules =
		rules_of("label zone text b\nlabel env file /none\nlabel env text prod\n"
			 "label env text later\nlabel app program\nignore program ^cron$\n");
	mw_name_sources_t facts = facts_of("/");
	mw_service_name_t name;
	mw_service_name_find(&rules, &facts, &name);
	CHECK_EQ(name.label_count, 3);
	CHECK_STR(name.labels[0].key, "app");
	CHECK_STR(name.labels[0].value, "server");
	CHECK_STR(name.labels[1].key, "env");
	CHECK_STR(name.labels[1].value, "prod");
	CHECK_STR(name.labels[2].key, "zone");
	mw_service_name_release(&name);
	facts.program = "cron";
	mw_service_name_find(&rules, &facts, &name);
	CHECK(name.is_ignored);
	mw_service_name_release(&name);
	mw_name_sources_release(&facts);
	mw_rules_release(&rules);
}

/* This process, by the kernel; and one that has ended. */
static void test_this_process(void) {
	mw_name_sources_t facts;
	mw_rules_t rules = rules_of("service file /etc/hostname-of-nobody\n");
	mw_service_name_t name;
	mw_name_sources_take(&facts, getpid(), "me", "me too");
	CHECK(facts.root >= 0 && facts.cgroup != NULL);
	mw_name_sources_release(&facts);
	mw_name_sources_take(&facts, 0, "", "");
	mw_service_name_find(&rules, &facts, &name);
	CHECK_STR(name.service, "unknown");
	mw_service_name_release(&name);
	mw_name_sources_release(&facts);
	mw_rules_release(&rules);
}

int main(void) {
	char command[300];
	CHECK(mkdtemp(folder) != NULL);
	test_cgroups();
	test_units_and_containers();
	test_standard();
	test_command();
	test_containers();
	test_files();
	test_hostile();
	test_labels_and_ignore();
	test_this_process();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
	return 0;
}
