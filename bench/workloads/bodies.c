/* SPDX-License-Identifier: MIT
 * bodies.c -- the motion of some thousand bodies by an octree made anew in every step: many nodes
 * of two sizes, built up at random, walked, and all freed. */
#include "workload.h"

enum { BODIES = 6000, STEPS = 120 };

typedef struct vector {
	double x, y, z;
} vector_t;

typedef struct body {
	vector_t place, speed;
	double mass;
} body_t;

typedef struct node {
	double mass;
	vector_t centre; /* of mass, times mass until the tree is complete */
	double half;     /* of the edge */
	vector_t middle;
	struct node *children[8];
	body_t *body; /* a leaf's */
} node_t;

static node_t *node_new(vector_t middle, double half) {
	node_t *node = wl_check(calloc(1, sizeof(*node)));
	node->middle = middle;
	node->half = half;
	return node;
}

static node_t **child_for(node_t *node, const body_t *body) {
	unsigned octant = (body->place.x > node->middle.x) | (body->place.y > node->middle.y) << 1 |
			  (body->place.z > node->middle.z) << 2;
	if (!node->children[octant]) {
		double quarter = node->half / 2;
		vector_t middle = {node->middle.x + (octant & 1 ? quarter : -quarter),
				   node->middle.y + (octant & 2 ? quarter : -quarter),
				   node->middle.z + (octant & 4 ? quarter : -quarter)};
		node->children[octant] = node_new(middle, quarter);
	}
	return &node->children[octant];
}

static void insert(node_t *node, body_t *body) {
	while (node->mass > 0 && node->half > 1e-9) {
		if (node->body) {
			body_t *earlier = node->body;
			node->body = NULL;
			insert(*child_for(node, earlier), earlier);
		}
		node->mass += body->mass;
		node = *child_for(node, body);
	}
	node->mass += body->mass;
	node->body = body;
}

static void find_centres(node_t *node) {
	if (node->body) {
		node->centre = node->body->place;
		return;
	}
	for (unsigned i = 0; i < 8; i++) {
		node_t *child = node->children[i];
		if (!child)
			continue;
		find_centres(child);
		node->centre.x += child->centre.x * child->mass / node->mass;
		node->centre.y += child->centre.y * child->mass / node->mass;
		node->centre.z += child->centre.z * child->mass / node->mass;
	}
}

static void attract(body_t *body, const node_t *node) {
	double x = node->centre.x - body->place.x, y = node->centre.y - body->place.y;
	double z = node->centre.z - body->place.z;
	double square = x * x + y * y + z * z + 1e-3;
	if (node->body || node->half * node->half < square) {
		double pull = 1e-4 * node->mass / square;
		body->speed.x += x * pull;
		body->speed.y += y * pull;
		body->speed.z += z * pull;
		return;
	}
	for (unsigned i = 0; i < 8; i++)
		if (node->children[i])
			attract(body, node->children[i]);
}

static void free_tree(node_t *node) {
	for (unsigned i = 0; i < 8; i++)
		if (node->children[i])
			free_tree(node->children[i]);
	free(node);
}

int main(void) {
	static body_t *bodies[BODIES];
	uint64_t seed = 29;
	for (unsigned i = 0; i < BODIES; i++) {
		bodies[i] = wl_check(calloc(1, sizeof(body_t)));
		bodies[i]->place = (vector_t){wl_below(&seed, 1u << 20) * 0x1p-20 - 0.5,
					      wl_below(&seed, 1u << 20) * 0x1p-20 - 0.5,
					      wl_below(&seed, 1u << 20) * 0x1p-20 - 0.5};
		bodies[i]->mass = 1.0 / BODIES;
	}
	for (unsigned step = 0; step < STEPS; step++) {
		node_t *root = node_new((vector_t){0, 0, 0}, 1);
		for (unsigned i = 0; i < BODIES; i++)
			insert(root, bodies[i]);
		find_centres(root);
		for (unsigned i = 0; i < BODIES; i++)
			attract(bodies[i], root);
		free_tree(root);
		for (unsigned i = 0; i < BODIES; i++) {
			bodies[i]->place.x += bodies[i]->speed.x;
			bodies[i]->place.y += bodies[i]->speed.y;
			bodies[i]->place.z += bodies[i]->speed.z;
		}
	}
	double sum = 0;
	for (unsigned i = 0; i < BODIES; i++) {
		sum += bodies[i]->place.x * bodies[i]->place.x;
		free(bodies[i]);
	}
	return wl_finish((uint64_t)(sum * 1e6));
}
