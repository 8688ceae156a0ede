//! What the tests of the simulator share.

use std::ops::ControlFlow;

use atelier_simulate::{Refused, Report, Scenario, simulate};

/// A small site that everything else is a change of.
pub const BASE: &str = r#"
name = "A small site"
about = "Four people for a day."
seed = 7
zone = "Europe/Berlin"
start = "2026-03-02T00:00"
length = "1 day"
wind_down = "6 h"

[[site]]
name = "cloud"
cores = 64
memory_gib = 256
gpus = 2
launch = "30 s to 90 s"
removal = "10 s"
failed_launches = 0.05
lost_per_hour = 0.02
preempted_per_hour = 0.02

[[size]]
name = "general-4"
site = "cloud"
cores = 4
memory_gib = 16
price = 0.20

[[cluster]]
name = "shared"
size = "general-4"
min = 0
max = 6
idle = "2 min"

[[people]]
name = "ada"
weight = 250

[[people]]
name = "team"
count = 3

[[jobs]]
name = "cells"
per_hour = 6
hours = { days = ["mon", "tue"], from = "08:00", to = "18:00", zone = "Europe/Berlin" }
cluster = "shared"
cores = 1
memory_gib = 2
runs = { lognormal = "3 min", spread = 1.0, most = "2 h" }
time_limit = "1 h"
priority = "high"
fails = 0.05

[[jobs]]
name = "sweeps"
people = ["ada"]
per_hour = 0.5
cluster = "shared"
array = 5
array_most = 30
cores = 2
memory_gib = 4
runs = { exponential = "4 min", most = "1 h" }
retries = 3

[[jobs]]
name = "gangs"
people = ["team"]
per_hour = 0.2
cluster = "shared"
cores = 4
memory_gib = 8
nodes = 3
runs = { uniform = "5 min to 20 min" }
retries = 2

[[jobs]]
name = "alone"
people = ["team"]
per_hour = 0.3
size = "general-4"
cores = 4
memory_gib = 16
runs = { fixed = "10 min" }
retries = 1

[[policy]]
name = "from zero"

[[policy]]
name = "warm"
min = 1
idle = "10 min"
order = "fifo"
backfill = false
warm = 0
scheduled_min = { nodes = 2, from = "07:45", to = "18:00" }

[[policy]]
name = "smaller"
[[policy.cluster]]
name = "shared"
max = 4
"#;

/// The base with one piece of its text replaced.
pub fn with(old: &str, new: &str) -> String {
    assert!(BASE.contains(old), "the base has no {old:?}");
    BASE.replacen(old, new, 1)
}

/// Runs a scenario to its end.
pub fn run(text: &str) -> Report {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|refused| panic!("{refused}"));
    simulate(&scenario, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|stopped| panic!("{stopped}"))
}

/// What is wrong with a scenario.
pub fn refused(text: &str) -> Refused {
    match Scenario::from_toml(text) {
        Ok(_) => panic!("it was taken:\n{text}"),
        Err(refused) => refused,
    }
}
