// SPDX-License-Identifier: MIT
// catalog.rs -- a Rust program for views.sh: traits, closures, iterators, all inlined as rustc
// likes.
use std::collections::BTreeMap;

#[derive(Clone)]
struct Record {
    name: String,
    values: Vec<u64>,
}

trait Keeper {
    fn keep(&mut self, record: Record);
}

struct Catalog {
    by_name: BTreeMap<String, Record>,
}

impl Keeper for Catalog {
    fn keep(&mut self, record: Record) {
        self.by_name.insert(record.name.clone(), record);
    }
}

fn make<'a>(count: usize) -> impl Iterator<Item = Record> + 'a {
    (0..count)
        .map(|i| Record {
            name: format!("record number {i} of many"),
            values: (0..(i % 40) as u64).collect(),
        })
}

fn main() {
    let mut catalog = Box::new(Catalog { by_name: BTreeMap::new() });
    let keeper: &mut dyn Keeper = catalog.as_mut();
    for record in make(10000) {
        keeper.keep(record);
    }
    let copies: Vec<Record> =
        catalog.by_name.values().filter(|r| r.values.len() > 20).cloned().collect();
    let total: u64 = copies.iter().flat_map(|r| r.values.iter()).sum();
    std::mem::forget(copies);
    std::mem::forget(catalog);
    std::process::exit((total == 0) as i32);
}
