//! What cannot be run is refused: by field, with what is wrong and what would be right, and never with a
//! panic.

use std::ops::ControlFlow;

use atelier_simulate::{Draft, Recorded, Scenario, simulate};
use proptest::prelude::*;

use crate::support::{BASE, refused, run, with};

#[test]
fn the_base_itself_is_taken() {
    let report = run(BASE);
    assert_eq!(report.policies.len(), 3);
}

#[test]
fn each_mistake_is_said_with_its_field() {
    // What is replaced, by what, the field that is named, and a part of what is said.
    let cases: &[(&str, &str, &str, &str)] = &[
        ("seed = 7", "sed = 7", "line 4", "unknown field `sed`; allowed are `name`"),
        (
            "weight = 250",
            "wait = 250",
            "line 37 (people[0])",
            "unknown field `wait`; allowed are `name`, `count`, `weight`",
        ),
        ("per_hour = 0.5", "per_day = 0.5", "(jobs[1])", "unknown field `per_day`"),
        ("spread = 1.0, ", "width = 1.0, ", "(jobs[0])", "unknown field `width`"),
        ("max = 4\n", "most = 4\n", "(policy.cluster[0])", "unknown field `most`"),
        ("per_hour = 6", "per_hour = \"six\"", "(jobs[0])", "invalid type: string \"six\""),
        ("seed = 7", "seed = -7", "line 4", "-7"),
        ("count = 3", "count = 3.5", "(people[1])", "invalid type"),
        ("[[policy]]", "[[policy", "line", ""),
        ("name = \"A small site\"", "name = \"\"", "name", "1 to 60 characters"),
        (
            "zone = \"Europe/Berlin\"\nstart",
            "zone = \"Europe/Atlantis\"\nstart",
            "zone",
            "“Europe/Atlantis” is not a time zone",
        ),
        ("start = \"2026-03-02T00:00\"", "start = \"2 March\"", "start", "2026-05-01T08:30"),
        ("start = \"2026-03-02T00:00\"", "", "start", "Say when it begins"),
        ("length = \"1 day\"", "length = \"0 s\"", "length", "above 0 s"),
        ("length = \"1 day\"", "length = \"-1 day\"", "length", "is not a length"),
        ("length = \"1 day\"", "length = \"400 days\"", "length", "366 days"),
        ("length = \"1 day\"", "", "length", "Say for how long"),
        ("seed = 7", "tick = \"0 s\"", "tick", "between 1 ms and 60 s"),
        ("seed = 7", "currency = \"euro\"", "currency", "three capitals"),
        ("seed = 7", "max_events = 100", "max_events", "100 are allowed"),
        ("seed = 7", "max_events = 0", "max_events", "between 1 and 1000000000"),
        ("failed_launches = 0.05", "failed_launches = 1.5", "site[0].failed_launches", "between 0 and 1, not 1.5"),
        ("failed_launches = 0.05", "failed_launches = -0.1", "site[0].failed_launches", "not -0.1"),
        ("failed_launches = 0.05", "failed_launches = nan", "site[0].failed_launches", "not NaN"),
        ("lost_per_hour = 0.02", "lost_per_hour = 1.0", "site[0].lost_per_hour", "between 0 and 0.99"),
        ("preempted_per_hour = 0.02", "preempted_per_hour = inf", "site[0].preempted_per_hour", "not inf"),
        ("launch = \"30 s to 90 s\"", "launch = \"90 s to 30 s\"", "site[0].launch", "the shorter one comes first"),
        ("launch = \"30 s to 90 s\"", "launch = \"15 min\"", "site[0].launch", "failed after 10 min"),
        ("cores = 64", "cores = 0", "site[0].cores", "between 0.001"),
        ("cores = 64", "cores = 2", "policy[0]", "The cluster shared cannot be made so"),
        ("[[site]]\nname = \"cloud\"", "[[site]]\nname = \"The Cloud\"", "site[0].name", ""),
        ("site = \"cloud\"", "site = \"clod\"", "size[0].site", "There is no site “clod”; there is cloud."),
        ("price = 0.20", "price = -1", "size[0].price", "between 0 and 1000000, not -1"),
        ("min = 0\nmax = 6", "min = 7\nmax = 6", "cluster[0].min", "The minimum of 7 is above the maximum of 6"),
        ("max = 6", "max = 100000", "cluster[0].max", "at most 65000"),
        ("idle = \"2 min\"", "idle = \"2 days\"", "cluster[0].idle", "at most 1 day"),
        ("size = \"general-4\"\nmin", "size = \"general-5\"\nmin", "cluster[0].size", "there is general-4"),
        ("weight = 250", "weight = -1", "people[0].weight", "between 1 and 1000, and 100 if left out; this is -1"),
        ("count = 3", "count = 0", "people[1].count", "1 to 10000 people"),
        ("count = 3", "count = 4000000000", "people[1].count", "1 to 10000 people"),
        ("name = \"team\"", "name = \"ada\"", "people[1].name", "two of the name “ada”"),
        ("per_hour = 6", "per_hour = 0", "jobs[0].per_hour", "above 0"),
        ("per_hour = 6", "per_hour = -2", "jobs[0].per_hour", "not -2"),
        ("per_hour = 6", "per_hour = nan", "jobs[0].per_hour", "not NaN"),
        ("per_hour = 6", "per_hour = 100000", "max_events", "Lower the rates"),
        (
            "people = [\"ada\"]",
            "people = [\"eve\"]",
            "jobs[1].people",
            "There is no people “eve”; there is ada and team.",
        ),
        ("people = [\"ada\"]", "people = []", "jobs[1].people", "Nobody submits these"),
        ("from = \"08:00\"", "from = \"8 am\"", "jobs[0].hours.from", "00:00 to 23:59"),
        ("to = \"18:00\", zone", "to = \"08:00\", zone", "jobs[0].hours.to", "no time at all"),
        (
            "days = [\"mon\", \"tue\"]",
            "days = [\"monday\"]",
            "jobs[0].hours.days",
            "use mon, tue, wed, thu, fri, sat and sun",
        ),
        ("zone = \"Europe/Berlin\" }", "zone = \"Mars\" }", "jobs[0].hours.zone", "not a time zone"),
        ("cluster = \"shared\"\ncores = 1", "cluster = \"share\"\ncores = 1", "jobs[0].cluster", "there is shared"),
        ("cluster = \"shared\"\ncores = 1", "cores = 1", "jobs[0].cluster", "Say where they run"),
        (
            "size = \"general-4\"\ncores = 4",
            "size = \"general-4\"\ncluster = \"shared\"\ncores = 4",
            "jobs[3].size",
            "not both",
        ),
        ("cores = 1\n", "cores = 5\n", "jobs[0].cores", "a node of the size general-4 has 4 cores, 16 GiB"),
        ("memory_gib = 2\n", "memory_gib = 20\n", "jobs[0].memory_gib", "No size is large enough"),
        ("cores = 1\n", "cores = 1\ngpus = 1\n", "jobs[0].gpus", "needs 1 core, 2 GiB, 1 GPU"),
        (
            "nodes = 3",
            "nodes = 5",
            "jobs[2].nodes",
            "Under the policy “smaller”: The job needs 5 nodes; shared has at most 4.",
        ),
        ("nodes = 3", "nodes = 0", "jobs[2].nodes", "1 to 65000 nodes"),
        ("array = 5\n", "array = 50\n", "jobs[1].array", "this is 50 to 30"),
        ("array_most = 30", "array_most = 3000000", "jobs[1].array", "1 to 1000000 jobs"),
        ("lognormal = \"3 min\"", "lognormal = \"3 min\", fixed = \"1 s\"", "jobs[0].runs", "exactly one of"),
        ("runs = { fixed = \"10 min\" }", "runs = {}", "jobs[3].runs", "exactly one of"),
        ("runs = { fixed = \"10 min\" }", "runs = { fixed = \"0 s\" }", "jobs[3].runs.fixed", "above 0 s"),
        ("spread = 1.0", "spread = 9.0", "jobs[0].runs.spread", "between 0 and 5"),
        ("time_limit = \"1 h\"", "time_limit = \"60 days\"", "jobs[0].time_limit", "30 days"),
        ("priority = \"high\"", "priority = \"urgent\"", "jobs[0].priority", "low, medium or high"),
        ("retries = 3", "retries = 1000", "jobs[1].retries", "at most 100"),
        ("fails = 0.05", "fails = 2", "jobs[0].fails", "between 0 and 1, not 2"),
        ("name = \"warm\"", "name = \"from zero\"", "policy[1].name", "two policies"),
        ("min = 1\n", "min = 9\n", "policy[1].min", "The minimum of 9 is above the maximum of 6"),
        ("order = \"fifo\"", "order = \"lifo\"", "policy[1].order", "use fifo or fair-share"),
        (
            "scheduled_min = { nodes = 2",
            "scheduled_min = { nodes = 20",
            "policy[1].scheduled_min.nodes",
            "above the maximum of 6",
        ),
        (
            "[[policy.cluster]]\nname = \"shared\"",
            "[[policy.cluster]]\nname = \"other\"",
            "policy[2].cluster[0].name",
            "there is shared",
        ),
    ];
    let mut wrong = Vec::new();
    for (old, new, field, part) in cases {
        let refused = refused(&with(old, new));
        let is_it =
            |problem: &atelier_domain::text::Problem| problem.field.contains(field) && problem.message.contains(part);
        if !refused.problems.iter().any(is_it) {
            wrong.push(format!("{new:?} should complain about {field:?} with {part:?}, and said:\n{refused}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn nothing_to_do_is_refused() {
    let start = BASE.find("[[jobs]]").unwrap();
    let end = BASE.find("[[policy]]").unwrap();
    let without = format!("{}{}", &BASE[..start], &BASE[end..]);
    assert!(refused(&without).to_string().contains("jobs: Nobody submits anything"));
    let rare = without.replace(
        "[[policy]]\nname = \"from zero\"",
        "[[jobs]]\nname = \"rare\"\nper_hour = 0.0001\ncluster = \"shared\"\nruns = { fixed = \"1 s\" }\n[[policy]]\n\
         name = \"from zero\"",
    );
    assert!(refused(&rare).to_string().contains("Not one job is to be expected"));
    for empty in ["", "name = \"x\"", "[[jobs]]", "\u{0}", "= = ="] {
        assert!(Scenario::from_toml(empty).is_err(), "{empty:?}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text =
        with("weight = 250", "weight = -1").replace("per_hour = 6", "per_hour = 0").replace("nodes = 3", "nodes = 0");
    let refused = refused(&text);
    assert_eq!(refused.problems.len(), 3, "{refused}");
    assert_eq!(refused.to_string().lines().count(), 3);
    // A cluster that is wrong is so under every policy, and is said once.
    assert_eq!(
        crate::support::refused(&with("min = 0\nmax = 6", "min = 9\nmax = 6\norder = \"lifo\"")).problems.len(),
        3
    );
}

#[test]
fn a_history_that_does_not_fit_is_refused_with_its_job() {
    let history = "name = \"h\"\nsite = [{ name = \"local\" }]\nhistory = { file = \"jobs\" }\n\
                   size = [{ name = \"small\", site = \"local\", cores = 2, memory_gib = 4 }]\n\
                   cluster = [{ name = \"shared\", size = \"small\", max = 2 }]\n";
    let line = "{\"submitted\":1772438400000,\"owner\":\"ada\",\"cluster\":\"shared\",\
                \"shape\":{\"cores\":1000,\"memory\":512,\"gpus\":0},\"ran\":60000}";
    let load = |scenario: &str, jobs: &str| {
        let jobs = jobs.as_bytes().to_vec();
        Scenario::load(scenario, |_| Ok(std::io::Cursor::new(jobs))).map_err(|refused| refused.to_string())
    };
    assert!(load(history, line).is_ok());
    for (jobs, part) in [
        (String::new(), "start: Say when it begins"),
        (String::new(), "history.file: It has no jobs."),
        (line.replace("shared", "other"), "history job 1: There is no cluster “other”; there is shared."),
        (line.replace("\"cluster\":\"shared\",", ""), "names neither a cluster nor a size"),
        (line.replace("\"cluster\":\"shared\"", "\"size\":\"large\""), "There is no size “large”"),
        (line.replace("1000,", "5000,"), "history job 1.cores"),
        (line.replace("\"ada\"", "\"\""), "history job 1: owner"),
        (line.replace("60000", "60000,\"nodes\":9"), "history job 1.nodes"),
        (line.replace("1772438400000", "-5"), "1970 to 2999"),
    ] {
        let said = load(history, &jobs).err().unwrap_or_default();
        assert!(said.contains(part), "{jobs}: {said}");
    }
    let failed = Scenario::load(history, |file| Err::<&[u8], _>(format!("{file} is not there")));
    assert_eq!(failed.err().map(|refused| refused.to_string()), Some("history.file: jobs is not there".into()));
    let early = format!("start = \"2026-04-01T00:00\"\nlength = \"1 day\"\n{history}");
    assert!(load(&early, line).is_err_and(|said| said.contains("1 are of another")));
}

/// Words that scenarios are made of, and some that they should not be.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("1e308".to_owned()),
        Just("nan".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("4294967295".to_owned()),
        Just("\"1 ms\"".to_owned()),
        Just("\"366 days\"".to_owned()),
        Just("\"00:00\"".to_owned()),
        Just("true".to_owned()),
        Just("[]".to_owned()),
        Just("\"é\"".to_owned()),
        (0..100_000_u32).prop_map(|number| number.to_string()),
        (0.0..2.0_f64).prop_map(|number| number.to_string()),
        "[a-z]{1,8}".prop_map(|word| format!("{word:?}")),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    DropLine(usize),
    RepeatLine(usize),
    SwapLines(usize, usize),
    Value(usize, String),
    Cut(usize),
    Byte(usize, char),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0..3_000_usize;
    prop_oneof![
        2 => place.clone().prop_map(Change::DropLine),
        1 => place.clone().prop_map(Change::RepeatLine),
        1 => (place.clone(), place.clone()).prop_map(|(one, other)| Change::SwapLines(one, other)),
        6 => (place.clone(), word()).prop_map(|(line, word)| Change::Value(line, word)),
        1 => place.clone().prop_map(Change::Cut),
        1 => (place, any::<char>()).prop_map(|(byte, new)| Change::Byte(byte, new)),
    ]
}

fn changed(text: &str, change: &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let count = lines.len().max(1);
    match change {
        Change::DropLine(line) if !lines.is_empty() => {
            lines.remove(line % count);
        }
        Change::RepeatLine(line) if !lines.is_empty() => {
            let line = line % count;
            lines.insert(line, lines[line].clone());
        }
        Change::SwapLines(one, other) if !lines.is_empty() => lines.swap(one % count, other % count),
        Change::Value(line, word) => {
            let valued: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].contains(" = ")).collect();
            if !valued.is_empty() {
                let line = valued[line % valued.len()];
                // The last value of a line: inner ones of tables, too.
                let at = lines[line].rfind(" = ").map_or(0, |at| at + 3);
                let end = lines[line][at..].find([',', ' ', '}']).map_or(lines[line].len(), |end| at + end);
                lines[line].replace_range(at..end, word);
            }
        }
        Change::Cut(byte) => return text.chars().take(byte % (text.len() + 1)).collect(),
        Change::Byte(byte, new) => {
            let byte = byte % (text.chars().count() + 1);
            return text.chars().enumerate().map(|(place, old)| if place == byte { *new } else { old }).collect();
        }
        _ => {}
    }
    lines.join("\n")
}

/// Whatever is taken also runs, up to a bound.
fn never_panics(text: &str) {
    let Ok(mut draft) = Draft::from_toml(text) else { return };
    let _ = Scenario::check(&draft, Vec::new());
    draft.max_events = Some(draft.max_events.unwrap_or(20_000).min(20_000));
    if let Ok(scenario) = Scenario::check(&draft, Vec::new())
        && let Ok(report) = simulate(&scenario, &mut |_| ControlFlow::Continue(()))
    {
        assert!(!report.table().is_empty() && report.svg().ends_with("</svg>\n"));
        let _: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_scenarios_never_panic(changes in proptest::collection::vec(change(), 1..4)) {
        let text = changes.iter().fold(BASE.to_owned(), |text, change| changed(&text, change));
        never_panics(&text);
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,200}") {
        never_panics(&text);
        let _ = atelier_simulate::read_history(text.as_bytes());
        let _ = serde_json::from_str::<Recorded>(&text);
    }
}
