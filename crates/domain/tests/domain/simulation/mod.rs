//! Simulated sites: the core against a reality that loses launches, says things late and twice, loses
//! machines, and an engine that is killed between any two steps while the wall clock jumps.
//!
//! `ATELIER_SEED=41 cargo test -p atelier-domain --test domain simulation::` runs one seed again;
//! `ATELIER_TEST_EFFORT=10` runs ten times as many.

mod dice;
mod reality;
mod site;

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use self::reality::Fault;
use crate::support::effort;

/// What a run has found.
#[derive(Default)]
struct Found {
    /// The first seed that failed, with what was wrong.
    failed: Option<(u64, Vec<String>)>,
    /// At how many sites each fault came about.
    struck: BTreeMap<Fault, u64>,
}

/// Runs the seeds on all cores, up to the first that fails.
fn run(seeds: std::ops::Range<u64>) -> Found {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(Found::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || found.lock().is_ok_and(|found| found.failed.is_some()) {
                        return;
                    }
                    let (wrong, struck) = catch_unwind(|| site::simulate(seed, false))
                        .unwrap_or_else(|_| (vec!["it panicked; see above".into()], Default::default()));
                    let mut found = found.lock().expect("nobody panics with it");
                    struck.into_iter().for_each(|fault| *found.struck.entry(fault).or_default() += 1);
                    if !wrong.is_empty() {
                        found.failed.get_or_insert((seed, wrong));
                    }
                }
            });
        }
    });
    found.into_inner().expect("nobody panics with it")
}

#[test]
fn sites_keep_every_promise() {
    if let Some(seed) = std::env::var("ATELIER_SEED").ok().and_then(|seed| seed.parse().ok()) {
        let (wrong, _) = site::simulate(seed, true);
        assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
        return;
    }
    let count = 1_000 * u64::from(effort());
    let found = run(0..count);
    if let Some((seed, wrong)) = found.failed {
        panic!("ATELIER_SEED={seed} replays this:\n{}", wrong.join("\n"));
    }
    for fault in Fault::ALL {
        let sites = found.struck.get(&fault).copied().unwrap_or_default();
        assert!(sites * 10 >= count, "{fault:?} came about at {sites} of {count} sites; one of ten is wanted");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in 0..20 {
        assert_eq!(site::journal(seed), site::journal(seed), "seed {seed}");
    }
}
