//! Jobs: what is asked for, judged field by field, and handed to the engine. The submit page and the API send
//! the same [`JobRequest`].

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{
    After, AfterWhat, DEFAULT_GRACE, EndedAs, JobSpec, MAX_AFTER, Priority, RetryCause, RetryPolicy, Target,
};
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{ComputeName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::error::AppError;
use atelier_domain::files::FilePath;
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order};
use atelier_engine::run::{CommandId, Payload};
use atelier_protocol::{Run, Task, TaskFile};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::clusters::commands::tier_of;
use crate::orders::order;

pub const MAX_JOB_NAME: usize = 64;
pub const MAX_VARIABLES: usize = 200;
pub const MAX_VALUE: usize = 32 << 10;
/// The longest script; what is longer is uploaded as a file.
pub const MAX_SCRIPT: usize = 512 << 10;
pub const MAX_FILES: usize = 1_000;

/// A job as people ask for it. Every field but the command has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobRequest {
    /// What people call it; the command's first word if empty.
    pub name: String,
    /// A program and its arguments, one each; no shell looks at them.
    pub command: Vec<String>,
    /// Lines for `sh`, or for what their first line names; in place of a command.
    pub script: String,
    /// The cluster's name; empty for a serverless job.
    pub cluster: String,
    /// One of the caller's own instances, in place of a cluster; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub instance: String,
    /// The size of the machine of a serverless job; the smallest that fits if empty.
    pub size: String,
    /// On how many nodes at once.
    pub nodes: Option<u32>,
    /// Cores on each node; all that a node has if left out.
    pub cores: Option<f64>,
    /// Memory in MiB on each node; all that a node has if left out.
    pub memory_mib: Option<u64>,
    /// GPUs on each node; all that a node has if left out.
    pub gpus: Option<u64>,
    /// `low`, `medium` or `high`.
    pub priority: String,
    pub timeout_seconds: Option<u64>,
    /// How long its processes get to end when asked to.
    pub grace_seconds: Option<u64>,
    pub retries: u32,
    /// For which exit codes; any if none is named. Lost nodes are retried whenever there are retries.
    pub retry_exit_codes: Vec<i32>,
    /// `dedicated`, or `preemptible` if dedicated work may take its nodes back; for serverless jobs.
    pub tier: String,
    /// The jobs that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterRequest>,
    /// How many times it runs, each with its own `ATELIER_ARRAY_INDEX`.
    pub array: Option<u32>,
    pub environment: BTreeMap<String, String>,
    pub tags: Tags,
    /// Uploaded files for its folder.
    pub files: Vec<TaskFile>,
    /// Whether it gets a sandbox of its own in place of its owner's resident one.
    pub own_sandbox: bool,
    /// The named environment that it runs with: `churn`, or `churn:3`; what the system has if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub python_environment: String,
    /// The folder of Files in which its outputs are kept when it is over; none if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keep_in: String,
}

/// A job to wait for: its id alone, for its success, or with what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AfterRequest {
    Success(String),
    /// After what `needs` says.
    Told {
        job: String,
        /// `success` or `any`.
        #[serde(default)]
        needs: String,
    },
}

impl AfterRequest {
    /// After a job has ended, however.
    pub fn any(job: String) -> Self {
        Self::Told { job, needs: "any".into() }
    }

    /// Which job, and what is wanted of it.
    fn read(&self) -> Result<(JobId, AfterWhat), Problem> {
        let (job, needs) = match self {
            Self::Success(job) => (job, "success"),
            Self::Told { job, needs } => (job, needs.as_str()),
        };
        let wrong = |message: String| Problem::new("after", message);
        let needs = match needs {
            "" | "success" => AfterWhat::Success,
            "any" => AfterWhat::Any,
            other => {
                let start = atelier_domain::text::shortened(other);
                return Err(wrong(format!(
                    "A job waits for the “success” of another or for “any” end, not “{start}”."
                )));
            }
        };
        let start = atelier_domain::text::shortened(job);
        let id =
            JobId::parse(job).ok_or_else(|| wrong(format!("“{start}” is no id of a job; they are such as job-12.")))?;
        Ok((id, needs))
    }
}

/// What came of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The job, or the first of an array.
    pub first: JobId,
    pub count: u32,
}

impl Submitted {
    /// From the engine's answer, if it is one to a submission.
    pub fn of(answer: Answer) -> Option<Self> {
        match answer {
            Answer::Job(first) => Some(Self { first, count: 1 }),
            Answer::Jobs { first, count } => Some(Self { first, count }),
            _ => None,
        }
    }
}

