//! The crash test: a server that is killed at random moments while commands stream in forgets nothing that it
//! acknowledged, and does nothing twice.
//!
//! The victim is this very test program, started again with an address in its environment. It says `SENT`
//! before it gives a command and `ACK` with the answer after; what was sent and not acknowledged is given
//! again, with the same id, to the next victim.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use atelier_domain::compute::{ClusterId, JobId};
use atelier_domain::reason::Reason;
use atelier_domain::time::Now;
use atelier_domain::world::{Answer, Order, World};
use atelier_engine::run::{Options, OrderError};
use atelier_engine::store::Kind;
use sqlx::{AnyPool, Row as _};

use crate::common::{Manner, Place, Running, submit};

const ADDRESS: &str = "ATELIER_CRASH_ADDRESS";
const ROUND: &str = "ATELIER_CRASH_ROUND";
const AGAIN: &str = "ATELIER_CRASH_AGAIN";
const CALLERS: u64 = 12;

type Judged = Result<Answer, Reason>;

/// How often the server is killed; the bench asks for more.
fn rounds() -> u64 {
    std::env::var("ATELIER_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(50)
}

#[test]
fn nothing_is_lost_or_done_twice_on_sqlite() {
    crash(Kind::Sqlite);
}

#[test]
fn nothing_is_lost_or_done_twice_on_postgres() {
    crash(Kind::Postgres);
}

/// Not a test by itself: what is killed.
#[test]
fn victim() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let round: u64 = std::env::var(ROUND).expect("the round").parse().expect("a number");
    let again = std::env::var(AGAIN).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("starts");
    runtime.block_on(async move {
        let place = Place { address, folder: tempfile::tempdir().expect("a folder") };
        let it = Running::start(place.open().await, Manner::Prompt(Duration::from_millis(1)), Options::default()).await;
        let pool = it.furnish(8).await;
        println!("READY");
        for id in again.split(' ').filter(|id| !id.is_empty()) {
            let _ = give(&it, pool, id).await;
        }
        let it = &it;
        let callers = (0..CALLERS).map(|caller| async move {
            for number in 0.. {
                let id = format!("submit-{round}-{caller}-{number}");
                let answer = give(it, pool, &id).await;
                if let Ok(Answer::Job(job)) = answer
                    && number % 3 == 0
                {
                    let _ = give(it, pool, &format!("cancel-{round}-{caller}-{number}-{}", job.0)).await;
                }
            }
        });
        futures_util::future::join_all(callers).await;
    });
}

/// Gives the command of that id, which says all about it, until there is an answer.
async fn give(it: &Running, pool: ClusterId, id: &str) -> Judged {
    println!("SENT {id}");
    loop {
        let answer = match id.strip_prefix("cancel-") {
            Some(rest) => {
                let job = rest.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a job's number");
                it.give(id, Order::Cancel(JobId(job))).await
            }
            None => it.give_with(id, submit(pool), Some(format!("{{\"id\":\"{id}\"}}"))).await,
        };
        let judged: Judged = match answer {
            Ok(answer) => Ok(answer),
            Err(OrderError::Refused(reason)) => Err(reason),
            Err(OrderError::Uncertain) => continue,
            Err(error) => panic!("{id}: {error}"),
        };
        println!("ACK {id} {}", serde_json::to_string(&judged).expect("JSON"));
        return judged;
    }
}

#[derive(Default)]
struct Heard {
    acknowledged: BTreeMap<String, String>,
    open: BTreeSet<String>,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("SENT"), Some(id), None) if !self.acknowledged.contains_key(id) => {
                self.open.insert(id.to_owned());
            }
            (Some("ACK"), Some(id), Some(answer)) => {
                self.open.remove(id);
                let before = self.acknowledged.insert(id.to_owned(), answer.to_owned());
                assert!(before.is_none_or(|before| before == answer), "{id} was answered in two ways");
            }
            _ => {}
        }
    }
}

