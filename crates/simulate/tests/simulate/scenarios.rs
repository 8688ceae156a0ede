//! The scenarios that are shipped.

use std::ops::ControlFlow;

use atelier_simulate::{Draft, Report, Scenario, simulate};

fn text(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(draft: &Draft) -> Report {
    let scenario = Scenario::check(draft, Vec::new()).unwrap_or_else(|refused| panic!("{refused}"));
    simulate(&scenario, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|stopped| panic!("{stopped}"))
}

#[test]
fn office_hours_shows_what_warm_nodes_are_worth() {
    let report = run(&Draft::from_toml(&text("office-hours")).unwrap());
    let [zero, warm] = &report.policies[..] else { panic!("two policies") };
    assert!(warm.waits.p90_ms < 1_000 && zero.waits.p90_ms > 10_000);
    assert!(warm.cost > zero.cost && warm.nodes.launches < zero.nodes.launches);
}

#[test]
fn bursty_sweeps_shows_what_idle_nodes_cost() {
    let report = run(&Draft::from_toml(&text("bursty-sweeps")).unwrap());
    let costs: Vec<f64> = report.policies.iter().map(|policy| policy.cost).collect();
    let waits: Vec<u64> = report.policies.iter().map(|policy| policy.waits.mean_ms).collect();
    assert!(costs.is_sorted() && waits.is_sorted_by(|one, next| one >= next), "{costs:?} {waits:?}");
    assert!(report.policies.iter().all(|policy| policy.jobs.completed == policy.jobs.submitted));
}

/// The whole day is a figure, measured with a release build; here are its first minutes.
#[test]
fn the_farm_begins() {
    let mut draft = Draft::from_toml(&text("farm")).unwrap();
    assert!(Scenario::check(&draft, Vec::new()).is_ok());
    let capacity: u32 = draft.cluster.iter().map(|cluster| cluster.max).sum();
    assert_eq!(capacity, 10_000);
    draft.length = Some("20 min".into());
    let report = run(&draft);
    assert!(report.policies[0].jobs.submitted > 2_000);
}