impl JobRequest {
    pub fn shown_name(&self) -> String {
        if !self.name.trim().is_empty() {
            return self.name.trim().to_owned();
        }
        let first = match self.command.first() {
            Some(program) => program.rsplit('/').next().unwrap_or(program).to_owned(),
            None => {
                let line = self.script.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
                line.unwrap_or("script").to_owned()
            }
        };
        atelier_domain::text::shortened_to(&first, MAX_JOB_NAME)
    }

    /// What it runs, or all that is wrong with it.
    fn task(&self) -> Result<Task, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut wrong = |field: &str, message: String| problems.push(Problem::new(field, message));
        let length = self.name.trim().chars().count();
        if length > MAX_JOB_NAME || self.name.chars().any(atelier_domain::text::is_unseen) {
            wrong(
                "name",
                format!("A name has at most {MAX_JOB_NAME} characters that can be shown; this has {length}."),
            );
        }
        let has_script = !self.script.trim().is_empty();
        let run = match (self.command.is_empty(), has_script) {
            (false, false) => Run::Argv(self.command.clone()),
            (true, true) => Run::Script(self.script.replace("\r\n", "\n")),
            (true, false) => {
                wrong("command", "Say what to run: a command, or a script.".into());
                Run::Argv(Vec::new())
            }
            (false, true) => {
                wrong("command", "Give a command or a script, not both.".into());
                Run::Argv(Vec::new())
            }
        };
        if self.command.first().is_some_and(|program| program.trim().is_empty()) {
            wrong("command", "The command begins with the name of a program; this begins with nothing.".into());
        }
        if self.command.iter().any(|argument| argument.contains('\0')) || self.script.contains('\0') {
            wrong("command", "A command has no zero bytes.".into());
        }
        if self.script.len() > MAX_SCRIPT {
            let bytes = self.script.len();
            wrong("script", format!("A script has at most {MAX_SCRIPT} bytes; this has {bytes}. Upload it as a file."));
        }
        if self.environment.len() > MAX_VARIABLES {
            let count = self.environment.len();
            wrong("environment", format!("There are at most {MAX_VARIABLES} variables; these are {count}."));
        }
        for (name, value) in &self.environment {
            let start = atelier_domain::text::shortened(name);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name || name.len() > 256 {
                wrong(
                    "environment",
                    format!(
                        "A variable's name has letters, digits and “_” and begins with no digit; this is “{start}”."
                    ),
                );
            } else if name.starts_with("ATELIER_") {
                wrong("environment", format!("Names that begin with ATELIER_ are set by Atelier; this is “{start}”."));
            } else if value.len() > MAX_VALUE || value.contains('\0') {
                let bytes = value.len();
                wrong(
                    "environment",
                    format!("The value of “{start}” has {bytes} bytes; it may have {MAX_VALUE} and no zero byte."),
                );
            }
        }
        if self.files.len() > MAX_FILES {
            wrong("files", format!("There are at most {MAX_FILES} files; these are {}.", self.files.len()));
        }
        if let Err(problem) = FilePath::parse(self.keep_in.trim()) {
            wrong("keep_in", problem.message);
        }
        let mut paths = BTreeSet::new();
        for file in &self.files {
            if let Err(problem) = check_path(&file.path) {
                wrong("files", problem);
            } else if !paths.insert(&file.path) {
                let path = atelier_domain::text::shortened(&file.path);
                wrong("files", format!("The path “{path}” is there twice; a file of a job has a path of its own."));
            }
        }
        if problems.is_empty() {
            Ok(Task {
                run,
                environment: self.environment.clone().into_iter().collect(),
                files: self.files.clone(),
                is_alone: self.own_sandbox,
            })
        } else {
            Err(problems)
        }
    }
}

/// Refuses a path that would leave the job's folder.
pub fn check_path(path: &str) -> Result<(), String> {
    let start = atelier_domain::text::shortened(path);
    let is_inside = !path.is_empty()
        && path.len() <= 512
        && !path.starts_with('/')
        && !path.contains('\0')
        && !path.chars().any(atelier_domain::text::is_unseen)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.len() <= 200);
    if is_inside {
        Ok(())
    } else {
        Err(format!("The path “{start}” leaves the job’s folder or cannot be used: give a relative path without “..”."))
    }
}

/// What a job's fields mean on the compute that was chosen.
struct Chosen {
    target: Target,
    shape: Resources,
}

