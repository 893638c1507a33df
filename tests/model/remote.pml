/* SPDX-License-Identifier: MIT
 * remote.pml -- the life of one page between threads, for spin: src/heap/remote/, heap_page.c,
 * free.c and thread.c, step for step.
 *
 * Two threads allocate, free what anybody holds, collect blocks of the other's page in a batch, end
 * and begin again with a heap of either.  A third thread has no heap: it frees.  What is shared is
 * read and written one step at a time; a compare-and-swap loop is one step, as it has an effect
 * only when it succeeds.  What an owner alone touches is not split.  Locals are set to 0 when they
 * are done with: less to tell states apart by.
 * With BINS, threads keep freed blocks of any page in their bins, as above tiny, and there is no
 * third thread: all at once is too much to search.
 * The search is exhaustive, under sequential consistency: what weaker orders need is argued at each
 * atomic in the sources.  A run of several slices is not in the model (tests/schedule meets them).
 *
 * Shown: no block is handed out twice; a page has one owner; it is given back only when all of its
 * blocks are back and no list holds it; once all blocks were freed and all threads have ended, the
 * page has been given back (nothing is lost).
 * Each BUG_ macro takes one precaution out; run.sh sees to it that spin notices. */

#define BLOCKS 3
#define ALL 7 /* mask of the blocks */
#define HEAPS 2
#define NONE 7

/* Flags of the remote word. */
#define ABANDONED 1
#define LISTED 2

/* States of the page; GIVEN: its slice is free. */
#define S_GIVEN 0
#define S_QUEUED 1
#define S_FULL 2
#define S_LISTED 3
#define S_LOOSE 4

/* The remote word, always changed as a whole: the delayed list as a mask of blocks, the flags, and
 * of a listed page the blocks that were out when it was listed. */
byte list;
byte flags;
byte out;
byte page_heap = NONE;
byte last_heap = NONE;
byte state = S_GIVEN;
byte free_list; /* mask */
byte used;
bool class_lock; /* of the abandoned pages */
bool in_list;    /* the page is in the list of abandoned pages */
bool in_use[HEAPS];
bool cached[HEAPS];
byte saved[HEAPS]; /* bin of a cached heap */
byte held;         /* blocks the program has */
byte finished;

#define COUNT(mask) (((mask) & 1) + ((mask) >> 1 & 1) + ((mask) >> 2))

inline lock_class() {
	atomic { !class_lock -> class_lock = true }
}

/* chunk.c, mw_chunk_give */
inline give() {
	d_step {
		assert(held == 0 && used == 0 && (free_list | list) == ALL);
		assert(flags == 0 && !in_list);
		page_heap = NONE;
		last_heap = NONE;
		free_list = 0;
		list = 0;
		state = S_GIVEN
	}
}

/* word.h, mw_remote_take, and heap_page.c, mw_heap_page_put_back */
inline collect() {
	d_step {
		assert(flags == 0 && (free_list & list) == 0 && (held & list) == 0);
		free_list = free_list | list;
		used = used - COUNT(list);
		list = 0
	}
}

/* abandoned.c, unlink_page: under the lock */
inline unlink_page() {
	d_step {
		assert(in_list && state == S_LISTED);
		in_list = false;
		state = S_LOOSE
	}
}

/* abandoned.c, mw_abandoned_abandon_full: `mine` if a block came back. */
inline abandon_full() {
	mine = list != 0;
	if
	:: mine
	:: else ->
		d_step {
			page_heap = NONE;
			state = S_FULL
		};
		d_step {
#ifndef BUG_FULL_UNSEEN
			mine = list != 0;
#endif
			if
			:: !mine ->
				assert(flags == 0 && free_list == 0);
				flags = ABANDONED;
				list = 0
			:: else
			fi
		}
	fi
}

/* abandoned.c, list_page: `mine` if all blocks are back. */
inline list_page() {
	lock_class();
	d_step {
		assert(!in_list);
		page_heap = NONE;
		state = S_LISTED;
		in_list = true
	};
	d_step {
		assert(flags == 0);
		mine = COUNT(list) == used;
#ifdef BUG_LAST_UNSEEN
		mine = false;
#endif
		if
		:: !mine ->
			flags = ABANDONED | LISTED;
#ifdef BUG_COUNT_WITHOUT_FREE
			out = BLOCKS
#else
			out = used
#endif
		:: else
		fi
	};
	if
	:: mine -> unlink_page()
	:: else
	fi;
	class_lock = false
}

