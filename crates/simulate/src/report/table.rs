//! The report for terminals.

use super::{PolicyReport, Report};
use crate::length::say;

/// People that the table names; JSON has all of them.
const MOST_PEOPLE: usize = 12;

type Row<'report> = (&'static str, Box<dyn Fn(&PolicyReport) -> String + 'report>);

pub(super) fn table(report: &Report) -> String {
    let mut out = String::new();
    out.push_str(&format!("{}\n", report.scenario));
    if !report.about.is_empty() {
        out.push_str(&format!("{}\n", report.about));
    }
    let (start, end) = &report.shown;
    out.push_str(&format!("{start} to {end}, {}, seed {}\n", report.zone, report.seed));
    if report.left_out > 0 {
        out.push_str(&format!("{} recorded jobs are of another time and were left out.\n", count(report.left_out)));
    }
    for policy in report.policies.iter().filter(|policy| !policy.changes.is_empty()) {
        out.push_str(&format!("  {}: {}\n", policy.name, policy.changes.join("; ")));
    }
    out.push('\n');
    out.push_str(&grid(&figures(report)));
    out.push_str("\nDecisions of the core\n\n");
    out.push_str(&grid(&decisions(report)));
    out.push_str("\nWaits by person: median / 90 % / longest\n\n");
    out.push_str(&grid(&people(report)));
    out.push_str(&format!(
        "\nWaits count from submission to the first start; percentiles are within {} %.\n",
        report.percentile_error_percent
    ));
    out
}

fn figures(report: &Report) -> Vec<Vec<String>> {
    let money = |amount: f64| format!("{} {}", decimal(amount, 2), report.currency);
    let rows: Vec<Row<'_>> = vec![
        ("wait, median", Box::new(|policy| say(policy.waits.median_ms))),
        ("wait, 90 %", Box::new(|policy| say(policy.waits.p90_ms))),
        ("wait, 99 %", Box::new(|policy| say(policy.waits.p99_ms))),
        ("wait, longest", Box::new(|policy| say(policy.waits.max_ms))),
        ("utilisation of cores", Box::new(|policy| percent(policy.utilisation))),
        ("utilisation of GPUs", Box::new(|policy| policy.gpu_utilisation.map_or_else(|| "–".into(), percent))),
        ("node hours", Box::new(|policy| decimal(policy.node_hours, 1))),
        ("cost", Box::new(move |policy| money(policy.cost))),
        ("… while nothing ran", Box::new(move |policy| money(policy.idle_cost))),
        ("nodes at most", Box::new(|policy| count(policy.nodes.peak))),
        ("launches", Box::new(|policy| count(policy.nodes.launches))),
        ("… that failed", Box::new(|policy| count(policy.nodes.failed_launches))),
        ("nodes lost", Box::new(|policy| count(policy.nodes.lost))),
        ("nodes taken back", Box::new(|policy| count(policy.nodes.preempted))),
        ("jobs submitted", Box::new(|policy| count(policy.jobs.submitted))),
        ("… refused", Box::new(|policy| count(policy.jobs.refused))),
        ("… completed", Box::new(|policy| count(policy.jobs.completed))),
        ("… failed", Box::new(|policy| count(policy.jobs.failed))),
        ("… over their time limit", Box::new(|policy| count(policy.jobs.timed_out))),
        ("… lost with a node", Box::new(|policy| count(policy.jobs.lost))),
        ("… lost as it was taken back", Box::new(|policy| count(policy.jobs.preempted))),
        ("attempts tried again", Box::new(|policy| count(policy.jobs.tried_again))),
        ("running at the end", Box::new(|policy| count(policy.jobs.still_running))),
        ("waiting at the end", Box::new(|policy| count(policy.jobs.still_waiting))),
        ("… the longest of them", Box::new(|policy| say(policy.jobs.longest_still_waiting_ms))),
        ("waiting at most", Box::new(|policy| count(policy.peak_waiting))),
    ];
    // What happened under no policy is no row, but what everybody looks for always is one.
    let always = 10;
    let mut lines = vec![head("", report)];
    for (place, (label, value)) in rows.iter().enumerate() {
        let values: Vec<String> = report.policies.iter().map(value).collect();
        let is_nothing = values.iter().all(|value| value == "0" || value == "0 s" || value == "–");
        if !(is_nothing && (place >= always || *label == "utilisation of GPUs")) {
            lines.push(std::iter::once((*label).to_owned()).chain(values).collect());
        }
    }
    lines
}

fn decisions(report: &Report) -> Vec<Vec<String>> {
    let codes: std::collections::BTreeSet<&String> =
        report.policies.iter().flat_map(|policy| policy.decisions.keys()).collect();
    let mut lines = vec![head("reason", report)];
    for code in codes {
        let times = report.policies.iter().map(|policy| policy.decisions.get(code).copied().unwrap_or(0));
        lines.push(std::iter::once(code.clone()).chain(times.map(count)).collect());
    }
    lines
}

fn people(report: &Report) -> Vec<Vec<String>> {
    let mut lines = vec![head("person (jobs)", report)];
    let Some(first) = report.policies.first() else { return lines };
    let mut shown: Vec<_> = first.people.iter().collect();
    // The busiest, in the order of the scenario among equals.
    shown.sort_by_key(|person| std::cmp::Reverse(person.jobs));
    for person in shown.iter().take(MOST_PEOPLE) {
        let mut line = vec![format!("{} ({})", person.name, count(person.jobs))];
        for policy in &report.policies {
            let waits = policy.people.iter().find(|other| other.name == person.name).map(|other| other.waits);
            line.push(waits.map_or_else(String::new, |waits| {
                format!("{} / {} / {}", say(waits.median_ms), say(waits.p90_ms), say(waits.max_ms))
            }));
        }
        lines.push(line);
    }
    if let Some(more) = shown.len().checked_sub(MOST_PEOPLE).filter(|more| *more > 0) {
        lines.push(vec![format!("and {more} more in the JSON")]);
    }
    lines
}

fn head(label: &str, report: &Report) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(report.policies.iter().map(|policy| policy.name.clone())).collect()
}

/// Columns as wide as their widest cell; the first to the left, the others to the right.
fn grid(lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width.saturating_sub(cell.chars().count()));
            match column {
                0 => out.push_str(&format!("  {cell}{space}")),
                _ => out.push_str(&format!("   {space}{cell}")),
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        if number == 0 {
            let rule: usize = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
            out.push_str(&format!("  {}\n", "─".repeat(rule)));
        }
    }
    out
}

/// A number with its thousands apart: `1,000,000`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The same with so many digits behind the point.
pub(super) fn decimal(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", count(whole.parse().unwrap_or(0))),
        None => text,
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
