//! Answers as plain text.

use serde_json::Value;

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Who one is.
pub fn me(me: &Value) -> String {
    let roles: Vec<&str> = me["person"]["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let from = me["from"].as_str().map(|from| format!(", from {from}")).unwrap_or_default();
    format!(
        "{} <{}> in {} ({}){from}",
        text(me, "/person/name"),
        text(me, "/person/email"),
        text(me, "/workspace/name"),
        roles.join(", ")
    )
}

/// Jobs as a table.
pub fn jobs(list: &Value) -> Vec<String> {
    let jobs: Vec<&Value> = list["jobs"].as_array().into_iter().flatten().collect();
    if jobs.is_empty() {
        return vec!["There are no jobs that fit.".to_owned()];
    }
    let head = ["JOB", "STATE", "TARGET", "SUBMITTED", "NAME"].map(str::to_owned);
    let row = |job: &&Value| {
        let submitted = text(job, "/times/submitted");
        let submitted = submitted.split_once('.').map_or(submitted, |(seconds, _)| seconds).replace('T', " ");
        [text(job, "/id"), text(job, "/state"), text(job, "/target/name"), &submitted, text(job, "/name")]
            .map(printable)
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(jobs.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// One job in a few lines.
pub fn job(job: &Value) -> Vec<String> {
    let mut lines = vec![format!("{} {} on {}", text(job, "/id"), text(job, "/state"), text(job, "/target/name"))];
    let mut add = |label: &str, words: &str| {
        if !words.is_empty() {
            lines.push(format!("  {label}: {}", printable(words)));
        }
    };
    add("name", text(job, "/name"));
    add("owner", text(job, "/owner/name"));
    add("waits", text(job, "/reason/sentence"));
    add("progress", text(job, "/progress"));
    add("starts", text(job, "/eta/sentence"));
    add("ended", text(job, "/verdict/phrase"));
    add("next", text(job, "/reason/next_step"));
    add("next", text(job, "/verdict/next_step"));
    if let Some(cost) = job["cost"].as_number() {
        add("cost", &cost.to_string());
    }
    let actions: Vec<&str> = job["actions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    add("actions", &actions.join(", "));
    lines
}

/// What people typed may hold characters that move the cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_become_lines() {
        let answer = json!({
            "person": {"name": "Ines", "email": "ines@example.org", "roles": ["owner"]},
            "workspace": {"name": "Studio"}, "from": "job-12"
        });
        assert_eq!(me(&answer), "Ines <ines@example.org> in Studio (owner), from job-12");
        let list = json!({"jobs": [{"id": "job-12", "state": "running", "name": "a\u{1b}b", "target": {"name": "pool"},
            "times": {"submitted": "2026-03-19T18:30:00.123Z"}}]});
        assert_eq!(
            jobs(&list),
            [
                "JOB     STATE    TARGET  SUBMITTED            NAME",
                "job-12  running  pool    2026-03-19 18:30:00  a\u{fffd}b"
            ]
        );
        assert_eq!(jobs(&json!({"jobs": []})), ["There are no jobs that fit."]);
        let one = json!({"id": "job-1", "state": "failed", "target": {"name": "pool"}, "verdict":
            {"phrase": "exit code 3", "next_step": "Read its log."}});
        assert_eq!(job(&one), ["job-1 failed on pool", "  ended: exit code 3", "  next: Read its log."]);
    }
}
