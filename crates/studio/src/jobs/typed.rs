//! A job as it is typed into the form: into a [`JobRequest`], and back for a copy of a job that exists.

use std::collections::BTreeMap;

use atelier_domain::compute::job::{MAX_ARRAY, RetryCause};
use atelier_domain::compute::tags::Tags;
use atelier_domain::error::AppError;
use atelier_domain::files::FilePath;
use atelier_domain::text::{Problem, counted, shortened};
use atelier_domain::time::Span;
use atelier_engine::store::JobRow;
use atelier_protocol::{Run, Task, TaskFile};

use crate::caller::Caller;
use crate::jobs::submit::{AfterRequest, JobRequest, check_path};
use crate::jobs::view::Compute;
use crate::orders::ask;

/// What was typed, by field.
pub type Values = BTreeMap<String, Vec<String>>;

/// Reads the form; every problem beside its field. What is wrong counts as left out.
pub fn request(values: &Values) -> (JobRequest, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut note = |problem: Problem| problems.push(problem);
    let text = |field: &str| values.get(field).and_then(|all| all.first()).map_or("", String::as_str);
    let command = match shell_words::split(text("command").trim()) {
        Ok(words) => words,
        Err(_) => {
            note(Problem::new("command", "A quotation mark in the command is not closed."));
            Vec::new()
        }
    };
    let mut environment = BTreeMap::new();
    for (at, line) in text("environment").lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.split_once('=') {
            Some((name, value)) => _ = environment.insert(name.trim().to_owned(), value.to_owned()),
            None => note(Problem::new(
                "environment",
                format!("Line {} has no “=”: “{}”. Write NAME=value.", at + 1, shortened(line)),
            )),
        }
    }
    let tags = Tags::parse(text("tags")).map_err(&mut note).unwrap_or_default();
    let timeout = duration("timeout", text("timeout")).map_err(&mut note).unwrap_or_default();
    let nodes = number("nodes", text("nodes"), "A number of nodes").map_err(&mut note).unwrap_or_default();
    let memory_mib = memory(text("memory")).map_err(&mut note).unwrap_or_default();
    let gpus = number("gpus", text("gpus"), "A number of GPUs").map_err(&mut note).unwrap_or_default();
    let retries = number("retries", text("retries"), "A number of retries").map_err(&mut note).unwrap_or_default();
    let array = number("array", text("array"), "A number of jobs").map_err(&mut note).unwrap_or_default();
    if array.is_some_and(|count: u32| count == 0 || count > MAX_ARRAY) {
        note(Problem::new("array", {
            let most = atelier_domain::text::grouped(MAX_ARRAY);
            format!("An array has 1 to {most} jobs; leave it empty for one job.")
        }));
    }
    let cores = match text("cores").trim() {
        "" => None,
        typed => match typed.replace(',', ".").parse::<f64>() {
            Ok(cores) if cores.is_finite() && cores > 0.0 => Some(cores),
            _ => {
                let message = format!("Cores are a number such as 2 or 0.5, not “{}”.", shortened(typed));
                note(Problem::new("cores", message));
                None
            }
        },
    };
    let mut files: Vec<TaskFile> = Vec::new();
    for typed in values.get("file").into_iter().flatten() {
        match kept_file(typed) {
            Ok(file) => {
                files.retain(|known| known.path != file.path);
                files.push(file);
            }
            Err(problem) => note(problem),
        }
    }
    let named =
        |field: &str| text(field).split([',', ' ', '\n', '\r', '\t']).filter(|word| !word.is_empty()).map(job_named);
    let after = named("after").map(AfterRequest::Success).chain(named("after_any").map(AfterRequest::any)).collect();
    let (cluster, instance) = match text("cluster").strip_prefix(INSTANCE) {
        Some(instance) => (String::new(), instance.to_owned()),
        None => (text("cluster").to_owned(), String::new()),
    };
    let request = JobRequest {
        name: text("name").to_owned(),
        command,
        script: text("script").to_owned(),
        cluster,
        instance,
        size: text("size").to_owned(),
        nodes,
        cores,
        memory_mib,
        gpus,
        priority: text("priority").to_owned(),
        timeout_seconds: timeout,
        grace_seconds: None,
        retries: retries.unwrap_or(0),
        retry_exit_codes: Vec::new(),
        tier: text("tier").to_owned(),
        after,
        array,
        environment,
        tags,
        files,
        own_sandbox: !text("own_sandbox").is_empty(),
        python_environment: text("python_environment").to_owned(),
        keep_in: text("keep_in").to_owned(),
    };
    (request, problems)
}

