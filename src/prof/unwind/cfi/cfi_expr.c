/* SPDX-License-Identifier: MIT
 * cfi_expr.c -- a small stack machine over (base, offset) values. */
#include "prof/unwind/cfi/cfi_expr.h"

#include "os/platform/arch.h"

/* DWARF 4, section 7.7.1. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_NOP = 0x96,
};

/* Depth of the stack machine. Known expressions use at most four (PLT entries). */
#define STACK_MAX 8

typedef struct machine {
	mw_expr_value_t stack[STACK_MAX];
	unsigned depth;
	bool is_bad;
} machine_t;

static int64_t wrapping_add(int64_t a, int64_t b) {
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void push(machine_t *machine, mw_expr_value_t value) {
	if (machine->depth == STACK_MAX) {
		machine->is_bad = true;
		return;
	}
	machine->stack[machine->depth++] = value;
}

static void push_number(machine_t *machine, uint64_t number) {
	push(machine, (mw_expr_value_t){.base = MW_BASE_UNDEFINED, .add = (int64_t)number});
}

static mw_expr_value_t pop(machine_t *machine) {
	if (machine->depth == 0) {
		machine->is_bad = true;
		return (mw_expr_value_t){.base = MW_BASE_UNDEFINED};
	}
	return machine->stack[--machine->depth];
}

static bool is_number(const mw_expr_value_t *value) {
	return value->base == MW_BASE_UNDEFINED;
}

static bool is_loaded(const mw_expr_value_t *value) {
	return value->base == MW_BASE_SP_LOAD || value->base == MW_BASE_FP_LOAD;
}

static mw_expr_value_t plus(mw_expr_value_t value, int64_t number) {
	if (is_number(&value) || is_loaded(&value))
		value.add = wrapping_add(value.add, number);
	else
		value.offset = wrapping_add(value.offset, number);
	return value;
}

static void push_register(machine_t *machine, unsigned number, int64_t offset, uintptr_t pc) {
	if (number == MW_OS_DWARF_SP)
		push(machine, (mw_expr_value_t){.base = MW_BASE_SP, .offset = offset});
	else if (number == MW_OS_DWARF_FP)
		push(machine, (mw_expr_value_t){.base = MW_BASE_FP, .offset = offset});
	else if (number == MW_OS_DWARF_PC)
		push_number(machine, (uint64_t)pc + (uint64_t)offset);
	else
		machine->is_bad = true;
}

static void deref(machine_t *machine) {
	mw_expr_value_t value = pop(machine);
	if (value.base == MW_BASE_SP)
		value.base = MW_BASE_SP_LOAD;
	else if (value.base == MW_BASE_FP)
		value.base = MW_BASE_FP_LOAD;
	else
		machine->is_bad = true;
	push(machine, value);
}

static uint64_t combine_numbers(machine_t *machine, uint8_t op, int64_t a, int64_t b) {
	switch (op) {
	case OP_AND:
		return (uint64_t)(a & b);
	case OP_SHL:
		return (uint64_t)b < 64 ? (uint64_t)a << b : 0;
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_GE:
		return a >= b;
	case OP_GT:
		return a > b;
	case OP_LE:
		return a <= b;
	case OP_LT:
		return a < b;
	default:
		machine->is_bad = true;
		return 0;
	}
}

static void combine(machine_t *machine, uint8_t op) {
	mw_expr_value_t b = pop(machine), a = pop(machine);
	if (op == OP_PLUS && is_number(&b))
		push(machine, plus(a, b.add));
	else if (op == OP_PLUS && is_number(&a))
		push(machine, plus(b, a.add));
	else if (op == OP_MINUS && is_number(&b))
		push(machine, plus(a, (int64_t)(0 - (uint64_t)b.add)));
	else if (is_number(&a) && is_number(&b))
		push_number(machine, combine_numbers(machine, op, a.add, b.add));
	else
		machine->is_bad = true;
}

/* Pushes the operand of OP_CONST1U .. OP_CONST8S: sizes 1, 2, 4, 8, each unsigned and then
 * signed. */
static void push_sized(machine_t *machine, mw_reader_t *reader, uint8_t op) {
	unsigned bytes = 1u << ((op - OP_CONST1U) / 2);
	uint64_t number = mw_read_number(reader, bytes);
	push_number(machine, op & 1 ? mw_sign_extend(number, 8 * bytes) : number);
}

static void execute(machine_t *machine, mw_reader_t *reader, uint8_t op, uintptr_t pc) {
	if (op >= OP_LIT0 && op <= OP_LIT31)
		push_number(machine, (uint64_t)op - OP_LIT0);
	else if (op >= OP_BREG0 && op <= OP_BREG31)
		push_register(machine, (unsigned)op - OP_BREG0, mw_read_sleb(reader), pc);
	else if (op >= OP_CONST1U && op <= OP_CONST8S)
		push_sized(machine, reader, op);
	else if (op == OP_CONSTU)
		push_number(machine, mw_read_uleb(reader));
	else if (op == OP_CONSTS)
		push_number(machine, (uint64_t)mw_read_sleb(reader));
	else if (op == OP_PLUS_UCONST)
		push(machine, plus(pop(machine), (int64_t)mw_read_uleb(reader)));
	else if (op == OP_DEREF)
		deref(machine);
	else if (op == OP_DUP && machine->depth > 0)
		push(machine, machine->stack[machine->depth - 1]);
	else if (op != OP_NOP)
		combine(machine, op);
}

bool mw_expr_reduce(mw_reader_t expression, bool with_cfa, uintptr_t pc, mw_expr_value_t *result) {
	machine_t machine = {.depth = 0};
	if (with_cfa)
		push(&machine, (mw_expr_value_t){.base = MW_BASE_CFA});
	while (mw_reader_left(&expression) > 0 && !expression.is_bad && !machine.is_bad)
		execute(&machine, &expression, mw_read_u8(&expression), pc);
	*result = pop(&machine);
	return !expression.is_bad && !machine.is_bad;
}
