//! Firings across changes of the clocks, against an oracle that shares nothing with the product:
//! `oracle/zones.py` looks at every minute with Python's zoneinfo. Needs `python3` (3.9 or later) and time
//! zone data.
//!
//! The years are past or near enough that the tz databases of both sides agree on them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use atelier_domain::Timestamp;
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{Cron, LocalTime, Note, Recurrence, Timetable, Trigger, Zone};
use serde_json::{Value, json};

const DAY: i64 = 86_400;

const WRITTEN_RIGHT: &str = "the case is written right";

/// Zone and the day around which is looked, three days to each side.
const SWITCHES: &[(&str, &str)] = &[
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    // Half an hour, and in the southern order.
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    // No summer time; but in 1986 a quarter of an hour was skipped for good, from midnight on.
    ("Asia/Kathmandu", "2026-03-29"),
    ("Asia/Kathmandu", "1986-01-01"),
    ("America/St_Johns", "2026-03-08"),
    ("America/St_Johns", "2026-11-01"),
    // At one minute past midnight, and so back into the day before.
    ("America/St_Johns", "2010-03-14"),
    ("America/St_Johns", "2010-11-07"),
    // Midnight itself does not exist.
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    // Two hours.
    ("Antarctica/Troll", "2024-03-31"),
    ("Antarctica/Troll", "2024-10-27"),
];

fn triggers() -> Vec<Value> {
    let crons = [
        "30 8 * * MON-FRI",
        "0 18 * * *",
        "30 2 * * *",
        "0 2 * * *",
        "0 3 * * *",
        "15,45 2 * * *",
        "0,30 1-3 * * *",
        "10 0 * * *",
        "50 23 * * *",
        "*/15 * * * *",
        "30 * * * *",
        "20 * * * SUN",
        "* * * * *",
        "0 */2 * * *",
        "5-55/10 0,1,2,3 * * 6,7",
        "15 2 29 MAR,NOV SUN",
        "* 0-22 * * *",
    ];
    let mut all: Vec<Value> = crons.iter().map(|cron| json!({ "cron": cron })).collect();
    all.extend([
        json!({"frequency": "day", "interval": 1, "hours": [2], "minutes": [30]}),
        json!({"frequency": "day", "interval": 3, "hours": [0, 2, 12], "minutes": [1, 59],
               "start": "1985-12-01T06:00"}),
        json!({"frequency": "week", "interval": 2, "hours": [2, 23], "minutes": [15],
               "weekdays": ["saturday", "sunday"], "start": "1985-12-05T00:00"}),
        json!({"frequency": "week", "interval": 1, "hours": [1], "minutes": [0, 30], "weekdays": ["sunday"]}),
        json!({"frequency": "month", "interval": 1, "hours": [2], "minutes": [0, 20],
               "month_days": [1, 8, 29, "last"]}),
        json!({"frequency": "month", "interval": 5, "hours": [8], "minutes": [0],
               "month_days": ["last", 5, 29, 30], "start": "1985-10-01T00:00"}),
        json!({"frequency": "minute", "interval": 45, "start": "1985-12-01T00:10"}),
        json!({"frequency": "hour", "interval": 5, "start": "1985-12-01T00:30"}),
        json!({"cron": "0 6 * * *", "start": "2026-03-29T06:00"}),
    ]);
    all
}

fn timetable(trigger: &Value, zone: &str) -> Timetable {
    let start = trigger["start"].as_str().map(|start| LocalTime::parse(start).expect(WRITTEN_RIGHT));
    let trigger = match trigger["cron"].as_str() {
        Some(cron) => Trigger::Cron(Cron::parse(cron).expect(WRITTEN_RIGHT)),
        None => {
            let mut parts = trigger.clone();
            parts.as_object_mut().expect(WRITTEN_RIGHT).remove("start");
            let parts: Parts = serde_json::from_value(parts).expect(WRITTEN_RIGHT);
            Trigger::Recurrence(Recurrence::new(&parts).expect(WRITTEN_RIGHT))
        }
    };
    Timetable::new(trigger, Zone::parse(zone).expect(WRITTEN_RIGHT), start).expect(WRITTEN_RIGHT)
}

fn ours(timetable: &Timetable, from: i64, until: i64) -> Vec<(i64, &'static str)> {
    let mut found = Vec::new();
    let mut after = Timestamp(from * 1_000 - 1);
    while let Some(firing) = timetable.next_after(after).filter(|firing| firing.at.0 < until * 1_000) {
        let kind = match firing.note {
            None => "",
            Some(Note::Moved { .. }) => "moved",
            Some(Note::OnlyFirst) => "only-first",
            Some(Note::FirstOfTwo) => "first-of-two",
            Some(Note::SecondOfTwo) => "second-of-two",
            Some(Note::ClocksChanged { .. }) => "only previews say so",
        };
        found.push((firing.at.0 / 1_000, kind));
        after = firing.at;
    }
    found
}

fn ask_the_oracle(question: &Value) -> Value {
    const NEEDED: &str = "install python3 (3.9 or later) and the system package tzdata (or: pip install tzdata)";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/zones.py");
    let mut python = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("python3 does not start ({error}); {NEEDED}"));
    python
        .stdin
        .take()
        .expect("it is piped")
        .write_all(question.to_string().as_bytes())
        .expect("the oracle reads its question");
    let output = python.wait_with_output().expect("the oracle ends");
    assert!(output.status.success(), "the oracle failed; {NEEDED}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the oracle answers in JSON")
}

#[test]
fn firings_equal_those_found_minute_by_minute_with_zoneinfo() {
    let midnight = |date: &str| {
        let zone = Zone::parse("UTC").unwrap();
        let cron = Trigger::Cron(Cron::parse("0 0 * * *").unwrap());
        let start = LocalTime::parse(date).ok();
        Timetable::new(cron, zone, start).unwrap().next_after(Timestamp(0)).unwrap().at.0 / 1_000
    };
    let mut windows: Vec<(&str, i64, i64)> =
        SWITCHES.iter().map(|(zone, date)| (*zone, midnight(date) - 3 * DAY, midnight(date) + 4 * DAY)).collect();
    // The day that Samoa left out.
    windows.push(("Pacific/Apia", midnight("2011-12-01"), midnight("2012-01-02")));
    let triggers = triggers();
    let asked: Vec<Value> =
        windows.iter().map(|(zone, from, until)| json!({"zone": zone, "from": from, "until": until})).collect();
    let question = json!({
        "windows": asked,
        "triggers": triggers,
    });
    let answer = ask_the_oracle(&question);
    let (mut compared, mut noted) = (0, 0);
    for ((zone, from, until), answers) in windows.into_iter().zip(answer.as_array().unwrap()) {
        for (trigger, expected) in triggers.iter().zip(answers.as_array().unwrap()) {
            let expected: Vec<(i64, String)> = serde_json::from_value(expected.clone()).unwrap();
            let expected: Vec<(i64, &str)> = expected.iter().map(|(at, kind)| (*at, kind.as_str())).collect();
            let ours = ours(&timetable(trigger, zone), from, until);
            let differs = ours.iter().zip(&expected).find(|(ours, expected)| ours != expected);
            assert!(
                ours == expected,
                "{zone} {trigger}: {} firings, the oracle has {}; first (ours, oracle) that differs: {differs:?}",
                ours.len(),
                expected.len()
            );
            compared += ours.len();
            noted += ours.iter().filter(|(_, kind)| !kind.is_empty()).count();
        }
    }
    println!("{compared} firings compared, {noted} of them with a note");
    assert!(compared > 100_000 && noted > 1_000, "the question is too easy: {compared} firings, {noted} with a note");
}