fn crash(kind: Kind) {
    let place = Place::new(kind);
    let mut heard = Heard::default();
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..rounds() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = Duration::from_millis((dice >> 33) % 300);
        run_victim(&place, round, life, &mut heard);
    }
    let runtime = tokio::runtime::Runtime::new().expect("starts");
    runtime.block_on(judge(&place, &heard));
}

/// Lets a victim live for so long after it is ready, and hears what it says until its last word.
fn run_victim(place: &Place, round: u64, life: Duration, heard: &mut Heard) {
    let again: Vec<&str> = heard.open.iter().map(String::as_str).collect();
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["crash::victim", "--exact", "--nocapture", "--test-threads=1"])
        .env(ADDRESS, &place.address)
        .env(ROUND, round.to_string())
        .env(AGAIN, again.join(" "))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("starts");
    let (line_in, lines) = channel();
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if line_in.send(line).is_err() {
                return;
            }
        }
    });
    // Nobody is ready after this long but one who never will be.
    let mut until = now() + Duration::from_secs(60);
    let mut is_ready = false;
    loop {
        match lines.recv_timeout(until.saturating_duration_since(now())) {
            Ok(line) if line.ends_with("READY") => {
                is_ready = true;
                until = now() + life;
            }
            Ok(line) => heard.hear(&line),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("the victim of round {round} ended by itself"),
        }
    }
    assert!(is_ready, "the victim of round {round} was never ready");
    child.kill().expect("is killed");
    child.wait().expect("is gone");
    // What it said before it died counts, but for a last line that was cut off.
    lines.iter().for_each(|line| heard.hear(&line));
    reader.join().expect("ends");
}

fn now() -> Instant {
    atelier_engine::clock::instant()
}

async fn judge(place: &Place, heard: &Heard) {
    let store = place.open().await;
    let raw = AnyPool::connect(&place.address).await.expect("connects");
    let rows = sqlx::query("select id, answer from commands").fetch_all(&raw).await.expect("reads");
    let stored: BTreeMap<String, String> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (id, answer) in &heard.acknowledged {
        let found = stored.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is lost"));
        let parsed = |text: &str| serde_json::from_str::<Judged>(text).expect("an answer");
        assert_eq!(parsed(found), parsed(answer), "{id} is not stored as it was acknowledged");
    }
    // Every job was made by exactly one command, and every such command made exactly one.
    let rows = sqlx::query("select job_id, body from job_payloads").fetch_all(&raw).await.expect("reads");
    let mut made: BTreeMap<String, i64> = BTreeMap::new();
    for row in &rows {
        let body: serde_json::Value = serde_json::from_str(row.get(1)).expect("JSON");
        let id = body["id"].as_str().expect("an id").to_owned();
        assert!(made.insert(id.clone(), row.get(0)).is_none(), "{id} was carried out twice");
    }
    let jobs: i64 = sqlx::query_scalar("select count(*) from jobs").fetch_one(&raw).await.expect("counts");
    assert_eq!(usize::try_from(jobs), Ok(made.len()), "a job without its command");
    for (id, answer) in stored.iter().filter(|(id, _)| id.starts_with("submit-")) {
        let judged: Judged = serde_json::from_str(answer).expect("an answer");
        assert_eq!(judged.ok().map(|answer| crate::common::job(&answer).0 as i64), made.get(id).copied(), "{id}");
    }
    // Nobody knows how the last ones ended, but they did or they did not.
    let last = heard.open.len();
    assert!(last <= CALLERS as usize * 2, "{last} were never answered");
    let loaded = store.load_engine().await.expect("loads");
    let world = World::load(loaded.records, Now::default());
    assert_eq!(world.audit(), Vec::<String>::new());
    let replay = store.replay(false).await.expect("replays");
    assert_eq!(replay.differs_at, None, "after {} batches", replay.batches);
    assert_eq!(replay.world.fingerprint(), world.fingerprint());
    assert!(heard.acknowledged.len() > rounds() as usize, "only {} commands", heard.acknowledged.len());
    println!(
        "{} kills, {} commands acknowledged, {} jobs, {} batches replayed",
        rounds(),
        heard.acknowledged.len(),
        jobs,
        replay.batches
    );
    raw.close().await;
    store.close().await;
}
