//! The report as a picture: no script, no fonts of its own, light or dark as its reader's screen is. Colour
//! is never alone: lines have their own dashes, and each policy its own panel.

use atelier_domain::schedule::Zone;
use atelier_domain::time::{Span, Timestamp};

use super::table::{count, decimal, percent};
use super::{PolicyReport, Report};
use crate::length::say;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const QUEUE_HEIGHT: f64 = 190.0;
const NODES_HEIGHT: f64 = 120.0;
/// Between two panels: the time of the one above and the title of the one below.
const BETWEEN: f64 = 62.0;
/// Characters of a line of small text that fit.
const LINE: usize = 130;
/// Times below a panel at most.
const MOST_TIMES: u64 = 9;

/// For each policy: its colour on light ground, on dark ground, and how its line is broken.
const STYLES: [(&str, &str, &str); 8] = [
    ("#0b62c4", "#6cb0ff", "none"),
    ("#c2410c", "#ff9d5c", "7 3"),
    ("#217a3c", "#6fd08c", "2 3"),
    ("#8a2fa8", "#d69bf0", "10 3 2 3"),
    ("#b0184f", "#ff8fb5", "4 4"),
    ("#04727d", "#5fd3de", "12 4"),
    ("#7a5f00", "#e3c34d", "1 4"),
    ("#4a5260", "#b3bcc9", "8 2 2 2 2 2"),
];

pub(super) fn svg(report: &Report) -> String {
    let about = wrapped(&report.about, LINE);
    let legend = legend_rows(report);
    let mut top = 44.0 + 17.0 * about.len() as f64 + 20.0 + 20.0 * legend.len() as f64 + 34.0;
    let queue_top = top;
    top += QUEUE_HEIGHT + BETWEEN;
    let nodes_top = top;
    let panels = report.policies.len() as f64;
    let height = nodes_top + panels * NODES_HEIGHT + (panels - 1.0).max(0.0) * BETWEEN + 64.0;

    let mut out = opening(report, height);
    text(&mut out, "h", LEFT, 34.0, "start", &report.scenario);
    let mut y = 54.0;
    for line in &about {
        text(&mut out, "m", LEFT, y, "start", line);
        y += 17.0;
    }
    let (start, end) = &report.shown;
    text(&mut out, "m", LEFT, y, "start", &format!("{start} to {end}, {}, seed {}", report.zone, report.seed));
    y += 24.0;
    for row in &legend {
        let mut x = LEFT;
        for (number, name, width) in row {
            let line = format!("<path class=\"l l{number}\" d=\"M{x:.1} {:.1}h26\"/>\n", y - 4.0);
            out.push_str(&line);
            text(&mut out, "t", x + 32.0, y, "start", name);
            x += width;
        }
        y += 20.0;
    }
    queue(&mut out, report, queue_top);
    let most = report.policies.iter().flat_map(|policy| &policy.timeline.nodes).copied().fold(1.0, f64::max);
    for (number, policy) in report.policies.iter().enumerate() {
        let top = nodes_top + number as f64 * (NODES_HEIGHT + BETWEEN);
        nodes(&mut out, report, policy, number, Panel { top, height: NODES_HEIGHT, most: rounded(most) });
    }
    let every = report.policies.first().map_or(0, |policy| policy.timeline.every_ms);
    let y = height - 14.0;
    for (class, label, x) in [("p", "nodes paid", LEFT), ("b", "of them with jobs", LEFT + 100.0)] {
        out.push_str(&format!(
            "<rect class=\"{class} f0\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"10\"/>\n",
            y - 9.0
        ));
        text(&mut out, "n", x + 17.0, y, "start", label);
    }
    text(&mut out, "n", WIDTH - RIGHT, y, "end", &format!("means over {} each", say(every)));
    out.push_str("</svg>\n");
    out
}

