//! Measures the durable loop and prints a line of JSON for each figure:
//! `bench_loop [seconds] [callers] [figure]`.
//!
//! On SQLite with synchronous = full, in the folder that `ATELIER_BENCH_FOLDER` names or in a temporary one.
//! Nobody carries anything out: what is measured is taking, deciding, writing and answering.

#[path = "../tests/engine/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::ClusterId;
use atelier_domain::time::Now;
use atelier_domain::world::{Command, Order, Report, World};
use atelier_engine::clock;
use atelier_engine::run::Options;
use atelier_engine::store::{Missing, Store};
use common::{Manner, Running, submit};

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let seconds = Duration::from_secs(number(10));
    let callers = number(64);
    let only = arguments.next();
    let is_wanted = |figure: &str| only.as_deref().is_none_or(|only| only == figure);
    let folder = match std::env::var_os("ATELIER_BENCH_FOLDER") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .expect("a folder");

    if is_wanted("submissions") {
        let it = start(&folder.path().join("many.db")).await;
        let pool = it.furnish(1).await;
        many(&it, pool, seconds, callers).await;
        it.stop().await;
    }
    if is_wanted("lone_submission") {
        let it = start(&folder.path().join("lone.db")).await;
        let pool = it.furnish(1).await;
        lone(&it, pool).await;
        it.stop().await;
    }
    if only.as_deref() == Some("array") {
        let it = start(&folder.path().join("array.db")).await;
        let pool = it.furnish(100).await;
        array(&it, pool).await;
        it.stop().await;
    }
    if is_wanted("load") {
        load(&folder.path().join("load.db")).await;
    }
}

async fn start(file: &std::path::Path) -> Running {
    let folder = file.with_extension("d");
    std::fs::create_dir_all(&folder).expect("a folder");
    let store = Store::open_sqlite(&folder.join("atelier.db"), Missing::Make).await.expect("opens");
    Running::start(Arc::new(store), Manner::Idle, Options::default()).await
}

fn payload(id: &str) -> Option<atelier_engine::run::Payload> {
    let body = format!("{{\"id\":\"{id}\",\"command\":\"python train.py --epochs 10\",\"environment\":\"pytorch-2\"}}");
    Some(atelier_engine::run::Payload { body, ..Default::default() })
}

async fn many(it: &Running, pool: ClusterId, seconds: Duration, callers: u64) {
    let began = clock::instant();
    let before = it.handle.status();
    let each = (0..callers).map(|caller| {
        let handle = it.handle.clone();
        let command = it.command(submit(pool));
        tokio::spawn(async move {
            let mut took = Vec::new();
            for number in 0_u64.. {
                if began.elapsed() > seconds {
                    break;
                }
                took.push(one(&handle, &command, &format!("bench-{caller}-{number}")).await);
            }
            took
        })
    });
    let mut took = Vec::new();
    for caller in each.collect::<Vec<_>>() {
        took.extend(caller.await.expect("ends"));
    }
    let (elapsed, after) = (began.elapsed(), it.handle.status());
    let batches = after.batches - before.batches;
    let rate = took.len() as f64 / elapsed.as_secs_f64();
    print(
        "submissions",
        &mut took,
        &[
            ("callers", callers as f64),
            ("per_second", rate),
            ("per_batch", (after.inputs - before.inputs) as f64 / batches as f64),
        ],
    );
}

async fn lone(it: &Running, pool: ClusterId) {
    let command = it.command(submit(pool));
    let mut took = Vec::new();
    for number in 0..2_200 {
        let one = one(&it.handle, &command, &format!("bench-lone-{number}")).await;
        // The first ones find caches cold.
        if number >= 200 {
            took.push(one);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    print("lone_submission", &mut took, &[]);
}

/// Arrays of a million jobs, submitted one after the other and canceled as a whole.
async fn array(it: &Running, pool: ClusterId) {
    const COUNT: u32 = 1_000_000;
    let (mut submitted, mut canceled) = (Vec::new(), Vec::new());
    for number in 0..50 {
        let Order::Submit(spec) = submit(pool) else { panic!("a submission") };
        let command = it.command(Order::SubmitArray { spec, count: COUNT });
        submitted.push(one(&it.handle, &command, &format!("bench-array-{number}")).await);
        let first = it.handle.ask(|world| world.arrays().next().map(|array| array.first)).await.expect("answers");
        let array = first.expect("it is there");
        let change = atelier_domain::world::ArrayChange::Cancel;
        let began = clock::instant();
        it.give(&format!("bench-cancel-{number}"), Order::ChangeArray { array, change }).await.expect("taken");
        canceled.push(began.elapsed());
    }
    print("array", &mut submitted, &[("jobs", f64::from(COUNT))]);
    print("array_canceled", &mut canceled, &[("jobs", f64::from(COUNT))]);
}

async fn one(handle: &atelier_engine::run::EngineHandle, command: &Command, id: &str) -> Duration {
    let began = clock::instant();
    let new = atelier_engine::run::NewOrder {
        id: atelier_engine::run::CommandId::parse(id).expect("an id"),
        payload: payload(id),
        author: common::author(),
        command: command.clone(),
    };
    handle.order(new).await.expect("taken");
    began.elapsed()
}

/// 100,000 jobs of which 40,000 run on 10,000 nodes.
async fn load(file: &std::path::Path) {
    let it = start(file).await;
    let pool = it.furnish(10_000).await;
    let submits = (0..100_000).map(|number| {
        let id = format!("bench-load-{number}");
        let new = atelier_engine::run::NewOrder {
            payload: payload(&id),
            id: atelier_engine::run::CommandId::parse(&id).expect("an id"),
            author: common::author(),
            command: it.command(submit(pool)),
        };
        it.handle.order(new)
    });
    let answers = futures_util::future::join_all(submits).await;
    assert!(answers.iter().all(Result::is_ok));
    let nodes = it.handle.ask(|world| world.nodes().map(|node| node.id).collect::<Vec<_>>()).await.expect("answers");
    let ups = nodes.into_iter().map(|node| it.handle.report(Report::NodeUp(node)));
    assert!(futures_util::future::join_all(ups).await.iter().all(Result::is_ok));
    it.stop().await;

    let folder = file.with_extension("d");
    let store = Store::open_sqlite(&folder.join("atelier.db"), Missing::Refuse).await.expect("opens");
    let began = clock::instant();
    let loaded = store.load_engine().await.expect("loads");
    let read = began.elapsed();
    let records = loaded.records.len();
    let previous = loaded.previous.expect("batches were written");
    let world = World::load(loaded.records, Now { wall: previous.wall, mono: previous.mono });
    let took = began.elapsed();
    let counts = world.counts();
    println!(
        "{{\"figure\":\"load\",\"records\":{records},\"nodes\":{},\"jobs\":{},\"read_ms\":{:.1},\"ms\":{:.1}}}",
        counts[2].1,
        counts[3].1,
        read.as_secs_f64() * 1e3,
        took.as_secs_f64() * 1e3,
    );
    store.close().await;
}

fn print(figure: &str, took: &mut [Duration], more: &[(&str, f64)]) {
    took.sort_unstable();
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    let more: String = more.iter().map(|(name, value)| format!(",\"{name}\":{value:.1}")).collect();
    println!(
        "{{\"figure\":\"{figure}\",\"count\":{},\"p50_ms\":{:.3},\"p99_ms\":{:.3},\"max_ms\":{:.3}{more}}}",
        took.len(),
        at(0.5),
        at(0.99),
        at(1.0),
    );
}
