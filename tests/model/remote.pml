/* SPDX-License-Identifier: MIT
 * remote.pml -- the life of one page between threads, for spin: src/heap/remote.h, free.c,
 * inbox.c, outbox.c, shelf.c, heap_page.c, orphan.c and thread.c, step for step.
 *
 * Two threads allocate, free what anybody holds, end and begin again with a heap of either; a third
 * only frees.  What is shared is read and written one step at a time; a compare-and-swap loop is
 * one step, as it has an effect only when it succeeds.  What an owner alone touches is not split.
 * Locals are set to 0 when they are done with: less to tell states apart by.
 * With SHELF, freed blocks may lie in lists that any thread takes, and there is no third thread: all
 * of it at once is too much to search.
 * The search is exhaustive, under sequential consistency: what weaker orders need is argued at each
 * atomic in the sources.
 *
 * Shown: no block is handed out twice; a page is given back only when all of its blocks are back
 * and no list holds it; when all blocks were freed, the page is found again (nothing is lost).
 * Each BUG_ macro takes one precaution out; run.sh sees to it that spin notices. */

#define BLOCKS 2
#define ALL 3 /* mask of the blocks */
#define HEAPS 2
#define NONE 7

/* Flags of the inbox word. */
#define FULL 1
#define PENDING 2
#define ORPHAN 4

/* States of the page; GIVEN: its slices are free. */
#define S_GIVEN 0
#define S_QUEUED 1
#define S_FULL 2
#define S_ORPHAN 3
#define S_LOOSE 4

byte inbox; /* the word: mask of the blocks, */
byte flags; /* and flags: always changed together */
byte page_heap = NONE;
byte state = S_GIVEN;
byte free_list; /* masks */
byte used;
bool orphan_lock;
byte shelf; /* shelf.c, one place: mask of the blocks */
bool pending[HEAPS]; /* the heap's pending list holds the page */
bool in_use[HEAPS];
byte held; /* blocks the program has */
byte finished;

#define COUNT(mask) (((mask) & 1) + ((mask) >> 1))

inline give() {
	atomic {
		assert(held == 0);
		assert(!(flags & PENDING) && !pending[0] && !pending[1]);
		assert(COUNT(free_list) + COUNT(inbox) == BLOCKS);
		page_heap = NONE;
		state = S_GIVEN
	}
}

/* inbox.c, notify_heap */
inline notify() {
	told = page_heap;
	assert(told != NONE);
	atomic {
		assert(!pending[0] && !pending[1]);
		pending[told] = true;
		told = 0
	}
}

/* orphan.c, mw_orphan_reclaim */
inline reclaim() {
	atomic { !orphan_lock -> orphan_lock = true };
#ifdef BUG_RECLAIM_BLINDLY
	release = COUNT(inbox) == used;
#else
	release = state == S_ORPHAN;
	if
	:: release -> release = COUNT(inbox) == used
	:: else
	fi;
#endif
	atomic {
		if
		:: release -> state = S_LOOSE
		:: else
		fi;
		orphan_lock = false
	};
	if
	:: release ->
		release = false;
		give()
	:: else
	fi
}

/* remote.h, mw_remote_push; inbox.c, mw_inbox_send: the blocks in `batch` */
inline send() {
	d_step {
		old_inbox = inbox;
		old_flags = flags;
		inbox = inbox | batch;
		if
		:: flags & FULL -> flags = (flags & ~FULL) | PENDING
		:: else
		fi
	};
	if
	:: old_flags & FULL ->
		d_step {
			old_inbox = 0;
			old_flags = 0;
			batch = 0
		};
		notify()
	:: !(old_flags & FULL) && (old_flags & ORPHAN) && COUNT(old_inbox) + COUNT(batch) == used ->
		d_step {
			old_inbox = 0;
			old_flags = 0;
			batch = 0
		};
		reclaim()
	:: else ->
		d_step {
			old_inbox = 0;
			old_flags = 0;
			batch = 0
		}
	fi
}

/* shelf.c, mw_shelf_put: leaves the batch when the shelf is full */
inline put_on_shelf() {
	atomic {
		if
		:: shelf == 0 ->
			shelf = batch;
			batch = 0
		:: else
		fi
	}
}

/* shelf.c, mw_shelf_take */
inline take_from_shelf() {
#ifdef BUG_TAKE_IN_TWO_STEPS
	head = shelf;
	shelf = 0
#else
	atomic {
		head = shelf;
		shelf = 0
	}
#endif
}