/* abandoned.c, mw_abandoned_add */
inline abandoned_add() {
	mine = true;
	do
	:: mine ->
		collect();
		if
		:: used == 0 -> break
		:: used != 0 && free_list == 0 -> abandon_full()
		:: used != 0 && free_list != 0 -> list_page()
		fi
	:: else -> break
	od;
	if
	:: mine ->
		mine = false;
		give()
	:: else
	fi
}

/* heap_page.c, mw_heap_page_emptied: gives the page back, unless it is the queue's last. */
inline emptied() {
	if
	:: state == S_QUEUED ->
		assert(list == 0 && flags == 0);
		give()
	:: true
	fi
}

/* heap_page.c, own */
inline own() {
	d_step {
		assert(page_heap == NONE && flags == 0);
		page_heap = heap;
		last_heap = heap;
		state = S_QUEUED
	}
}

/* heap_page.c, mw_heap_page_put_back */
inline put_back() {
	d_step {
		assert(!(free_list & batch) && !(list & batch));
		free_list = free_list | batch;
		used = used - COUNT(batch);
		batch = 0
	}
}

/* remote.c, send: the blocks in `batch`; word.h, mw_remote_push */
inline send() {
	d_step {
		assert(state != S_GIVEN);
		assert((list & batch) == 0 && (free_list & batch) == 0);
		assert(flags != ABANDONED || list == 0);
		if
		:: flags == ABANDONED ->
			took = true;
#ifndef BUG_CLEAR_APART
			flags = 0
#endif
		:: else ->
			list = list | batch;
			batch = 0;
			ended = (flags & LISTED) && COUNT(list) == out;
#ifdef BUG_LISTED_TAKEN_BY_ANY
			ended = (flags & LISTED) != 0;
#endif
			if
			:: ended ->
				flags = 0;
				out = 0
			:: else
			fi
		fi
	};
	if
	:: took ->
		took = false;
#ifdef BUG_CLEAR_APART
		flags = 0;
#endif
		if
		:: heap != NONE && last_heap == heap ->
			own();
			put_back();
			if
			:: used == 0 -> emptied()
			:: else
			fi
		:: else ->
			put_back();
			abandoned_add()
		fi
	:: ended ->
		ended = false;
		/* abandoned.c, mw_abandoned_end */
		lock_class();
		unlink_page();
		class_lock = false;
		used = 0;
		give()
	:: else
	fi
}

/* remote.c, mw_remote_flush */
inline flush() {
	if
	:: batch -> send()
	:: else
	fi
}

/* heap_page.c, has_blocks and let_go: leaves the page queued when it has blocks. */
inline look_into_page() {
	if
	:: free_list == 0 -> collect()
	:: else
	fi;
	if
	:: free_list == 0 ->
		abandon_full();
		if
		:: mine ->
			mine = false;
			page_heap = NONE;
			own()
		:: else
		fi
	:: else
	fi
}

/* abandoned.c, mw_abandoned_take; heap_page.c, own */
inline take_abandoned() {
	lock_class();
	d_step {
#ifdef BUG_TAKE_WITHOUT_FLAG
		mine = in_list;
#else
		mine = in_list && (flags & LISTED);
#endif
		if
		:: mine ->
			flags = 0;
			out = 0
		:: else
		fi
	};
	if
	:: mine -> unlink_page()
	:: else
	fi;
	class_lock = false;
	if
	:: mine ->
		mine = false;
		own();
		look_into_page()
	:: else
	fi
}

