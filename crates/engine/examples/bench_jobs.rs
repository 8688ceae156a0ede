//! Real jobs on a real node without the portal: an array of `/bin/true` on two slots, and one job after
//! another, with the processor time that the engine's side takes.
//!
//! `cargo run --release -p atelier-engine --example bench_jobs -- [array] [singles]`, after
//! `cargo build --release -p atelier-agent`.
#![allow(missing_docs, dead_code, reason = "a benchmark")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

#[path = "../tests/nodes/site.rs"]
mod site;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{JobId, Resources};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order};
use atelier_engine::drivers::local::Settings;
use atelier_engine::run::Payload;
use atelier_protocol::{Run, Task};
use site::Site;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |index: usize, or: u32| words.get(index).and_then(|text| text.parse().ok()).unwrap_or(or);
    let (array, singles) = (number(1, 5_000), number(2, 300));
    let data = tempfile::tempdir().expect("a folder");
    let program = std::env::var_os("ATELIER_AGENT_PROGRAM").map(Into::into).or_else(|| {
        let own = std::env::current_exe().ok()?;
        Some(own.parent()?.parent()?.join("atelier-agent"))
    });
    let settings = Settings { program, ..Settings::default() };
    let site = Site::start_with(data.path(), settings).await;
    site.until("there are all sizes", |world| world.sizes().nth(2).map(|_| ())).await;
    let cluster = site.cluster("two", "local-2", 1, 1, Span::seconds(3_600)).await;
    let mut spec = Site::spec(cluster);
    spec.shape = Resources { cores: 1_000, memory: 256, gpus: 0 };
    let task = Task {
        run: Run::Argv(vec!["/bin/true".to_owned()]),
        environment: Vec::new(),
        files: Vec::new(),
        is_alone: false,
    };
    let payload = || Some(Payload::of("true", Tags::default(), &task));
    let one = async || {
        let Answer::Job(id) = site.give(Order::Submit(spec.clone()), payload()).await else { panic!("a job") };
        let mut over = site.engine.job_over(id);
        if site.engine.ask(move |world| world.job(id).is_some()).await.expect("answers") {
            over.ended().await.expect("is told");
        }
    };
    one().await;
    println!("posix_spawn by two threads: {:.0} /s", bare(Duration::from_secs(2)));
    let (began, used, node) = (Instant::now(), processor(), node_cpu(data.path()));
    let order = Order::SubmitArray { spec: spec.clone(), count: array };
    let Answer::Jobs { first, count } = site.give(order, payload()).await else { panic!("jobs") };
    for id in (first.0 + u64::from(count) - 8..first.0 + u64::from(count)).map(JobId) {
        let mut over = site.engine.job_over(id);
        if site.engine.ask(move |world| world.look_up(id).is_some()).await.expect("answers") {
            over.ended().await.expect("is told");
        }
    }
    let took = began.elapsed().as_secs_f64();
    let (server, node) = (processor() - used, node_cpu(data.path()) - node);
    let each = |seconds: f64| seconds * 1e6 / f64::from(array);
    let status = site.engine.status();
    println!(
        "array: {:.0} /s; µs for each: engine {:.0}, node {:.0}; batches {}, inputs {}",
        f64::from(array) / took,
        each(server),
        each(node),
        status.batches,
        status.inputs
    );
    println!("posix_spawn by two threads: {:.0} /s", bare(Duration::from_secs(2)));
    let mut all = Vec::new();
    for _ in 0..singles {
        let began = Instant::now();
        one().await;
        all.push(began.elapsed());
    }
    all.sort_unstable();
    if let Some(median) = all.get(all.len() / 2) {
        println!("one at a time: {median:.2?}, p90 {:.2?}", all[all.len() * 9 / 10]);
    }
    site.tear_down().await;
}

/// What two threads can do that only spawn and wait.
fn bare(lasting: Duration) -> f64 {
    let began = Instant::now();
    let spawn = move || {
        let mut count = 0_u32;
        while began.elapsed() < lasting {
            let mut command = Command::new("/bin/true");
            let null = std::process::Stdio::null;
            command.env_clear().stdin(null()).stdout(null()).status().expect("runs");
            count += 1;
        }
        count
    };
    let threads = [std::thread::spawn(spawn), std::thread::spawn(spawn)];
    let count: u32 = threads.map(|thread| thread.join().expect("no panic")).iter().sum();
    f64::from(count) / began.elapsed().as_secs_f64()
}

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("reads");
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Processor time of all nodes with what ran on them, in seconds.
fn node_cpu(data: &Path) -> f64 {
    let mut all = 0.0;
    for entry in std::fs::read_dir(data.join("nodes")).into_iter().flatten().flatten() {
        let Ok(pid) = std::fs::read_to_string(entry.path().join("lock")) else { continue };
        let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", pid.trim())).unwrap_or_default();
        for line in groups.lines() {
            let mut words = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (words.next(), words.next()) else { continue };
            if controllers.split(',').any(|one| one == "cpuacct") {
                let usage = std::fs::read_to_string(format!("/sys/fs/cgroup/{controllers}{group}/cpuacct.usage"));
                all += usage.ok().and_then(|text| text.trim().parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
            }
        }
    }
    all
}