/* outbox.c, mw_outbox_flush */
inline flush_outbox() {
	if
	:: batch -> send()
	:: else
	fi
}

/* outbox.c, mw_outbox_hand_on */
inline hand_on() {
#ifdef SHELF
	if
	:: batch && shelf == 0 -> put_on_shelf()
	:: true
	fi;
#endif
	flush_outbox()
}

/* remote.h, mw_remote_take, and heap_page.c, add_to_free_list */
inline take(clear_flags) {
	d_step {
		assert((free_list & inbox) == 0 && (held & inbox) == 0);
		free_list = free_list | inbox;
		used = used - COUNT(inbox);
		inbox = 0;
		flags = flags & ~(clear_flags)
	}
}

/* heap_page.c, mw_heap_page_unfull; FULL stays. */
inline unfull() {
	state = S_QUEUED
}

/* heap_page.c, mw_heap_page_emptied: gives the page back, unless it is the queue's last. */
inline emptied() {
	if
#ifdef BUG_RELEASE_WITH_FLAGS
	:: state == S_QUEUED -> give()
#else
	:: state == S_QUEUED && inbox == 0 && (flags & ~FULL) == 0 -> give()
#endif
	:: true
	fi
}

/* heap_page.c, mw_heap_take_pending */
inline take_pending() {
	if
	:: pending[heap] ->
		pending[heap] = false;
		d_step {
			old_inbox = inbox;
			flags = flags & ~PENDING
		};
		if
		:: state == S_FULL || COUNT(old_inbox) == used ->
			atomic {
				old_inbox = 0;
				take(0)
			}
		:: else -> old_inbox = 0
		fi;
		if
		:: state == S_FULL -> unfull()
		:: else
		fi;
		if
		:: used == 0 -> emptied()
		:: else
		fi
	:: else
	fi
}

/* heap_page.c, has_blocks and set_full; leaves the page queued when it has blocks. */
inline look_into_page() {
	if
	:: free_list == 0 -> take(0)
	:: else
	fi;
	if
	:: free_list == 0 ->
		atomic {
			if
			:: inbox == 0 && !(flags & (FULL | PENDING)) ->
				assert(flags == 0);
				flags = FULL;
				state = S_FULL
			:: inbox == 0 && (flags & (FULL | PENDING)) -> state = S_FULL
			:: inbox != 0 /* one came meanwhile */
			fi
		}
	:: else
	fi
}

/* alloc.c, gather: strangers' blocks that this thread freed, then what others put on the shelf */
inline gather() {
#ifdef SHELF
	if
	:: batch ->
		d_step {
			head = batch;
			batch = 0
		}
	:: batch == 0 && shelf != 0 -> take_from_shelf()
	:: else
	fi
#else
	skip
#endif
}

/* heap_page.c, mw_heap_page_find and mw_heap_page_detach */
inline find_page() {
	take_pending();
	if
	:: page_heap == heap && state == S_QUEUED -> look_into_page()
	:: else
	fi;
	if
	:: !(page_heap == heap && state == S_QUEUED) ->
		/* orphan.c, mw_orphan_take */
		atomic { !orphan_lock -> orphan_lock = true };
		atomic {
			if
			:: state == S_ORPHAN ->
				state = S_LOOSE;
				flags = flags & ~ORPHAN;
				adopted = true
			:: else
			fi;
			orphan_lock = false
		};
		if
		:: adopted ->
			atomic {
				adopted = false;
				state = S_QUEUED;
				page_heap = heap
			};
			look_into_page()
		:: else
		fi
	:: else
	fi;
	if
	:: !(page_heap == heap && state == S_QUEUED) -> flush_outbox()
	:: else
	fi;
	/* make_page: under the chunk lock */
	atomic {
		if
		:: state == S_GIVEN ->
			inbox = 0;
			flags = 0;
			free_list = ALL;
			used = 0;
			page_heap = heap;
			state = S_QUEUED
		:: else
		fi
	};
	if
	:: page_heap == heap && state == S_QUEUED ->
		if
		:: free_list == 0 -> take(0)
		:: else
		fi;
		d_step {
			head = free_list;
			free_list = 0;
			used = BLOCKS
		}
	:: else /* the page is elsewhere: no other is in the model */
	fi
}

inline refill() {
	gather();
	if
	:: head == 0 -> find_page()
	:: else
	fi
}

