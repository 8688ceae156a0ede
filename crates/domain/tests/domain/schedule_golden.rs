//! Golden files of schedules: sentences, refusals, and previews across changes of the clocks.
//!
//! `UPDATE_GOLDEN=1 cargo test -p atelier-domain --test domain schedule_golden::` writes them anew; the
//! difference is then read like code.

use std::fmt::Write as _;

use atelier_domain::Timestamp;
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{Action, Cron, LocalTime, Recurrence, Schedule, Timetable, Trigger, Zone, action};
use atelier_domain::text::Problem;

use crate::support::golden;

/// A cron expression, or the JSON of a recurrence.
fn trigger(text: &str) -> Result<Trigger, Problem> {
    if !text.starts_with('{') {
        return Cron::parse(text).map(Trigger::Cron);
    }
    let parts: Parts = serde_json::from_str(text).expect("the case is written right");
    Recurrence::new(&parts).map(Trigger::Recurrence)
}

fn timetable(text: &str, zone: &str, start: Option<&str>) -> Result<Timetable, Problem> {
    Timetable::new(trigger(text)?, Zone::parse(zone)?, start.map(LocalTime::parse).transpose()?)
}

#[test]
fn sentences_are_reviewed() {
    let crons = [
        "30 8 * * MON-FRI",
        "0 18 * * MON-THU",
        "0 16 * * FRI",
        "0 9 * * 0,6",
        "0 9 * * 1,2,3,6",
        "30 8 * * *",
        "0 8,18 * * *",
        "0,15,30 8,18 * * *",
        "0,20 8,12,18,20 * * *",
        "* * * * *",
        "*/15 * * * *",
        "0 * * * *",
        "5,35 * * * *",
        "1-20,40 * * * *",
        "*/20 * * * SAT",
        "*/15 8-17 * * MON-FRI",
        "* 8-17 * * *",
        "30 8-17 * * *",
        "0 */2 * * *",
        "0 0 1 * *",
        "0 0 1,15 * *",
        "0 0 1-7,21-23,31 * *",
        "0 9 13 * FRI",
        "0 9 1 JAN,APR,JUL,OCT *",
        "0 9 * 6-8 MON-FRI",
        "*/30 * * DEC *",
        "0 0 29 2 *",
    ];
    let recurrences = [
        r#"{"frequency":"minute"}"#,
        r#"{"frequency":"minute","interval":45}"#,
        r#"{"frequency":"hour"}"#,
        r#"{"frequency":"hour","interval":6}"#,
        r#"{"frequency":"day","hours":[8],"minutes":[30]}"#,
        r#"{"frequency":"day","interval":3,"hours":[8,18],"minutes":[0]}"#,
        "{\"frequency\":\"week\",\"hours\":[8],\"minutes\":[30],\
         \"weekdays\":[\"monday\",\"tuesday\",\"wednesday\",\"thursday\",\"friday\"]}",
        r#"{"frequency":"week","interval":2,"hours":[8],"minutes":[30],"weekdays":["monday","friday"]}"#,
        r#"{"frequency":"month","hours":[6],"minutes":[0],"month_days":[1,15,"last"]}"#,
        r#"{"frequency":"month","interval":3,"hours":[6],"minutes":[0],"month_days":["last"]}"#,
    ];
    let mut text = String::from("# Cron\n");
    for cron in crons {
        let said = timetable(cron, "Europe/Berlin", None).unwrap().sentence();
        writeln!(text, "{cron:<28}{said}").unwrap();
    }
    text.push_str("\n# Recurrences\n");
    for recurrence in recurrences {
        let said = timetable(recurrence, "Europe/Berlin", Some("2026-03-02T09:00")).unwrap().sentence();
        writeln!(text, "{recurrence}\n    {said}").unwrap();
    }
    text.push_str("\n# Schedules\n");
    for action in [Action::Start, Action::Stop, Action::MinNodes(0), Action::MinNodes(1), Action::MinNodes(4)] {
        for cron in ["30 8 * * MON-FRI", "30 8 * * *", "0 6 1 * *"] {
            let schedule = Schedule::new(action, timetable(cron, "UTC", None).unwrap(), Timestamp(0));
            writeln!(text, "{}", schedule.sentence()).unwrap();
        }
    }
    golden("schedule_sentences.txt", &text);
}

