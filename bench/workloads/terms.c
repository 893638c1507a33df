/* SPDX-License-Identifier: MIT
 * terms.c MODE -- trees of small nodes.  Modes: rewrite (symbolic derivatives, built, simplified
 * and freed by counts of references, as interpreters do), trees (complete binary trees, short-lived
 * ones beside a long-lived one), two (trees, in two threads). */
#include "workload.h"

enum { DERIVATIVES = 20, REWRITES = 30, DEPTH = 15, TREES = 160 };

typedef enum kind { NUMBER, NAME, SUM, PRODUCT } kind_t;

typedef struct term {
	uint32_t references;
	kind_t kind;
	int64_t number;
	struct term *operands[]; /* two, of SUM and PRODUCT */
} term_t;

/* Leaves have no room for operands: two sizes of node. */
static term_t *make_leaf(kind_t kind, int64_t number) {
	term_t *term = wl_malloc(sizeof(*term));
	*term = (term_t){1, kind, number};
	return term;
}

/* Takes the operands over. */
static term_t *make(kind_t kind, term_t *left, term_t *right) {
	term_t *term = wl_malloc(sizeof(*term) + 2 * sizeof(term_t *));
	*term = (term_t){1, kind, 0};
	term->operands[0] = left;
	term->operands[1] = right;
	return term;
}

static term_t *keep(term_t *term) {
	term->references++;
	return term;
}

static void drop(term_t *term) {
	if (--term->references > 0)
		return;
	if (term->kind == SUM || term->kind == PRODUCT) {
		drop(term->operands[0]);
		drop(term->operands[1]);
	}
	free(term);
}

/* Both take their operands over. */
static term_t *sum_of(term_t *a, term_t *b) {
	if (a->kind == NUMBER && b->kind == NUMBER) {
		term_t *result = make_leaf(NUMBER, (a->number + b->number) % 9973);
		drop(a);
		drop(b);
		return result;
	}
	if (a->kind == NUMBER && a->number == 0) {
		drop(a);
		return b;
	}
	return make(SUM, a, b);
}

static term_t *product_of(term_t *a, term_t *b) {
	if (a->kind == NUMBER && (a->number == 0 || a->number == 1)) {
		term_t *result = a->number ? b : a;
		drop(a->number ? a : b);
		return result;
	}
	return make(PRODUCT, a, b);
}

static term_t *derivative(term_t *term) {
	switch (term->kind) {
	case NUMBER:
		return make_leaf(NUMBER, 0);
	case NAME:
		return make_leaf(NUMBER, 1);
	case SUM:
		return sum_of(derivative(term->operands[0]), derivative(term->operands[1]));
	default:
		return sum_of(product_of(derivative(term->operands[0]), keep(term->operands[1])),
			      product_of(derivative(term->operands[1]), keep(term->operands[0])));
	}
}

static term_t *copy(const term_t *term) {
	if (term->kind == NUMBER || term->kind == NAME)
		return make_leaf(term->kind, term->number);
	return make(term->kind, copy(term->operands[0]), copy(term->operands[1]));
}

static uint64_t evaluate(const term_t *term, uint64_t x) {
	switch (term->kind) {
	case NUMBER:
		return (uint64_t)term->number;
	case NAME:
		return x;
	case SUM:
		return (evaluate(term->operands[0], x) + evaluate(term->operands[1], x)) % 1000003;
	default:
		return evaluate(term->operands[0], x) * evaluate(term->operands[1], x) % 1000003;
	}
}

static uint64_t rewrite_mode(void) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < REWRITES; i++) {
		term_t *term = make_leaf(NAME, 0);
		for (unsigned k = 1; k < DERIVATIVES; k++)
			term = product_of(sum_of(make_leaf(NUMBER, (int64_t)(k + i)), term),
					  make_leaf(NAME, 0));
		for (unsigned order = 0; order < 3; order++) {
			term_t *next = derivative(term), *fresh = copy(next);
			sum += evaluate(fresh, i + order);
			drop(next);
			drop(term);
			term = fresh;
		}
		drop(term);
	}
	return sum;
}

static term_t *tree(unsigned depth) {
	if (depth == 0)
		return make_leaf(NUMBER, 1);
	term_t *left = tree(depth - 1);
	return make(SUM, left, tree(depth - 1));
}

static void *trees(void *argument) {
	term_t *lasting = tree(DEPTH + 2);
	uint64_t *sum = argument;
	for (unsigned i = 0; i < TREES; i++) {
		term_t *passing = tree(DEPTH);
		*sum += evaluate(passing, 0);
		drop(passing);
		for (unsigned k = 0; k < 256; k++) {
			term_t *small = tree(6);
			*sum += evaluate(small, 0);
			drop(small);
		}
	}
	*sum += evaluate(lasting, 0);
	drop(lasting);
	return NULL;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "rewrite";
	uint64_t sums[2] = {0, 0};
	if (!strcmp(mode, "rewrite"))
		return wl_finish(rewrite_mode());
	if (!strcmp(mode, "two")) {
		pthread_t other = wl_thread(trees, &sums[1]);
		trees(&sums[0]);
		pthread_join(other, NULL);
	} else {
		trees(&sums[0]);
	}
	return wl_finish(sums[0] + sums[1]);
}