/// Before the name of an instance, where the form's one list of computes has clusters and instances.
pub const INSTANCE: &str = "instance:";

/// What a job of somebody else keeps from who copies it: the values of its variables, and its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// The names of its variables.
    pub variables: Vec<String>,
    /// The paths of its files.
    pub files: Vec<String>,
}

impl Withheld {
    /// Takes out of a task what is its owner's alone. The names of variables stay, so that nobody has to look
    /// for them.
    fn from(task: &mut Task) -> Self {
        task.environment.iter_mut().for_each(|(_, value)| value.clear());
        let variables = task.environment.iter().map(|(name, _)| name.clone()).collect();
        let files = std::mem::take(&mut task.files).into_iter().map(|file| file.path).collect();
        Self { variables, files }
    }

    /// What it is, for a sentence: `the values of 2 variables and 1 file`; nothing if nothing was taken.
    pub fn what(&self) -> Option<String> {
        let values = match self.variables.len() as u64 {
            0 => None,
            1 => Some("the value of 1 variable".to_owned()),
            count => Some(format!("the values of {count} variables")),
        };
        let files = match self.files.len() as u64 {
            0 => None,
            count => Some(counted(count, "file", "files")),
        };
        let all: Vec<String> = values.into_iter().chain(files).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

/// The form that makes such a request.
pub fn values_of(request: &JobRequest) -> Values {
    let mut values = Values::new();
    let mut set = |field: &str, value: String| {
        if !value.is_empty() {
            values.insert(field.to_owned(), vec![value]);
        }
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    set("name", request.name.clone());
    set("command", shell_words::join(&request.command));
    set("script", request.script.clone());
    set(
        "cluster",
        match request.instance.as_str() {
            "" => request.cluster.clone(),
            instance => format!("{INSTANCE}{instance}"),
        },
    );
    set("size", request.size.clone());
    set("cores", request.cores.map(|cores| cores.to_string()).unwrap_or_default());
    set("memory", number(request.memory_mib));
    set("gpus", number(request.gpus.filter(|gpus| *gpus > 0)));
    set("nodes", number(request.nodes.map(u64::from)));
    set("priority", request.priority.clone());
    set("timeout", request.timeout_seconds.map(typed_duration).unwrap_or_default());
    set("retries", number(Some(request.retries.into()).filter(|retries| *retries > 0)));
    set("tier", request.tier.clone());
    set("array", number(request.array.map(u64::from)));
    set("tags", request.tags.typed());
    set("environment", request.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect());
    set("own_sandbox", if request.own_sandbox { "on".into() } else { String::new() });
    set("python_environment", request.python_environment.clone());
    set("keep_in", request.keep_in.clone());
    values.insert("file".into(), request.files.iter().map(typed_file).collect());
    values
}

/// The request that a job was made from, an array as a whole, without what is its owner's alone; on what it
/// ran; and what was left out.
pub async fn request_of(caller: &Caller, row: &JobRow) -> Result<(JobRequest, Compute, Withheld), AppError> {
    let mut tasks = caller.checked(caller.store().job_tasks(&[row.job.id]).await)?;
    let mut task = tasks.remove(&row.job.id).ok_or_else(|| AppError::not_found("command of this job"))?;
    let mut keep_in = caller.checked(caller.store().keeps_in(row.job.id).await)?;
    let is_own = row.job.owner == caller.actor()?.person.id;
    let withheld = if is_own { Withheld::default() } else { Withheld::from(&mut task) };
    // What somebody else kept in their own folder is no place for one's own.
    if !is_own && FilePath::parse(&keep_in).is_ok_and(|path| path.person().is_some()) {
        keep_in.clear();
    }
    let target = row.job.spec.target.clone();
    let compute = ask(caller, move |world| Compute::of(world, &target)).await?;
    let spec = &row.job.spec;
    let (mut cluster, mut instance, mut size) = (String::new(), String::new(), String::new());
    match &compute {
        Compute::Cluster(name) => cluster.clone_from(name),
        Compute::Instance(name) => instance.clone_from(name),
        Compute::Serverless(name) => size.clone_from(name),
        Compute::Gone(_) => {}
    }
    let (command, script) = match task.run {
        Run::Argv(words) => (words, String::new()),
        Run::Script(lines) => (Vec::new(), lines),
    };
    let retry = spec.retry.as_deref();
    let seconds = |span: Span| u64::try_from(span.as_millis() / 1_000).unwrap_or_default();
    let request = JobRequest {
        name: row.name.clone(),
        command,
        script,
        cluster,
        instance,
        size,
        nodes: Some(spec.nodes),
        cores: Some(spec.shape.cores as f64 / 1_000.0),
        memory_mib: Some(spec.shape.memory),
        gpus: Some(spec.shape.gpus),
        priority: spec.priority.key().to_owned(),
        timeout_seconds: spec.timeout.map(seconds),
        grace_seconds: Some(seconds(spec.grace)),
        retries: retry.map_or(0, |retry| retry.max),
        retry_exit_codes: retry
            .filter(|retry| retry.on.contains(&RetryCause::ExitCode))
            .map(|retry| retry.exit_codes.clone())
            .unwrap_or_default(),
        tier: spec.tier.key().to_owned(),
        // What it waited for is over; the copy need not.
        after: Vec::new(),
        array: row.job.array.map(|place| place.count),
        environment: task.environment.into_iter().collect(),
        tags: row.tags.clone(),
        files: task.files,
        own_sandbox: task.is_alone,
        python_environment: spec.environment.as_ref().map(ToString::to_string).unwrap_or_default(),
        keep_in,
    };
    Ok((request, compute, withheld))
}

/// A job as people name it: its id, its number, or a link to its page.
fn job_named(typed: &str) -> String {
    let last = typed.trim_end_matches('/').rsplit('/').next().unwrap_or(typed);
    let last = last.split(['?', '#']).next().unwrap_or(last);
    if last.bytes().all(|byte| byte.is_ascii_digit()) { format!("job-{last}") } else { last.to_owned() }
}

/// A file that was uploaded before, as the form carries it along: `hash size path`.
pub fn typed_file(file: &TaskFile) -> String {
    format!("{} {} {}", file.blob, file.size, file.path)
}

/// Reads that again. Whether the file is still there, and the caller's to name, is judged with the job.
fn kept_file(typed: &str) -> Result<TaskFile, Problem> {
    let mut parts = typed.splitn(3, ' ');
    let mut part = || parts.next().unwrap_or_default();
    let (blob, size, path) = (part(), part(), part());
    check_path(path).map_err(|message| Problem::new("files", message))?;
    match size.parse::<u64>() {
        Ok(size) => Ok(TaskFile { path: path.to_owned(), blob: blob.to_owned(), size }),
        Err(_) => {
            Err(Problem::new("files", format!("The file “{}” is no longer there. Upload it again.", shortened(path))))
        }
    }
}

fn number<T: std::str::FromStr>(field: &str, typed: &str, what: &str) -> Result<Option<T>, Problem> {
    match typed.trim() {
        "" => Ok(None),
        typed => typed
            .parse()
            .map(Some)
            .map_err(|_| Problem::new(field, format!("{what} is a whole number, not “{}”.", shortened(typed)))),
    }
}

/// Memory in MiB; `2 GiB` and `512 MiB` are understood too.
fn memory(typed: &str) -> Result<Option<u64>, Problem> {
    let unit = |unit: &str| match unit {
        "" | "m" | "mb" | "mib" => Some(1.0),
        "g" | "gb" | "gib" => Some(1024.0),
        "t" | "tb" | "tib" => Some(1024.0 * 1024.0),
        _ => None,
    };
    measured("memory", typed, "Memory is a number of MiB, or such as “2 GiB”", unit)
}

/// A time in seconds from minutes, or from such as `90 s`, `2 h`, `1 day`.
fn duration(field: &str, typed: &str) -> Result<Option<u64>, Problem> {
    let unit = |unit: &str| match unit {
        "" | "m" | "min" | "minutes" | "minute" => Some(60.0),
        "s" | "sec" | "seconds" | "second" => Some(1.0),
        "h" | "hours" | "hour" => Some(3_600.0),
        "d" | "days" | "day" => Some(86_400.0),
        _ => None,
    };
    measured(field, typed, "A time limit is a number of minutes, or such as “90 s” or “2 h”", unit)
}

/// A number with a unit; nothing if nothing was typed.
fn measured(field: &str, typed: &str, what: &str, unit: impl Fn(&str) -> Option<f64>) -> Result<Option<u64>, Problem> {
    let lower = typed.trim().to_lowercase();
    if lower.is_empty() {
        return Ok(None);
    }
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let number = digits.trim().replace(',', ".").parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1e9);
    match (number, unit(lower[digits.len()..].trim())) {
        (Some(number), Some(times)) => Ok(Some((number * times).ceil() as u64)),
        _ => Err(Problem::new(field, format!("{what}; this is “{}”.", shortened(typed)))),
    }
}

fn typed_duration(seconds: u64) -> String {
    match seconds {
        whole if whole % 3_600 == 0 => format!("{} h", whole / 3_600),
        whole if whole % 60 == 0 => format!("{} min", whole / 60),
        rest => format!("{rest} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(fields: &[(&str, &str)]) -> Values {
        fields.iter().map(|(field, value)| ((*field).to_owned(), vec![(*value).to_owned()])).collect()
    }

    #[test]
    fn a_form_becomes_a_request() {
        let typed = values(&[
            ("command", "python train.py --name 'two words'"),
            ("environment", "A=1\n\nB=x=y\n"),
            ("cores", "0,5"),
            ("memory", "1.5 GiB"),
            ("timeout", "90 s"),
            ("array", "3"),
            ("tags", "project=churn"),
            ("own_sandbox", "on"),
            ("after", "job-3, https://studio.example/w/lab/jobs/job-4?attempt=1\n5"),
            ("after_any", "job-6"),
            ("tier", "preemptible"),
        ]);
        let (request, problems) = request(&typed);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(request.command, ["python", "train.py", "--name", "two words"]);
        assert_eq!(request.environment["B"], "x=y");
        assert_eq!((request.cores, request.memory_mib), (Some(0.5), Some(1_536)));
        assert_eq!((request.timeout_seconds, request.array), (Some(90), Some(3)));
        let success = ["job-3", "job-4", "job-5"].map(|id| AfterRequest::Success(id.to_owned()));
        assert_eq!(request.after, success.into_iter().chain([AfterRequest::any("job-6".into())]).collect::<Vec<_>>());
        assert_eq!(request.tier, "preemptible");
        assert!(request.own_sandbox && request.tags.0.contains_key("project"));
    }

    #[test]
    fn every_wrong_field_is_named() {
        let typed = values(&[
            ("command", "echo 'open"),
            ("environment", "NOPE"),
            ("cores", "many"),
            ("memory", "2 cups"),
            ("timeout", "-1"),
            ("nodes", "1.5"),
            ("array", "0"),
            ("file", "abc 1 ../x"),
        ]);
        let problems = request(&typed).1;
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["command", "environment", "timeout", "nodes", "memory", "array", "cores", "files"]);
    }

    #[test]
    fn times_are_read_as_people_type_them() {
        for (typed, seconds) in [("30", 1_800), ("90 s", 90), ("1 day", 86_400), ("1,5 h", 5_400)] {
            assert_eq!(duration("timeout", typed), Ok(Some(seconds)), "{typed}");
        }
        assert_eq!([7_200, 90, 300].map(typed_duration), ["2 h", "90 s", "5 min"]);
    }
}