/// The element itself, what it says to those who do not see it, and its colours.
fn opening(report: &Report, height: f64) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc \
         id=\"desc\">",
        escaped(&format!("{}: jobs that wait and nodes over time", report.scenario))
    );
    for policy in &report.policies {
        out.push_str(&escaped(&format!(
            "{}: {}; at most {} jobs waiting and {} nodes. ",
            policy.name,
            figures(report, policy),
            count(policy.peak_waiting),
            count(policy.nodes.peak)
        )));
    }
    out.push_str("</desc>\n<style>\n");
    out.push_str(
        "text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;font-size:13px}\n",
    );
    out.push_str(
        ".h{font-size:22px;font-weight:600}.s{font-size:14px;font-weight:600}.n{font-size:12px}.m{font-size:12.5px}\n",
    );
    out.push_str(".bg{fill:#fff}.h,.s,.t{fill:#1a212c}.m,.n{fill:#566070}");
    out.push_str(".g{stroke:#e2e6ec;fill:none}.x{stroke:#9aa3b0;fill:none}\n");
    out.push_str(".l{fill:none;stroke-width:1.8;stroke-linejoin:round}.p{fill-opacity:.2}.b{fill-opacity:.75}\n");
    let styles = || STYLES.iter().enumerate().take(report.policies.len());
    for (number, (light, _, dashes)) in styles() {
        out.push_str(&format!(".l{number}{{stroke:{light};stroke-dasharray:{dashes}}}.f{number}{{fill:{light}}}\n"));
    }
    out.push_str("@media (prefers-color-scheme:dark){\n");
    out.push_str(".bg{fill:#12161d}.h,.s,.t{fill:#e8ecf2}.m,.n{fill:#a3adbb}.g{stroke:#2a313c}.x{stroke:#6b7686}\n");
    for (number, (_, dark, _)) in styles() {
        out.push_str(&format!(".l{number}{{stroke:{dark}}}.f{number}{{fill:{dark}}}\n"));
    }
    out.push_str("}\n</style>\n");
    out.push_str(&format!("<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n"));
    out
}

/// What one looks for first, in one line.
fn figures(report: &Report, policy: &PolicyReport) -> String {
    format!(
        "{} {}, {} of the cores used, nine of ten jobs wait at most {}",
        decimal(policy.cost, 2),
        report.currency,
        percent(policy.utilisation),
        say(policy.waits.p90_ms)
    )
}

/// Names of policies in rows, each with its number and its width.
fn legend_rows(report: &Report) -> Vec<Vec<(usize, String, f64)>> {
    let mut rows: Vec<Vec<(usize, String, f64)>> = Vec::new();
    let mut room = 0.0;
    for (number, policy) in report.policies.iter().enumerate() {
        let width = 58.0 + policy.name.chars().count() as f64 * 7.4;
        if width > room || rows.is_empty() {
            rows.push(Vec::new());
            room = WIDTH - LEFT - RIGHT;
        }
        room -= width;
        if let Some(row) = rows.last_mut() {
            row.push((number, policy.name.clone(), width));
        }
    }
    rows
}

/// Where a panel is and what its highest value is.
#[derive(Clone, Copy)]
struct Panel {
    top: f64,
    height: f64,
    most: f64,
}

impl Panel {
    fn y(self, value: f64) -> f64 {
        self.top + self.height * (1.0 - value.min(self.most) / self.most)
    }
}

fn x(place: usize, count: usize) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / count.max(1) as f64
}

fn queue(out: &mut String, report: &Report, top: f64) {
    let most = report.policies.iter().flat_map(|policy| &policy.timeline.waiting).copied().fold(1.0, f64::max);
    let panel = Panel { top, height: QUEUE_HEIGHT, most: rounded(most) };
    text(out, "s", LEFT, top - 12.0, "start", "Jobs waiting");
    frame(out, report, panel);
    for (number, policy) in report.policies.iter().enumerate() {
        let line = steps(&policy.timeline.waiting, panel);
        out.push_str(&format!("<path class=\"l l{number}\" d=\"M{line}\"/>\n"));
    }
}

fn nodes(out: &mut String, report: &Report, policy: &PolicyReport, number: usize, panel: Panel) {
    let y = panel.top - 12.0;
    text(out, "s", LEFT, y, "start", &format!("Nodes, {}", policy.name));
    let (base, right) = (panel.top + panel.height, WIDTH - RIGHT);
    text(out, "n", right, y, "end", &figures(report, policy));
    frame(out, report, panel);
    for (class, series) in [("p", &policy.timeline.nodes), ("b", &policy.timeline.busy)] {
        let line = steps(series, panel);
        out.push_str(&format!(
            "<path class=\"{class} f{number}\" d=\"M{LEFT} {base:.1}L{line}L{right:.1} {base:.1}Z\"/>\n"
        ));
    }
}

