//! Simulated sites: the core against a reality that loses launches, says things late and twice, loses
//! machines, and an engine that is killed between any two steps while the wall clock jumps.
//!
//! `ATELIER_SEED=41 cargo test -p atelier-domain --test simulation` runs one seed again;
//! `ATELIER_SEEDS=100000` runs so many.

mod dice;
mod reality;
mod site;

use std::sync::atomic::{AtomicU64, Ordering};

/// Runs the seeds on all cores and gives the first that fails, with what was wrong.
fn run(seeds: std::ops::Range<u64>) -> Option<(u64, Vec<String>)> {
    let next = AtomicU64::new(seeds.start);
    let failed = std::sync::Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failed.lock().is_ok_and(|failed| failed.is_some()) {
                        return;
                    }
                    let result = std::panic::catch_unwind(|| site::simulate(seed, false))
                        .unwrap_or_else(|_| vec!["it panicked; see above".into()]);
                    if !result.is_empty()
                        && let Ok(mut failed) = failed.lock()
                    {
                        failed.get_or_insert((seed, result));
                    }
                }
            });
        }
    });
    failed.into_inner().ok().flatten()
}

#[test]
fn ten_thousand_sites_keep_every_promise() {
    if let Some(seed) = std::env::var("ATELIER_SEED").ok().and_then(|seed| seed.parse().ok()) {
        let wrong = site::simulate(seed, true);
        assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
        return;
    }
    let count = std::env::var("ATELIER_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000);
    if let Some((seed, wrong)) = run(0..count) {
        panic!("ATELIER_SEED={seed} replays this:\n{}", wrong.join("\n"));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for seed in 0..20 {
        assert_eq!(site::journal(seed), site::journal(seed), "seed {seed}");
    }
}