/// Finds the compute and what a node there has.
async fn choose(caller: &Caller, request: &JobRequest) -> Result<Chosen, AppError> {
    let workspace = caller.actor()?.workspace.id.clone();
    let catalogue = caller.studio.engine().catalogue();
    let asked = Asked {
        cores: request.cores.map(|cores| (cores * 1_000.0).round().clamp(0.0, 1e12) as u64),
        memory: request.memory_mib,
        gpus: request.gpus,
    };
    if !request.instance.is_empty() {
        return on_instance(caller, request, asked).await;
    }
    if request.cluster.is_empty() {
        let named = match request.size.as_str() {
            "" => None,
            size => Some(SizeName::parse(size).map_err(AppError::invalid)?),
        };
        let found = match &named {
            Some(name) => catalogue.size(name),
            None => {
                let fits = |size: &&Size| asked.of(size.shape).fits(size.shape);
                catalogue.sizes().iter().find(fits).or(catalogue.sizes().last())
            }
        };
        let Some(size) = found else {
            let message = match named {
                Some(size) => format!("There is no size “{size}”."),
                None => "There is no size to run on yet. An operator adds one.".to_owned(),
            };
            return Err(AppError::invalid(Problem::new("size", message)));
        };
        return Ok(Chosen { target: Target::Serverless(size.name.clone()), shape: asked.of(size.shape) });
    }
    let field = |problem: Problem| AppError::invalid(Problem::new("cluster", problem.message));
    let name = ComputeName::parse(&request.cluster).map_err(field)?;
    let found = catalogue.cluster(&workspace, &name).and_then(|(id, size)| Some((id, catalogue.size(size)?.shape)));
    let Some((id, shape)) = found else {
        return Err(AppError::invalid(Problem::new("cluster", format!("There is no cluster “{name}” here."))));
    };
    Ok(Chosen { target: Target::Cluster(id), shape: asked.of(shape) })
}

/// Finds the instance. Whether its owner asks, and whether it takes jobs now, is judged with the order.
async fn on_instance(caller: &Caller, request: &JobRequest, asked: Asked) -> Result<Chosen, AppError> {
    let wrong = |message: String| AppError::invalid(Problem::new("instance", message));
    if !request.cluster.is_empty() || !request.size.is_empty() {
        return Err(wrong("Name an instance, a cluster or a size, not several.".into()));
    }
    let id = match crate::instances::commands::find(caller, &request.instance).await {
        Ok(subject) => subject.id,
        Err(AppError::NotFound { .. }) => {
            let start = atelier_domain::text::shortened(&request.instance);
            return Err(wrong(format!("There is no instance “{start}” here.")));
        }
        Err(other) => return Err(other),
    };
    let shape = crate::orders::ask(caller, move |world| {
        let size = &world.instance(id)?.size;
        world.sizes().find(|known| known.name == *size).map(|size| size.shape)
    });
    let node = shape.await?.ok_or_else(|| wrong("Its size isn’t in the catalog any more.".into()))?;
    Ok(Chosen { target: Target::Instance(id), shape: asked.of(node.slot()) })
}

#[derive(Clone, Copy)]
struct Asked {
    cores: Option<u64>,
    memory: Option<u64>,
    gpus: Option<u64>,
}

impl Asked {
    /// What is left out is all that a node has.
    fn of(self, node: Resources) -> Resources {
        Resources {
            cores: self.cores.unwrap_or(node.cores),
            memory: self.memory.unwrap_or(node.memory),
            gpus: self.gpus.unwrap_or(node.gpus),
        }
    }
}

/// A request whose every field was found good, with all that it names looked up. What it uploaded is claimed.
#[derive(Debug)]
pub struct Prepared<'a> {
    request: &'a JobRequest,
    spec: JobSpec,
    payload: Payload,
}

impl Prepared<'_> {
    pub const fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// Submits it, as a job or as an array of jobs. Needs `job.submit`.
    pub async fn submit(self, caller: &Caller, id: CommandId) -> Result<Submitted, AppError> {
        caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
        let Self { request, mut spec, payload } = self;
        let wanted = |spec: JobSpec| match request.array {
            Some(count) => Order::SubmitArray { spec, count },
            None => Order::Submit(spec),
        };
        let is_about_others = |error: &AppError| match error {
            AppError::Invalid { problems } => problems.iter().all(|problem| problem.field == "after"),
            _ => false,
        };
        let mut answer = order(caller, id.clone(), wanted(spec.clone()), Some(payload.clone()), None).await;
        if !spec.after.is_empty() && answer.as_ref().is_err_and(is_about_others) {
            // What it waits for may have ended between the look and the order, now or when the same was asked
            // before.
            let mut problems = Vec::new();
            spec.after = awaited(caller, &request.after, &mut problems).await?;
            if problems.is_empty() {
                answer = order(caller, id.beside("after an end"), wanted(spec), Some(payload), None).await;
            }
        }
        let answer = answer?;
        caller.checked(Submitted::of(answer).ok_or("a submission was answered with something else"))
    }
}

