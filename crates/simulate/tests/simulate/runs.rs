//! Runs of scenarios: the same bytes every time, and figures that can be worked out by hand.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use atelier_domain::compute::Resources;
use atelier_domain::compute::job::Priority;
use atelier_domain::time::Timestamp;
use atelier_simulate::{Draft, Recorded, Report, Scenario, Stopped, simulate};
use proptest::prelude::*;

use crate::support::{BASE, run, with};

const MINUTE: u64 = 60_000;

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let (first, second) = (run(BASE), run(BASE));
    assert_eq!(first.to_json(), second.to_json());
    assert_eq!(first.svg(), second.svg());
    assert_eq!(first.table(), second.table());
    let other = run(&with("seed = 7", "seed = 8"));
    assert_ne!(first.to_json(), other.to_json());
}

#[test]
fn policies_meet_the_same_jobs() {
    let report = run(BASE);
    let jobs: BTreeSet<Vec<u64>> =
        report.policies.iter().map(|policy| policy.people.iter().map(|person| person.jobs).collect()).collect();
    assert_eq!(jobs.len(), 1);
    // One more kind of jobs changes nothing about the others.
    let more = BASE.replace(
        "[[policy]]\nname = \"from zero\"",
        "[[jobs]]\nname = \"more\"\npeople = [\"ada\"]\nper_hour = 1\ncluster = \"shared\"\n\
         runs = { fixed = \"1 s\" }\n\n[[policy]]\nname = \"from zero\"",
    );
    let more = run(&more);
    let of_team = |report: &Report| report.policies[0].people[1..].iter().map(|person| person.jobs).collect::<Vec<_>>();
    assert_eq!(of_team(&report), of_team(&more));
    assert!(more.policies[0].people[0].jobs > report.policies[0].people[0].jobs);
}

#[test]
fn every_job_is_accounted_for() {
    for policy in run(BASE).policies {
        let jobs = policy.jobs;
        let ended = jobs.completed + jobs.failed + jobs.timed_out + jobs.lost + jobs.preempted;
        assert_eq!(jobs.submitted, ended + jobs.still_running + jobs.still_waiting, "{}", policy.name);
        assert!(jobs.submitted > 300 && jobs.completed > 250 && jobs.refused == 0);
        let of_people: u64 = policy.people.iter().map(|person| person.jobs).sum();
        assert_eq!(of_people, jobs.submitted);
        assert!(policy.utilisation > 0.0 && policy.utilisation <= 1.0);
        assert!(policy.nodes.failed_launches > 0 && policy.nodes.lost + policy.nodes.preempted > 0);
        // The core's own ledger and the machines of the model agree on what was paid.
        assert!((policy.cost - policy.node_hours * 0.2).abs() < 0.01, "{} {}", policy.cost, policy.node_hours);
        let of_people: f64 = policy.people.iter().map(|person| person.cost).sum();
        assert!((of_people + policy.idle_cost - policy.cost).abs() < 0.01);
    }
}

/// A calm site without losses: one person, a history, one cluster.
const CALM: &str = r#"
name = "By hand"
length = "2 h"
wind_down = "2 h"
site = [{ name = "local", launch = "60 s", removal = "10 s" }]
size = [{ name = "small", site = "local", cores = 2, memory_gib = 4, price = 3.6 }]
cluster = [{ name = "shared", size = "small", max = 1, idle = "5 min" }]
history = { file = "jobs.jsonl" }
"#;

fn recorded(at: u64, ran: u64) -> Recorded {
    Recorded {
        submitted: Timestamp(1_772_438_400_000 + at as i64),
        owner: "ada".into(),
        cluster: Some("shared".into()),
        size: None,
        shape: Resources::new(2, 4, 0),
        nodes: 1,
        ran,
        time_limit: None,
        priority: Priority::Medium,
        failed: false,
    }
}

fn replay(jobs: Vec<Recorded>, change: impl FnOnce(&mut Draft)) -> Report {
    let mut draft = Draft::from_toml(CALM).expect("a draft");
    change(&mut draft);
    let scenario = Scenario::check(&draft, jobs).unwrap_or_else(|refused| panic!("{refused}"));
    simulate(&scenario, &mut |_| ControlFlow::Continue(())).expect("a report")
}

#[test]
fn one_job_costs_and_waits_what_one_works_out_by_hand() {
    let report = replay(vec![recorded(0, 10 * MINUTE)], |_| {});
    let policy = &report.policies[0];
    // At 1 ms it comes, the node takes 60 s, the agent says a word.
    assert_eq!(policy.waits.max_ms, 60_000 + 2);
    assert_eq!(policy.jobs.completed, 1);
    assert_eq!(policy.core_hours, 0.333);
    // 60 s of launch, 10 min of work, 5 min idle, 10 s of removal: 970 s at 3.6 an hour.
    assert!((policy.cost - 0.97).abs() < 0.0002, "{}", policy.cost);
    assert!((policy.idle_cost - 0.37).abs() < 0.0002, "{}", policy.idle_cost);
    assert!((policy.utilisation - 600.0 / 970.0).abs() < 0.001);
    assert_eq!(policy.decisions.get("scale-up"), Some(&1));
    assert_eq!(policy.decisions.get("scale-down-idle"), Some(&1));
}

