/* SPDX-License-Identifier: MIT
 * qemu_plugin.h -- the part of qemu's interface for plugins (version 1) that moved_lines.c uses.
 * Debian's qemu-user has no header for it; the names are those of qemu's documentation. */
#ifndef BENCH_QEMU_PLUGIN_H
#define BENCH_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_RW = 3 };

/* `cpu` is the number of a thread. */
typedef void qemu_plugin_cpu_cb_t(qemu_plugin_id_t id, unsigned cpu);
typedef void qemu_plugin_block_cb_t(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void qemu_plugin_exec_cb_t(unsigned cpu, void *argument);
typedef void qemu_plugin_mem_cb_t(unsigned cpu, uint32_t access, uint64_t address, void *argument);
typedef void qemu_plugin_call_cb_t(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1,
				   uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
				   uint64_t a7, uint64_t a8);
typedef void qemu_plugin_return_cb_t(qemu_plugin_id_t id, unsigned cpu, int64_t number,
				     int64_t result);

/* What a plugin defines: the version of the interface, and what qemu calls first. */
#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))
QEMU_PLUGIN_EXPORT extern int qemu_plugin_version;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *information, int argc,
					   char **argv);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_cpu_cb_t *call);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_cpu_cb_t *call);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_block_cb_t *call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, qemu_plugin_exec_cb_t *call,
					  int flags, void *argument);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
					    qemu_plugin_exec_cb_t *call, int flags, void *argument);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
				      qemu_plugin_mem_cb_t *call, int flags, int kinds,
				      void *argument);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_call_cb_t *call);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_plugin_return_cb_t *call);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *),
				    void *argument);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
bool qemu_plugin_mem_is_store(uint32_t access);

#endif