inline allocate() {
	if
	:: head == 0 -> refill()
	:: else
	fi;
	d_step {
		if
		:: head & 1 ->
			assert(!(held & 1));
			held = held | 1;
			head = head & ~1
		:: !(head & 1) && (head & 2) ->
			assert(!(held & 2));
			held = held | 2;
			head = head & ~2
		:: else
		fi
	}
}

/* free.c, free_in_page */
inline free_block() {
	if
	:: page_heap == heap ->
		d_step {
			assert(!(free_list & block));
			free_list = free_list | block;
			used = used - 1;
			block = 0
		};
		if
		:: state == S_FULL -> unfull()
		:: else
		fi;
		if
		:: used == 0 -> emptied()
		:: else
		fi
	:: else ->
		d_step {
			batch = batch | block;
			block = 0
		};
		if
		:: send()
#ifdef SHELF
		:: put_on_shelf()
#endif
		:: true /* later */
		fi
	fi
}

/* orphan.c, mw_orphan_add */
inline abandon() {
	atomic {
		!orphan_lock -> orphan_lock = true;
		page_heap = NONE;
		state = S_ORPHAN
	};
	d_step {
		old_inbox = inbox;
		old_flags = flags;
		flags = (flags & ~FULL) | ORPHAN
	};
	d_step {
		assert(!(old_flags & PENDING));
		release = COUNT(old_inbox) == used;
		old_inbox = 0;
		old_flags = 0;
		orphan_lock = false
	};
#ifndef BUG_ABANDON_UNSEEN
	if
	:: release -> reclaim()
	:: else
	fi
#else
	release = false
#endif
}

/* thread.c, leave_page */
inline leave_page() {
	atomic {
		old_inbox = inbox;
		old_flags = flags & PENDING;
		flags = flags & ~FULL
	};
	if
#ifndef BUG_IGNORE_PENDING
	:: old_flags ->
		atomic {
			old_inbox = 0;
			old_flags = 0;
			state = S_FULL
		}
#endif
	:: else ->
		old_flags = 0;
		if
		:: COUNT(old_inbox) == used ->
			old_inbox = 0;
			give()
		:: else ->
			old_inbox = 0;
			abandon()
		fi
	fi
}

/* thread.c, mw_heap_thread_end */
inline end_thread() {
	if
	:: head && page_heap != heap ->
		d_step {
			batch = batch | head;
			head = 0
		}
	:: head && page_heap == heap ->
		d_step {
			free_list = free_list | head;
			used = used - COUNT(head);
			head = 0
		};
		if
		:: state == S_FULL -> unfull()
		:: else
		fi;
		if
		:: used == 0 -> emptied()
		:: else
		fi
	:: else
	fi;
	hand_on();
	take_pending();
	if
	:: page_heap == heap -> leave_page()
	:: else
	fi;
	atomic {
		in_use[heap] = false;
		heap = NONE
	}
}

inline begin_thread(which) {
	atomic {
		!in_use[which] -> in_use[which] = true;
		heap = which
	}
}

/* Takes a block the program holds. */
inline claim() {
	if
	:: held & 1 -> block = 1
	:: held & 2 -> block = 2
	fi;
	held = held & ~block
}

proctype thread() {
	byte heap = NONE, head, batch, block, old_inbox, old_flags, told;
	bool release, adopted;
	do
	:: heap == NONE ->
		if
		:: begin_thread(0)
		:: begin_thread(1)
		:: break
		fi
	:: heap != NONE -> allocate()
	:: heap != NONE -> end_thread()
	:: atomic { heap != NONE && held != 0 -> claim() };
		free_block()
	od;
	finished++
}

/* A thread without a heap. */
proctype freer() {
	byte batch, block, old_inbox, old_flags, told;
	bool release;
	do
	:: atomic {
			held != 0 -> claim();
			batch = block;
			block = 0
		};
		send()
	:: break
	od;
	finished++
}

/* When all have come to an end: frees what is left, lets each heap have one more thread, which does
 * nothing but end, and looks for the page. */
init {
	byte heap = NONE, head, batch, block, old_inbox, old_flags, told;
	bool release;
	atomic {
		run thread();
		run thread();
#ifdef SHELF
		finished++
#else
		run freer()
#endif
	};
	finished == 3;
	do
	:: atomic {
			held != 0 -> claim();
			batch = block;
			block = 0
		};
		send()
	:: atomic {
			held == 0 && shelf != 0 -> batch = shelf;
			shelf = 0
		};
		send()
	:: else -> break
	od;
	begin_thread(0);
	end_thread();
	begin_thread(1);
	end_thread();
	assert(state == S_GIVEN)
}