/// Judges every field and submits what is good. Needs `job.submit`.
pub async fn submit(caller: &Caller, id: CommandId, request: &JobRequest) -> Result<Submitted, AppError> {
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    prepare(caller, request).await?.submit(caller, id).await
}

/// Judges every field; nothing is submitted.
pub async fn prepare<'a>(caller: &Caller, request: &'a JobRequest) -> Result<Prepared<'a>, AppError> {
    let mut problems = Vec::new();
    let task = request.task().map_err(|more| problems.extend(more)).ok();
    problems.extend(missing_files(caller, &request.files).await?);
    problems.extend(wrong_folder(caller, &request.keep_in).await?);
    if let Err(problem) = request.tags.check() {
        problems.push(problem);
    }
    let priority = match request.priority.as_str() {
        "" => Priority::default(),
        text => Priority::parse(text).map_err(|problem| problems.push(problem)).unwrap_or_default(),
    };
    let seconds = |seconds: u64| Span::seconds(u32::try_from(seconds).unwrap_or(u32::MAX));
    let mut on = vec![RetryCause::NodeLost, RetryCause::Preempted, RetryCause::OutOfMemory, RetryCause::StartFailed];
    on.push(RetryCause::ExitCode);
    let retry = (request.retries > 0).then(|| {
        let exit_codes = request.retry_exit_codes.clone();
        Box::new(RetryPolicy { max: request.retries, on, exit_codes, pause: Span::seconds(1) })
    });
    let chosen = match choose(caller, request).await {
        Ok(chosen) => Some(chosen),
        Err(AppError::Invalid { problems: more }) => {
            problems.extend(more);
            None
        }
        Err(other) => return Err(other),
    };
    let tier = tier_of(&request.tier).map_err(|problem| problems.push(problem)).unwrap_or_default();
    if tier == Tier::Preemptible && !request.cluster.is_empty() {
        let message = "On a cluster the cluster’s tier counts; leave this out, or choose another cluster.";
        problems.push(Problem::new("tier", message));
    }
    if tier == Tier::Preemptible && !request.instance.is_empty() {
        problems.push(Problem::new("tier", "Instances are dedicated; leave this out, or choose another compute."));
    }
    let after = awaited(caller, &request.after, &mut problems).await?;
    let environment =
        crate::environments::commands::pin(caller, &request.python_environment, "python_environment").await?;
    let environment = environment.map_err(|problem| problems.push(problem)).ok().flatten().map(Box::new);
    let spec = chosen.map(|chosen| JobSpec {
        target: chosen.target,
        shape: chosen.shape,
        nodes: request.nodes.unwrap_or(1),
        priority,
        timeout: request.timeout_seconds.map(seconds),
        grace: request.grace_seconds.map_or(DEFAULT_GRACE, seconds),
        retry,
        tier,
        after,
        environment,
    });
    if let Some(problem) = spec.as_ref().and_then(|spec| spec.check().err()) {
        problems.push(problem);
    }
    match (spec, task) {
        (Some(spec), Some(task)) if problems.is_empty() => {
            let payload = Payload::of(request.shown_name(), request.tags.clone(), &task);
            Ok(Prepared { request, spec, payload: Payload { keep_in: request.keep_in.trim().to_owned(), ..payload } })
        }
        _ => Err(AppError::Invalid { problems }),
    }
}