#[test]
fn who_is_over_the_limit_is_ended_and_who_fails_fails() {
    let jobs = vec![
        Recorded { time_limit: Some(60_000), ..recorded(0, 10 * MINUTE) },
        Recorded { failed: true, ..recorded(0, MINUTE) },
        recorded(3 * 60 * MINUTE, MINUTE),
    ];
    let policy = &replay(jobs, |draft| draft.start = Some("2026-03-02T08:00".into())).policies[0].clone();
    assert_eq!((policy.jobs.submitted, policy.jobs.timed_out, policy.jobs.failed, policy.jobs.completed), (2, 1, 1, 0));
}

#[test]
fn jobs_of_another_time_are_left_out_and_counted() {
    let jobs = vec![recorded(0, MINUTE), recorded(90 * MINUTE, MINUTE)];
    let report = replay(jobs, |draft| {
        draft.start = Some("2026-03-02T08:00".into());
        draft.length = Some("1 h".into());
    });
    assert_eq!((report.left_out, report.policies[0].jobs.submitted), (1, 1));
    assert!(report.table().contains("1 recorded jobs are of another time"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Little's law, exactly: jobs that wait, summed over time, are the waits summed over jobs.
    #[test]
    fn the_queue_over_time_is_the_waits_over_jobs(
        jobs in proptest::collection::vec((0..110 * MINUTE, 1..3 * MINUTE), 1..25),
        nodes in 1..5_u32,
    ) {
        let count = jobs.len() as u64;
        let jobs = jobs.into_iter().map(|(at, ran)| recorded(at, ran)).collect();
        let report = replay(jobs, |draft| {
            draft.start = Some("2026-03-02T08:00".into());
            draft.cluster[0].max = nodes;
        });
        let policy = &report.policies[0];
        prop_assert_eq!(policy.jobs.completed, count);
        let every = policy.timeline.every_ms as f64;
        let over_time: f64 = policy.timeline.waiting.iter().map(|waiting| waiting * every).sum();
        let over_jobs = (policy.waits.mean_ms * count) as f64;
        // Means have two digits, and each job is a word from its agent late.
        let allowed = 0.01 * every * policy.timeline.waiting.len() as f64 + 3.0 * count as f64;
        prop_assert!((over_time - over_jobs).abs() <= allowed, "{over_time} {over_jobs}");
        prop_assert!(policy.nodes.peak <= u64::from(nodes));
    }

    /// Whatever is lost or taken back, no job is forgotten.
    #[test]
    fn storms_lose_nodes_and_no_jobs(
        seed in any::<u32>(),
        lost in 0.0..0.9_f64,
        taken in 0.0..0.9_f64,
        failed in 0.0..0.5_f64,
    ) {
        let text = with("seed = 7", &format!("seed = {seed}"))
            .replace("lost_per_hour = 0.02", &format!("lost_per_hour = {lost}"))
            .replace("preempted_per_hour = 0.02", &format!("preempted_per_hour = {taken}"))
            .replace("failed_launches = 0.05", &format!("failed_launches = {failed}"))
            .replace("length = \"1 day\"", "length = \"12 h\"");
        for policy in run(&text).policies {
            let jobs = policy.jobs;
            let ended = jobs.completed + jobs.failed + jobs.timed_out + jobs.lost + jobs.preempted;
            prop_assert_eq!(jobs.submitted, ended + jobs.still_running + jobs.still_waiting);
            prop_assert!((policy.cost - policy.node_hours * 0.2).abs() < 0.01);
        }
    }
}

#[test]
fn a_coarser_tick_changes_figures_little_and_work_much() {
    let fine = run(BASE);
    let coarse = run(&with("seed = 7", "seed = 7\ntick = \"5 s\""));
    let (fine, coarse) = (&fine.policies[0], &coarse.policies[0]);
    assert_eq!(fine.jobs.submitted, coarse.jobs.submitted);
    assert!((fine.node_hours / coarse.node_hours - 1.0).abs() < 0.1, "{} {}", fine.node_hours, coarse.node_hours);
    assert!(fine.waits.mean_ms.abs_diff(coarse.waits.mean_ms) < 30_000);
}

#[test]
fn quick_jobs_are_handed_over_ahead_and_all_end() {
    let text = r#"
        name = "Quick"
        start = "2026-03-02T08:00"
        length = "1 h"
        wind_down = "1 h"
        site = [{ name = "local", launch = "10 s", lost_per_hour = 0.95, preempted_per_hour = 0.95 }]
        size = [{ name = "small", site = "local", cores = 4, memory_gib = 8 }]
        cluster = [{ name = "shared", size = "small", max = 2 }]
        people = [{ name = "ada" }, { name = "bo" }]
        jobs = [
            { name = "quick", per_hour = 4, array = 500, array_most = 2000, cluster = "shared", retries = 100, runs = { uniform = "20 ms to 200 ms" } },
            { name = "slow", per_hour = 10, cluster = "shared", cores = 2, retries = 100, runs = { fixed = "20 s" } },
        ]
    "#;
    let policy = &run(text).policies[0].clone();
    assert!(policy.jobs.submitted > 5_000);
    assert_eq!(policy.jobs.completed, policy.jobs.submitted);
    assert!(policy.nodes.lost + policy.nodes.preempted > 0 && policy.nodes.peak <= 2);
}

#[test]
fn warm_nodes_are_there_when_people_come() {
    let report = run(BASE);
    let (zero, warm) = (&report.policies[0], &report.policies[1]);
    assert!(warm.waits.mean_ms < zero.waits.mean_ms && warm.cost > zero.cost);
    assert!(warm.decisions.get("fired").is_some_and(|fired| *fired >= 2));
    assert_eq!(warm.changes, ["min 1, idle 10 min, warm 0, min 2 Mon–Fri 07:45–18:00, fifo, no backfill"]);
}

#[test]
fn whoever_waits_hears_how_far_it_is_and_may_stop_it() {
    let scenario = Scenario::from_toml(BASE).unwrap();
    let mut heard = Vec::new();
    let report = simulate(&scenario, &mut |progress| {
        heard.push((progress.done, progress.policy));
        ControlFlow::Continue(())
    });
    assert!(report.is_ok() && heard.is_sorted() && heard.last() == Some(&(1_000, 2)));
    let mut times = 0;
    let stopped = simulate(&scenario, &mut |_| {
        times += 1;
        if times == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((stopped, times), (Err(Stopped::Canceled), 2));
}

#[test]
fn more_events_than_allowed_end_it_with_the_numbers() {
    // Retries that never help are not in the estimate.
    let text = with("seed = 7", "seed = 7\nmax_events = 2000").replace("fails = 0.05", "fails = 1.0\nretries = 100");
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|refused| panic!("{refused}"));
    let stopped = simulate(&scenario, &mut |_| ControlFlow::Continue(())).expect_err("too much");
    assert!(stopped.to_string().contains("more than 2000 events"), "{stopped}");
}

#[test]
fn json_has_its_keys_in_their_order() {
    let json = run(BASE).to_json();
    let keys = [
        "\"scenario\"",
        "\"seed\"",
        "\"policies\"",
        "\"waits\"",
        "\"median_ms\"",
        "\"utilisation\"",
        "\"cost\"",
        "\"jobs\"",
        "\"nodes\"",
        "\"decisions\"",
        "\"people\"",
        "\"timeline\"",
    ];
    let places: Vec<usize> = keys.iter().map(|key| json.find(key).unwrap_or_else(|| panic!("no {key}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(json.ends_with("}\n"));
}

#[test]
fn the_picture_is_whole_and_harmless() {
    let svg = run(&with("A small site", "<script>alert(1)</script> & more")).svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("<script") && !svg.contains("http://www.w3.org/1999") && !svg.contains("NaN"));
    for part in ["<title ", "<desc ", "role=\"img\"", "prefers-color-scheme:dark", "from zero", "smaller"] {
        assert!(svg.contains(part), "{part}");
    }
    // Every element that is opened is closed.
    let opened = svg.matches("<text").count();
    assert_eq!(opened, svg.matches("</text>").count());
}

#[test]
fn a_queue_by_shares_follows_the_weights() {
    // Three people always have work; the cluster has room for a part of it.
    let text = r#"
        name = "Shares"
        start = "2026-03-02T00:00"
        length = "1 day"
        site = [{ name = "local", launch = "10 s" }]
        size = [{ name = "small", site = "local", cores = 4, memory_gib = 8 }]
        cluster = [{ name = "shared", size = "small", max = 5 }]
        people = [{ name = "ada", weight = 300 }, { name = "bo" }, { name = "cy", weight = 100 }]
        jobs = [{ name = "work", per_hour = 60, cluster = "shared", runs = { exponential = "20 min" } }]
        policy = [{ name = "in line" }, { name = "by shares", order = "fair-share" }]
    "#;
    let report = run(text);
    let hours =
        |policy: usize| -> Vec<f64> { report.policies[policy].people.iter().map(|person| person.core_hours).collect() };
    let (line, shares) = (hours(0), hours(1));
    assert!((line[0] / line[1] - 1.0).abs() < 0.15, "{line:?}");
    assert!((shares[0] / shares[1] - 3.0).abs() < 0.3 && (shares[1] / shares[2] - 1.0).abs() < 0.15, "{shares:?}");
}
