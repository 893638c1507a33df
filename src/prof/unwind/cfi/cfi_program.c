/* SPDX-License-Identifier: MIT
 * cfi_program.c -- runs CFA programs for three columns (CFA, frame pointer, return address) and
 * reduces the row to a rule.  DWARF 4, section 6.4.2. */
#include <stddef.h>

#include "base/compiler.h"
#include "os/platform/arch.h"
#include "prof/unwind/cfi/cfi.h"
#include "prof/unwind/cfi/cfi_expr.h"

/* DWARF 4, section 7.23. The first three instructions have an operand in their low six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	/* aarch64: return addresses are signed from here on, or no longer. They are cleaned in both
	 * cases. */
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Most nested remember_state instructions. gcc nests them once; hand-written assembly twice. */
#define REMEMBERED_MAX 8

typedef enum how {
	HOW_SAME,
	HOW_UNDEFINED,
	HOW_OFFSET,     /* stored at CFA + number */
	HOW_EXPRESSION, /* stored at the address that `block` computes */
	HOW_OTHER,      /* any other form: no rule can express it */
} how_t;

/* Position of an expression; a program is smaller than 4 GiB. */
typedef struct block {
	const uint8_t *at;
	uint32_t bytes;
} block_t;

/* Kept small, because rows are copied. */
typedef struct column {
	how_t how;
	uint32_t block_bytes;
	union {
		int64_t number;
		const uint8_t *block_at;
	};
} column_t;

typedef struct row {
	bool cfa_is_block;
	uint64_t cfa_register;
	int64_t cfa_offset;
	block_t cfa_block;
	column_t fp;
	column_t ra;
} row_t;

typedef struct state {
	const mw_cfi_fde_t *fde;
	uintptr_t location; /* address from which on the row holds */
	uintptr_t pc;       /* the wanted row is the last one that is not above this address */
	row_t row;
	row_t initial; /* the row after the CIE's instructions, for the restore instructions */
	row_t remembered[REMEMBERED_MAX];
	unsigned remembered_count;
	bool is_done;
	bool is_bad;
} state_t;

/* Returns the column of a register; NULL: the register is not needed. */
MW_ALWAYS_INLINE column_t *column_of(const state_t *state, row_t *row, uint64_t number) {
	if (number == MW_OS_DWARF_FP)
		return &row->fp;
	return number == state->fde->ra_register ? &row->ra : NULL;
}

MW_ALWAYS_INLINE void set_column(state_t *state, uint64_t number, column_t value) {
	column_t *column = column_of(state, &state->row, number);
	if (column)
		*column = value;
}

static void restore_column(state_t *state, uint64_t number) {
	const column_t *initial = column_of(state, &state->initial, number);
	if (initial)
		set_column(state, number, *initial);
}

/* A damaged factor may wrap. The result is checked when it becomes a rule. */
static int64_t scaled(const state_t *state, uint64_t factor) {
	return (int64_t)(factor * (uint64_t)state->fde->data_align);
}

MW_ALWAYS_INLINE void set_offset(state_t *state, uint64_t number, int64_t offset) {
	set_column(state, number, (column_t){.how = HOW_OFFSET, .number = offset});
}

static block_t read_block(mw_reader_t *reader) {
	uint64_t bytes = mw_read_uleb(reader);
	const uint8_t *at = mw_read_bytes(reader, bytes);
	return (block_t){at, at ? (uint32_t)bytes : 0};
}

static mw_reader_t reader_of(block_t block) {
	return mw_reader(block.at, block.at + block.bytes);
}

MW_ALWAYS_INLINE void advance(state_t *state, uint64_t delta) {
	uint64_t bytes = delta * state->fde->code_align;
	if (bytes > state->pc - state->location)
		state->is_done = true;
	else
		state->location += bytes;
}

static void set_cfa(state_t *state, uint64_t number, int64_t offset) {
	state->row.cfa_is_block = false;
	state->row.cfa_register = number;
	state->row.cfa_offset = offset;
}