/// A line that keeps each value for its whole stretch.
fn steps(values: &[f64], panel: Panel) -> String {
    let mut line = String::new();
    let mut last = None;
    for (place, value) in values.iter().enumerate() {
        let (x, y) = (x(place, values.len()), format!("{:.1}", panel.y(*value)));
        match &last {
            None => line = format!("{x:.1} {y}"),
            Some(same) if *same == y => continue,
            Some(_) => line.push_str(&format!("H{x:.1}V{y}")),
        }
        last = Some(y);
    }
    line.push_str(&format!("H{:.1}", x(values.len(), values.len())));
    line
}

/// Axes, the grid, and their numbers.
fn frame(out: &mut String, report: &Report, panel: Panel) {
    let (base, right) = (panel.top + panel.height, WIDTH - RIGHT);
    let parts = if panel.height > 150.0 { 4 } else { 2 };
    for part in 0..=parts {
        let value = panel.most * f64::from(part) / f64::from(parts);
        let y = panel.y(value);
        let class = if part == 0 { "x" } else { "g" };
        out.push_str(&format!("<path class=\"{class}\" d=\"M{LEFT} {y:.1}H{right:.1}\"/>\n"));
        text(out, "n", LEFT - 8.0, y + 4.0, "end", &axis_number(value));
    }
    for (part, label) in times(report) {
        let x = LEFT + (right - LEFT) * part;
        out.push_str(&format!("<path class=\"g\" d=\"M{x:.1} {:.1}V{base:.1}\"/>\n", panel.top));
        let anchor = match part {
            part if part < 0.02 => "start",
            part if part > 0.97 => "end",
            _ => "middle",
        };
        text(out, "n", x, base + 17.0, anchor, &label);
    }
}

fn axis_number(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { format!("{value}") }
}

/// Times along the bottom: where, from 0 to 1, and what a clock there shows.
fn times(report: &Report) -> Vec<(f64, String)> {
    const MINUTE: u64 = 60_000;
    const DAY: u64 = 1_440 * MINUTE;
    let steps = [1, 5, 15, 30, 60, 120, 180, 360, 720].map(|minutes| minutes * MINUTE);
    let steps = steps.into_iter().chain([1, 2, 7, 14, 30, 60, 120].map(|days| days * DAY));
    let whole = report.end.since(report.start).as_millis().unsigned_abs().max(1);
    let step = steps.into_iter().find(|step| whole / step <= MOST_TIMES).unwrap_or(120 * DAY);
    let Ok(zone) = Zone::parse(&report.zone) else { return Vec::new() };
    let (hour, minute) = zone.local(report.start).time();
    let since_midnight = (u64::from(hour) * 60 + u64::from(minute)) * MINUTE;
    let first = (step - since_midnight % step) % step;
    let mut labels = Vec::new();
    let mut at = first;
    while at <= whole && labels.len() < 40 {
        let local = zone.local(Timestamp(report.start.0).plus(Span::millis(at)));
        let is_day = step >= DAY || local.time() == (0, 0);
        // Of “Mon 2 Mar 2026 00:00” the day is enough.
        let day = || local.to_string().split(' ').take(3).collect::<Vec<_>>().join(" ");
        let label = if is_day { day() } else { local.clock() };
        labels.push((at as f64 / whole as f64, label));
        at += step;
    }
    labels
}

/// The next number that reads well on an axis.
fn rounded(most: f64) -> f64 {
    let mut unit = 1.0;
    while unit * 10.0 < most {
        unit *= 10.0;
    }
    [1.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|times| times * unit)
        .find(|value| *value >= most)
        .unwrap_or(most)
        .max(2.0)
}

fn text(out: &mut String, class: &str, x: f64, y: f64, anchor: &str, words: &str) {
    let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    out.push_str(&format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{}</text>\n", escaped(words)));
}

fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Harmless in an XML document, whatever somebody has called their policy.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not allowed in XML at all.
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_numbers_that_read_well() {
        for (most, end) in
            [(0.0, 2.0), (1.0, 2.0), (3.0, 4.0), (7.0, 8.0), (41.0, 60.0), (100.0, 100.0), (790.0, 800.0)]
        {
            assert_eq!(rounded(most), end, "{most}");
        }
    }

    #[test]
    fn what_somebody_wrote_stays_text() {
        assert_eq!(escaped("<a href=\"x\">&\u{0}\u{ffff}"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert_eq!(wrapped("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
        assert!(wrapped("", 6).is_empty());
    }
}