/// Why outputs cannot be kept in a folder of Files: somebody else's own folder is theirs alone.
async fn wrong_folder(caller: &Caller, keep_in: &str) -> Result<Option<Problem>, AppError> {
    let Some(path) = FilePath::parse(keep_in.trim()).ok().filter(|path| !path.is_top()) else { return Ok(None) };
    caller.authorise_for(Action::FileWrite, Whose::Own).await?;
    let me = caller.checked(caller.store().local_user(&caller.actor()?.person.id).await)?.handle;
    let message = match path.person() {
        Some(person) if person != me => {
            format!("“Users/{person}” is somebody else’s own folder. Yours is “Users/{me}”.")
        }
        _ if path.is_users() => format!("Outputs cannot lie beside people’s own folders. Yours is “Users/{me}”."),
        // The outputs lie in a folder of the job's own name in it, which must fit too, whatever its number.
        _ => match path.join(&JobId(u64::MAX).to_string()) {
            Ok(_) => return Ok(None),
            Err(problem) => {
                format!("The outputs lie in a folder of the job’s own in it, and that is too much: {}", problem.message)
            }
        },
    };
    Ok(Some(Problem::new("keep_in", message)))
}

/// The jobs to wait for, with how those ended that are over.
async fn awaited(
    caller: &Caller,
    wanted: &[AfterRequest],
    problems: &mut Vec<Problem>,
) -> Result<Vec<After>, AppError> {
    let workspace = caller.actor()?.workspace.id.clone();
    let mut after: Vec<After> = Vec::new();
    for one in wanted.iter().take(MAX_AFTER + 1) {
        let (job, needs) = match one.read() {
            Ok(read) => read,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let Some(row) = caller.checked(caller.store().job(&workspace, job).await)? else {
            let message = format!(
                "{job} cannot be waited for: there is no such job. A job waits only for jobs that were submitted \
                 before it, so that none waits in a circle."
            );
            problems.push(Problem::new("after", message));
            continue;
        };
        let ended = row.verdict.as_ref().map(EndedAs::of);
        match after.iter_mut().find(|known| known.job == job) {
            // Success is the more that is wanted.
            Some(known) => known.needs = known.needs.min(needs),
            None => after.push(After { job, needs, ended }),
        }
    }
    Ok(after)
}

/// What was named and never uploaded, or has another size: a job must not find that out on its node. What
/// somebody else has uploaded is as good as missing.
async fn missing_files(caller: &Caller, files: &[TaskFile]) -> Result<Vec<Problem>, AppError> {
    let mut missing = Vec::new();
    if files.is_empty() {
        return Ok(missing);
    }
    let hashes: Vec<String> = files.iter().take(MAX_FILES).map(|file| file.blob.clone()).collect();
    let nameable = crate::uploads::nameable(caller, &hashes).await?;
    let (blobs, now) = (caller.studio.fleet().blobs().clone(), atelier_engine::clock::now());
    // Claimed before the job is durable, so that it is not swept away meanwhile.
    let claimed = tokio::task::spawn_blocking(move || {
        let claim = |hash: &String| if nameable.contains(hash) { blobs.claim(hash, now) } else { None };
        hashes.iter().map(claim).collect::<Vec<Option<u64>>>()
    });
    for (file, kept) in files.iter().zip(claimed.await.unwrap_or_default()) {
        if kept != Some(file.size) {
            let (path, blob) =
                (atelier_domain::text::shortened(&file.path), atelier_domain::text::shortened_to(&file.blob, 64));
            let message = match kept {
                Some(bytes) => format!("The file for “{path}” has {bytes} bytes, not {}.", file.size),
                None => format!(
                    "The file for “{path}” is not here: you have uploaded none with the hash “{blob}”. Upload it first."
                ),
            };
            missing.push(Problem::new("files", message));
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_folder() {
        for path in ["train.py", "src/model/net.py", "a b.txt", "ünïcode.txt"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../x", "a//b", "a/", ".", "./a", "a\0b", "a\nb"] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn a_job_without_a_name_is_called_by_what_it_runs() {
        let command = |words: &[&str]| JobRequest {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            ..JobRequest::default()
        };
        assert_eq!(command(&["/usr/bin/python3", "train.py"]).shown_name(), "python3");
        let script = JobRequest { script: "#!/bin/sh\n\n  echo hi\n".into(), ..JobRequest::default() };
        assert_eq!(script.shown_name(), "echo hi");
        assert_eq!(JobRequest { name: " night run ".into(), ..script }.shown_name(), "night run");
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let request = JobRequest {
            name: "x".repeat(65),
            command: vec!["true".into()],
            script: "echo".into(),
            environment: BTreeMap::from([("1A".into(), String::new()), ("ATELIER_JOB".into(), String::new())]),
            files: vec![TaskFile { path: "../x".into(), blob: String::new(), size: 0 }],
            ..JobRequest::default()
        };
        let problems = request.task().expect_err("wrong");
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_ref()).collect();
        assert_eq!(fields, ["name", "command", "environment", "environment", "files"]);
    }
}