static void remember(state_t *state) {
	if (state->remembered_count == REMEMBERED_MAX)
		state->is_bad = true;
	else
		state->remembered[state->remembered_count++] = state->row;
}

static void restore_state(state_t *state) {
	if (state->remembered_count == 0)
		state->is_bad = true;
	else
		state->row = state->remembered[--state->remembered_count];
}

/* Runs an instruction about the CFA or the whole row. */
static bool execute_row(state_t *state, mw_reader_t *reader, uint8_t op) {
	switch (op) {
	case CFA_DEF_CFA: {
		uint64_t number = mw_read_uleb(reader);
		set_cfa(state, number, (int64_t)mw_read_uleb(reader));
		return true;
	}
	case CFA_DEF_CFA_SF: {
		uint64_t number = mw_read_uleb(reader);
		set_cfa(state, number, scaled(state, (uint64_t)mw_read_sleb(reader)));
		return true;
	}
	case CFA_DEF_CFA_REGISTER:
		state->row.cfa_register = mw_read_uleb(reader);
		return true;
	case CFA_DEF_CFA_OFFSET:
		state->row.cfa_offset = (int64_t)mw_read_uleb(reader);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		state->row.cfa_offset = scaled(state, (uint64_t)mw_read_sleb(reader));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		state->row.cfa_is_block = true;
		state->row.cfa_block = read_block(reader);
		return true;
	case CFA_REMEMBER_STATE:
		remember(state);
		return true;
	case CFA_RESTORE_STATE:
		restore_state(state);
		return true;
	case CFA_ADVANCE_LOC1:
		advance(state, mw_read_u8(reader));
		return true;
	case CFA_ADVANCE_LOC2:
		advance(state, mw_read_sized(reader, 2));
		return true;
	case CFA_ADVANCE_LOC4:
		advance(state, mw_read_u32(reader));
		return true;
	case CFA_GNU_ARGS_SIZE:
		mw_read_uleb(reader);
		return true;
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC:
		return true;
	default:
		return false;
	}
}

/* Runs a rare instruction about one register, which is its first operand. */
static MW_COLD void execute_register(state_t *state, mw_reader_t *reader, uint8_t op) {
	uint64_t number = mw_read_uleb(reader);
	column_t value = {.how = HOW_OFFSET};
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		value.number = scaled(state, mw_read_uleb(reader));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		value.number = scaled(state, (uint64_t)mw_read_sleb(reader));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		value.number = scaled(state, 0 - mw_read_uleb(reader));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_column(state, number);
		return;
	case CFA_UNDEFINED:
		value.how = HOW_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		value.how = HOW_SAME;
		break;
	case CFA_EXPRESSION: {
		block_t block = read_block(reader);
		value = (column_t){
			.how = HOW_EXPRESSION, .block_bytes = block.bytes, .block_at = block.at};
		break;
	}
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF: /* the operand's bytes are the same with and without sign */
		mw_read_uleb(reader);
		value.how = HOW_OTHER;
		break;
	case CFA_VAL_EXPRESSION:
		read_block(reader);
		value.how = HOW_OTHER;
		break;
	default: /* includes CFA_SET_LOC, which no compiler uses for .eh_frame */
		state->is_bad = true;
		return;
	}
	set_column(state, number, value);
}

static void run(state_t *state, mw_reader_t program) {
	while (mw_reader_left(&program) > 0 && !state->is_done && !state->is_bad) {
		uint8_t op = mw_read_u8(&program);
		uint8_t low = op & 0x3f;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			advance(state, low);
			break;
		case CFA_OFFSET:
			set_offset(state, low, scaled(state, mw_read_uleb(&program)));
			break;
		case CFA_RESTORE:
			restore_column(state, low);
			break;
		default:
			if (!execute_row(state, &program, op))
				execute_register(state, &program, op);
		}
		state->is_bad |= program.is_bad;
	}
}