/* refill.c: find_page, take_list */
#define IN_QUEUE (page_heap == heap && state == S_QUEUED)
inline refill() {
	if
	:: IN_QUEUE -> look_into_page()
	:: else
	fi;
	if
	:: !IN_QUEUE -> take_abandoned()
	:: else
	fi;
	if
	:: !IN_QUEUE -> flush()
	:: else
	fi;
	/* make_run: under the chunk lock */
	d_step {
		if
		:: state == S_GIVEN ->
			assert(list == 0 && flags == 0);
			free_list = ALL;
			used = 0;
			page_heap = heap;
			last_heap = heap;
			state = S_QUEUED
		:: else
		fi
	};
	if
	:: IN_QUEUE ->
		if
		:: free_list == 0 -> collect()
		:: else
		fi;
		d_step {
			bin = free_list;
			free_list = 0;
			used = BLOCKS
		}
	:: else /* the page is elsewhere: no other is in the model */
	fi
}

inline allocate() {
	if
	:: bin == 0 -> refill()
	:: else
	fi;
	d_step {
		if
		:: bin & 1 ->
			assert(!(held & 1));
			held = held | 1;
			bin = bin & ~1
		:: !(bin & 1) && (bin & 2) ->
			assert(!(held & 2));
			held = held | 2;
			bin = bin & ~2
		:: bin == 4 ->
			assert(!(held & 4));
			held = held | 4;
			bin = 0
		:: else
		fi
	}
}

/* heap_page.c, mw_heap_page_put */
inline put(blocks) {
	d_step {
		assert(!(free_list & blocks) && !(list & blocks) && flags == 0);
		free_list = free_list | blocks;
		used = used - COUNT(blocks);
		blocks = 0
	};
	if
	:: used == 0 -> emptied()
	:: else
	fi
}

/* free.c, free_in_page; remote.c, mw_remote_free */
inline free_block() {
#ifdef BINS
	if
	:: true ->
		d_step {
			bin = bin | block;
			block = 0
		}
	:: true -> free_past_bin()
	fi
#else
	free_past_bin()
#endif
}

inline free_past_bin() {
	if
	:: page_heap == heap -> put(block)
	:: else ->
		d_step {
			batch = batch | block;
			block = 0
		};
		if
		:: send()
		:: true /* later */
		fi
	fi
}

/* thread.c, mw_heap_thread_end and put_away */
inline end_thread(may_cache) {
	flush();
	if
	:: may_cache ->
		d_step {
			saved[heap] = bin;
			bin = 0;
			cached[heap] = true;
			heap = NONE
		}
	:: true ->
		/* cached_heap.c, mw_heap_abandon_all */
		if
		:: bin && page_heap != heap ->
			d_step {
				batch = batch | bin;
				bin = 0
			};
			send()
		:: bin && page_heap == heap -> put(bin)
		:: else
		fi;
		if
		:: IN_QUEUE ->
			d_step {
				last_heap = NONE;
				state = S_LOOSE
			};
			abandoned_add()
		:: else
		fi;
		d_step {
			in_use[heap] = false;
			heap = NONE
		}
	fi
}

/* thread.c, make_heap: a cached heap, or one that has nothing */
inline begin_thread(which) {
	atomic {
		(cached[which] || !in_use[which]) ->
		heap = which;
		in_use[which] = true;
		cached[which] = false;
		bin = saved[which];
		saved[which] = 0
	}
}

/* Takes a block the program holds. */
inline claim() {
	if
	:: held & 1 -> block = 1
	:: held & 2 -> block = 2
	:: held & 4 -> block = 4
	fi;
	held = held & ~block
}

proctype thread() {
	byte heap = NONE, bin, batch, block;
	bool mine, took, ended;
	do
	:: heap == NONE ->
		if
		:: begin_thread(0)
		:: begin_thread(1)
		:: break
		fi
	:: heap != NONE -> allocate()
	:: heap != NONE -> end_thread(true)
	:: atomic { heap != NONE && held != 0 -> claim() };
		free_block()
	od;
	finished++
}

/* A thread without a heap. */
proctype other() {
	byte heap = NONE, batch, block;
	bool mine, took, ended;
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
	byte heap = NONE, bin, batch, block;
	bool mine, took, ended;
	atomic {
		run thread();
		run thread();
#ifdef BINS
		finished++
#else
		run other()
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
	:: else -> break
	od;
	begin_thread(0);
	end_thread(false);
	begin_thread(1);
	end_thread(false);
	/* A page that a heap kept as its last when the other heap sent blocks to it. */
	begin_thread(0);
	end_thread(false);
	assert(state == S_GIVEN)
}