#[test]
fn refusals_are_reviewed() {
    let cases = [
        ("", None),
        ("@hourly", None),
        ("0 8 * *", None),
        ("0 0 8 * * MON", None),
        ("60 8 * * *", None),
        ("0 25 * * *", None),
        ("0 8 L * *", None),
        ("0 8 * FOO *", None),
        ("0 8 * * 1-8", None),
        ("0 22-2 * * *", None),
        ("*/90 * * * *", None),
        ("5/10 * * * *", None),
        ("1,,2 * * * *", None),
        ("0 0 30 2 *", None),
        ("0 0 31 4,6 *", None),
        ("123456789012345678901234567890123456789012345678901234567890 8 * * *", None),
        ("30 8 * * *", Some("2026-03-01T08:30:10")),
        ("30 8 * * *", Some("2026-02-30")),
        ("30 8 * * *", Some("1 May 2026")),
        (r#"{"frequency":"hour","interval":2}"#, None),
        (r#"{"frequency":"hour","interval":2,"minutes":[5]}"#, Some("2026-03-01")),
        (r#"{"frequency":"day","interval":0,"hours":[8],"minutes":[0]}"#, None),
        (r#"{"frequency":"day","hours":[24],"minutes":[0]}"#, None),
        (r#"{"frequency":"day","minutes":[0]}"#, None),
        (r#"{"frequency":"day","hours":[8],"minutes":[0],"weekdays":["monday"]}"#, None),
        (r#"{"frequency":"week","hours":[8],"minutes":[0]}"#, None),
        (r#"{"frequency":"week","interval":2,"hours":[8],"minutes":[0],"weekdays":["monday"]}"#, None),
        (r#"{"frequency":"month","hours":[8],"minutes":[0]}"#, None),
        (r#"{"frequency":"month","interval":12,"hours":[8],"minutes":[0],"month_days":[30]}"#, Some("2026-02-01")),
    ];
    let mut text = String::new();
    let mut refused = |what: &str, problem: Problem| {
        writeln!(text, "{}\n    {}: {}", what.trim_end(), problem.field, problem.message).unwrap();
    };
    for (case, start) in cases {
        let problem = timetable(case, "Europe/Berlin", start).expect_err(case);
        refused(&format!("{case} {}", start.map(|start| format!("from {start}")).unwrap_or_default()), problem);
    }
    refused("zone Mars/Olympus", timetable("0 8 * * *", "Mars/Olympus", None).unwrap_err());
    refused("a 17th schedule", action::judge_one_more(16).unwrap_err());
    refused("stop a cluster", Action::Stop.check(action::Target::Cluster).unwrap_err());
    refused("nodes of an instance", Action::MinNodes(2).check(action::Target::Instance).unwrap_err());
    golden("schedule_refusals.txt", &text);
}

#[test]
fn previews_across_switches_are_reviewed() {
    let every_2_hours = r#"{"frequency":"hour","interval":2}"#;
    let cases = [
        ("Europe/Berlin", "30 8 * * MON-FRI", None, "2026-03-25T12:00"),
        ("Europe/Berlin", "30 2 * * *", None, "2026-03-27T12:00"),
        ("Europe/Berlin", "10,20,30 2 * * *", None, "2026-03-28T12:00"),
        ("Europe/Berlin", "0 2,3 * * *", None, "2026-03-28T12:00"),
        ("Europe/Berlin", "30 * * * *", None, "2026-03-29T00:45"),
        ("Europe/Berlin", "30 2 * * *", None, "2026-10-23T12:00"),
        ("Europe/Berlin", "30 * * * *", None, "2026-10-25T00:45"),
        ("Europe/Berlin", "0 */2 * * *", None, "2026-10-24T23:00"),
        ("Europe/Berlin", every_2_hours, Some("2026-10-24T20:00"), "2026-10-24T19:00"),
        ("Australia/Lord_Howe", "15 2 * * *", None, "2026-10-02T12:00"),
        ("Australia/Lord_Howe", "45 1 * * *", None, "2026-04-03T12:00"),
        ("America/St_Johns", "30 23 * * *", None, "2010-11-05T12:00"),
        ("America/Sao_Paulo", "0 0 * * *", None, "2018-11-02T12:00"),
        ("Pacific/Apia", "0 8 * * *", None, "2011-12-28T12:00"),
        ("Pacific/Apia", "0 */6 * * *", None, "2011-12-29T12:00"),
        ("Asia/Kathmandu", "0 12 * * *", None, "2026-03-28T00:00"),
    ];
    let mut text = String::new();
    for (zone, trigger, start, from) in cases {
        let timetable = timetable(trigger, zone, start).unwrap();
        writeln!(text, "# {}\n", timetable.sentence()).unwrap();
        let from = {
            let from = LocalTime::parse(from).ok();
            let minutely = Trigger::Cron(Cron::parse("* * * * *").unwrap());
            let clock = Timetable::new(minutely, Zone::parse(zone).unwrap(), from).unwrap();
            clock.next_after(Timestamp(0)).unwrap().at
        };
        for firing in timetable.preview(5, from) {
            let note = firing.explanation().map(|note| format!("  ({note})")).unwrap_or_default();
            writeln!(text, "{}", format!("{:<28}{note}", firing.to_string()).trim_end()).unwrap();
        }
        text.push('\n');
    }
    golden("schedule_previews.txt", &text);
}