static bool fits(int64_t offset) {
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool reduce_cfa(const state_t *state, mw_rule_t *rule) {
	const row_t *row = &state->row;
	mw_expr_value_t value = {.base = MW_BASE_UNDEFINED, .offset = row->cfa_offset};
	if (row->cfa_is_block) {
		if (!mw_expr_reduce(reader_of(row->cfa_block), false, state->pc, &value))
			return false;
	} else if (row->cfa_register == MW_OS_DWARF_SP) {
		value.base = MW_BASE_SP;
	} else if (row->cfa_register == MW_OS_DWARF_FP) {
		value.base = MW_BASE_FP;
	}
	if (value.base == MW_BASE_UNDEFINED || value.base == MW_BASE_CFA || !fits(value.offset) ||
	    value.add < INT16_MIN || value.add > INT16_MAX)
		return false;
	rule->cfa_base = (uint8_t)value.base;
	rule->cfa_offset = (int32_t)value.offset;
	rule->cfa_add = (int16_t)value.add;
	return true;
}

/* Returns the base at which a register is stored; MW_BASE_UNDEFINED if no rule can express it. */
static mw_rule_base_t reduce_column(const column_t *column, uintptr_t pc, int32_t *offset) {
	mw_expr_value_t value = {.base = MW_BASE_CFA};
	*offset = 0;
	if (column->how == HOW_SAME)
		return MW_BASE_SAME;
	if (column->how == HOW_UNDEFINED || column->how == HOW_OTHER)
		return MW_BASE_UNDEFINED;
	if (column->how == HOW_OFFSET)
		value.offset = column->number;
	else if (!mw_expr_reduce(reader_of((block_t){column->block_at, column->block_bytes}), true,
				 pc, &value))
		return MW_BASE_UNDEFINED;
	if (value.base == MW_BASE_SP_LOAD || value.base == MW_BASE_FP_LOAD || !fits(value.offset))
		return MW_BASE_UNDEFINED;
	*offset = (int32_t)value.offset;
	return value.base;
}

static bool is_plain(const mw_rule_t *rule) {
	bool cfa_is_plain = rule->cfa_base == MW_BASE_SP || rule->cfa_base == MW_BASE_FP;
	bool fp_is_plain = rule->fp_base == MW_BASE_SAME || rule->fp_base == MW_BASE_CFA;
	return cfa_is_plain && fp_is_plain && rule->ra_base == MW_BASE_CFA && !rule->is_signal;
}

static mw_rule_t reduce(const state_t *state) {
	const mw_rule_t lost = {.kind = MW_RULE_LOST};
	mw_rule_t rule = {.is_signal = state->fde->is_signal};
	if (state->row.ra.how == HOW_UNDEFINED)
		return (mw_rule_t){.kind = MW_RULE_END};
	if (!reduce_cfa(state, &rule))
		return lost;
	rule.fp_base = (uint8_t)reduce_column(&state->row.fp, state->pc, &rule.fp_offset);
	rule.ra_base = (uint8_t)reduce_column(&state->row.ra, state->pc, &rule.ra_offset);
	if (rule.ra_base == MW_BASE_UNDEFINED ||
	    (rule.ra_base == MW_BASE_SAME && !MW_OS_HAS_LINK_REGISTER))
		return lost;
	rule.kind = is_plain(&rule) ? MW_RULE_PLAIN : MW_RULE_GENERAL;
	return rule;
}

mw_rule_t mw_cfi_rule(const mw_cfi_fde_t *fde, uintptr_t pc) {
	state_t state;
	state.fde = fde;
	state.location = fde->pc_lo;
	state.pc = pc;
	state.row = (row_t){.cfa_register = UINT64_MAX};
	state.remembered_count = 0;
	state.is_done = state.is_bad = false;
	state.initial = state.row;
	/* The initial instructions apply to the whole function: an advance among them is damage. */
	run(&state, fde->initial);
	state.is_bad |= state.is_done || state.location != fde->pc_lo;
	state.initial = state.row;
	run(&state, fde->program);
	return state.is_bad ? (mw_rule_t){.kind = MW_RULE_LOST} : reduce(&state);
}
