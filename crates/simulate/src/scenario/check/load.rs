//! Who wants what: people, their jobs, a history.

use std::collections::BTreeMap;

use atelier_domain::UserId;
use atelier_domain::compute::job::{DEFAULT_GRACE, JobSpec, MAX_ARRAY, Priority, RetryCause, RetryPolicy, Target};
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{SizeName, Tier};
use atelier_domain::text::shortened;
use atelier_domain::time::{Span, Timestamp};

use super::super::draft::{HistoryDraft, JobsDraft, PeopleDraft, RunsDraft};
use super::super::{DEFAULT_WEIGHT, JobRule, MAX_EVENTS, MAX_PEOPLE, PastJob, Person, Runs, SizeModel, WEIGHTS};
use super::{Check, find};
use crate::length;
use crate::recorded::Recorded;
use crate::setup::{Setup, cluster_id};

/// For each job at least so much happens: it comes, it starts, it ends.
const EVENTS_OF_A_JOB: f64 = 3.0;
/// The pause before the first retry.
const RETRY_PAUSE: Span = Span::seconds(10);

impl Check {
    pub(super) fn people(&mut self, drafts: &[PeopleDraft]) -> (Vec<Person>, Groups) {
        let (mut people, mut groups) = (Vec::new(), Groups::default());
        for (number, draft) in drafts.iter().enumerate() {
            let path = format!("people[{number}]");
            self.name(&format!("{path}.name"), &draft.name);
            let count = draft.count.unwrap_or(1);
            if count == 0 || people.len() + count as usize > MAX_PEOPLE {
                let message =
                    format!("There are 1 to {MAX_PEOPLE} people in all; this adds {count} to {}.", people.len());
                self.complaints.add(format!("{path}.count"), message);
                continue;
            }
            let weight = draft.weight.unwrap_or(DEFAULT_WEIGHT);
            if !WEIGHTS.contains(&weight) {
                let (low, high) = (WEIGHTS.start(), WEIGHTS.end());
                let message = format!(
                    "A weight is between {low} and {high}, and {DEFAULT_WEIGHT} if left out; this is {weight}."
                );
                self.complaints.add(format!("{path}.weight"), message);
            }
            let first = people.len();
            for one in 1..=count {
                let name = if count == 1 { draft.name.clone() } else { format!("{}-{one}", draft.name) };
                people.push(Person { id: UserId::new(name.clone()), name: name.as_str().into(), weight });
            }
            if groups.0.insert(draft.name.clone(), (first..people.len()).collect()).is_some() {
                let message = format!("There are two of the name “{}”; give one another.", shortened(&draft.name));
                self.complaints.add(format!("{path}.name"), message);
            }
        }
        let distinct: std::collections::BTreeSet<&UserId> = people.iter().map(|person| &person.id).collect();
        if distinct.len() < people.len() {
            self.complaints.add("people", "Two people have the same name, counted ones included; rename one.");
        }
        (people, groups)
    }

    pub(super) fn jobs(
        &mut self,
        path: &str,
        draft: &JobsDraft,
        places: &Places,
        groups: &Groups,
        time: (Timestamp, u64),
    ) -> Option<JobRule> {
        let field = |name: &str| format!("{path}.{name}");
        self.name(&field("name"), &draft.name);
        let people = self.submitters(&field("people"), draft.people.as_deref(), groups);
        if !(draft.per_hour > 0.0 && draft.per_hour <= 1e6) {
            let message = format!("Each submits above 0 and at most 1000000 times an hour, not {}.", draft.per_hour);
            self.complaints.add(field("per_hour"), message);
        }
        let hours = draft.hours.as_ref().map(|hours| self.hours(&field("hours"), hours));
        let windows = hours.map(|hours| hours.map(|hours| hours.windows(time.0, time.1)).unwrap_or_default());
        let target = match (&draft.cluster, &draft.size) {
            (Some(cluster), None) => self.complaints.take(&field("cluster"), places.cluster(cluster)),
            (None, Some(size)) => self.complaints.take(&field("size"), places.size(size)),
            (None, None) => {
                self.complaints.add(field("cluster"), "Say where they run: cluster, or size for nodes of their own.");
                None
            }
            (Some(_), Some(_)) => {
                self.complaints.add(field("size"), "Name a cluster or a size, not both.");
                None
            }
        };
        let array = (draft.array.unwrap_or(1), draft.array_most.or(draft.array).unwrap_or(1));
        if array.0 == 0 || array.1 > MAX_ARRAY || array.0 > array.1 {
            let message = format!(
                "An array has 1 to {MAX_ARRAY} jobs, the smaller number first; this is {} to {}.",
                array.0, array.1
            );
            self.complaints.add(field("array"), message);
        }
        let runs = self.runs(&field("runs"), &draft.runs);
        let shape = Resources {
            cores: self.cores(&field("cores"), draft.cores.unwrap_or(1.0)),
            memory: self.memory(&field("memory_gib"), draft.memory_gib.unwrap_or(1.0)),
            gpus: draft.gpus.unwrap_or(0),
        };
        let timeout = draft
            .time_limit
            .as_deref()
            .and_then(|limit| self.complaints.take(&field("time_limit"), length::parse(limit)));
        let priority = match &draft.priority {
            Some(priority) => self.complaints.take_parsed(&field("priority"), Priority::parse(priority)),
            None => Some(Priority::default()),
        };
        let fails = self.complaints.number(&field("fails"), draft.fails.unwrap_or(0.0), 0.0, 1.0, "A share");
        let spec = JobSpec {
            target: target?,
            shape,
            nodes: draft.nodes.unwrap_or(1),
            priority: priority?,
            timeout: timeout.map(Span::millis),
            grace: DEFAULT_GRACE,
            retry: draft.retries.filter(|retries| *retries > 0).map(retry),
            after: Vec::new(),
            environment: None,
            tier: Tier::default(),
        };
        if let Err(problem) = spec.check() {
            self.complaints.add(field(in_scenario(&problem.field)), problem.message);
        }
        Some(JobRule { people, spec, gap: 3_600_000.0 / draft.per_hour, windows, array, runs: runs?, fails })
    }

    fn submitters(&mut self, field: &str, named: Option<&[String]>, groups: &Groups) -> Vec<usize> {
        let names: Vec<String> = groups.0.keys().cloned().collect();
        let mut people = Vec::new();
        match named {
            None => people.extend(groups.0.values().flatten().copied()),
            Some(named) => {
                for name in named {
                    if let Some(found) = self.complaints.take(field, find(&names, name, "people")) {
                        people.extend(
                            names.get(found).and_then(|name| groups.0.get(name)).into_iter().flatten().copied(),
                        );
                    }
                }
            }
        }
        people.sort_unstable();
        people.dedup();
        if people.is_empty() {
            self.complaints.add(field, "Nobody submits these. Describe people with [[people]] and name them here.");
        }
        people
    }

    fn runs(&mut self, path: &str, draft: &RunsDraft) -> Option<Runs> {
        let field = |name: &str| format!("{path}.{name}");
        let kinds = [&draft.fixed, &draft.uniform, &draft.exponential, &draft.lognormal];
        if kinds.into_iter().flatten().count() != 1 {
            self.complaints.add(path, "Give exactly one of fixed, uniform, exponential and lognormal.");
            return None;
        }
        if draft.spread.is_some() && draft.lognormal.is_none() {
            self.complaints.add(field("spread"), "Only lognormal has a spread.");
        }
        let most = self.length_or(&field("most"), draft.most.as_deref(), length::LONGEST);
        let read = |check: &mut Self, name: &str, text: &str| {
            let millis = check.complaints.take(&field(name), length::parse(text))?;
            if millis == 0 || millis > most {
                let message =
                    format!("It is above 0 s and at most {}, not {}.", length::say(most), length::say(millis));
                check.complaints.add(field(name), message);
                return None;
            }
            Some(millis)
        };
        match draft {
            RunsDraft { fixed: Some(text), .. } => {
                read(self, "fixed", text).map(|millis| Runs::Between(millis, millis))
            }
            RunsDraft { uniform: Some(text), .. } => {
                let (low, high) = self.complaints.take(&field("uniform"), length::parse_range(text))?;
                Some(Runs::Between(low.min(most), high.min(most)))
            }
            RunsDraft { exponential: Some(text), .. } => {
                read(self, "exponential", text).map(|mean| Runs::Exponential { mean: mean as f64, most })
            }
            RunsDraft { lognormal: Some(text), .. } => {
                let spread =
                    self.complaints.number(&field("spread"), draft.spread.unwrap_or(1.0), 0.0, 5.0, "A spread");
                read(self, "lognormal", text).map(|median| Runs::Lognormal { median: median as f64, spread, most })
            }
            _ => None,
        }
    }

    pub(super) fn history(
        &mut self,
        draft: Option<&HistoryDraft>,
        recorded: Vec<Recorded>,
        places: &Places,
        people: &mut Vec<Person>,
        (start, length): (Timestamp, u64),
    ) -> (Vec<PastJob>, u64) {
        let Some(draft) = draft else { return (Vec::new(), 0) };
        let all = match &draft.cluster {
            Some(cluster) => match places.cluster(cluster) {
                Ok(target) => Some(target),
                Err(message) => {
                    self.complaints.add("history.cluster", message);
                    return (Vec::new(), 0);
                }
            },
            None => None,
        };
        let mut known: BTreeMap<UserId, usize> =
            people.iter().enumerate().map(|(place, person)| (person.id.clone(), place)).collect();
        let (mut past, mut left_out, end) = (Vec::new(), 0, start.plus(Span::millis(length)));
        for (number, job) in recorded.into_iter().enumerate() {
            let path = format!("history job {}", number + 1);
            if job.submitted < start || job.submitted >= end {
                left_out += 1;
                continue;
            }
            let target = match (&all, &job.cluster, &job.size) {
                (Some(target), ..) => Ok(target.clone()),
                (None, Some(cluster), _) => places.cluster(cluster),
                (None, None, Some(size)) => places.size(size),
                (None, None, None) => Err("It names neither a cluster nor a size; set history.cluster.".to_owned()),
            };
            let Some(target) = self.complaints.take(&path, target) else { continue };
            let person = match known.get(&UserId::new(job.owner.clone())) {
                Some(person) => *person,
                None if people.len() >= MAX_PEOPLE => {
                    self.complaints.add(path, format!("There are at most {MAX_PEOPLE} people in all."));
                    continue;
                }
                None => {
                    self.name(&format!("{path}: owner"), &job.owner);
                    let id = UserId::new(job.owner.clone());
                    people.push(Person { id: id.clone(), name: job.owner.as_str().into(), weight: DEFAULT_WEIGHT });
                    known.insert(id, people.len() - 1);
                    people.len() - 1
                }
            };
            let spec = JobSpec {
                target,
                shape: job.shape,
                nodes: job.nodes,
                priority: job.priority,
                timeout: job.time_limit.map(Span::millis),
                grace: DEFAULT_GRACE,
                retry: None,
                after: Vec::new(),
                environment: None,
                tier: Tier::default(),
            };
            if let Err(problem) = spec.check() {
                self.complaints.add(format!("{path}: {}", problem.field), problem.message);
                continue;
            }
            let at = job.submitted.since(start).as_millis().unsigned_abs();
            past.push(PastJob { at, person, spec, ran: job.ran.clamp(1, length::LONGEST), fails: job.failed });
        }
        if past.is_empty() && left_out > 0 {
            let message =
                format!("It has no jobs of the scenario’s time; {left_out} are of another. Look at start and length.");
            self.complaints.add("history.file", message);
        }
        past.sort_by_key(|job| job.at);
        (past, left_out)
    }

    /// Too much to run is refused before it runs.
    pub(super) fn expected(&mut self, rules: &[JobRule], past: usize, length: u64, max_events: u64) {
        let mut jobs = past as f64;
        for rule in rules {
            let open = match &rule.windows {
                Some(windows) => windows.iter().map(|(from, to)| to - from).sum(),
                None => length,
            };
            let array = (f64::from(rule.array.0) + f64::from(rule.array.1)) / 2.0;
            jobs += open as f64 / rule.gap * rule.people.len() as f64 * array;
        }
        if jobs * EVENTS_OF_A_JOB > max_events as f64 {
            let message = format!(
                "About {jobs:.0} jobs are at least {:.0} events, and {max_events} are allowed. Lower the rates, \
                 shorten it, or raise max_events, up to {MAX_EVENTS}.",
                jobs * EVENTS_OF_A_JOB
            );
            self.complaints.add("max_events", message);
        } else if past == 0 && jobs < 0.5 && !rules.is_empty() {
            self.complaints
                .add("jobs", "Not one job is to be expected. Raise per_hour, widen the hours or make it longer.");
        }
    }
}

/// People by the name of their group.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<String, Vec<usize>>);

/// Where jobs can go, by name.
pub(super) struct Places {
    clusters: Vec<String>,
    sizes: Vec<String>,
}

impl Places {
    pub fn new(sizes: &[SizeModel], setup: &Setup) -> Self {
        Self {
            clusters: setup.clusters.iter().map(|cluster| cluster.name.to_string()).collect(),
            sizes: sizes.iter().map(|model| model.size.name.to_string()).collect(),
        }
    }

    fn cluster(&self, name: &str) -> Result<Target, String> {
        find(&self.clusters, &name.to_lowercase(), "cluster").map(|place| Target::Cluster(cluster_id(place)))
    }

    fn size(&self, name: &str) -> Result<Target, String> {
        let name = name.to_lowercase();
        find(&self.sizes, &name, "size")?;
        SizeName::parse(&name).map(Target::Serverless).map_err(|problem| problem.message)
    }
}

fn retry(max: u32) -> Box<RetryPolicy> {
    use RetryCause::{ExitCode, NodeLost, Preempted, StartFailed};
    let on = vec![NodeLost, Preempted, StartFailed, ExitCode];
    Box::new(RetryPolicy { max, on, exit_codes: Vec::new(), pause: RETRY_PAUSE })
}

/// What a field of a job is called in a scenario.
pub(super) fn in_scenario(field: &str) -> &str {
    match field {
        "memory" => "memory_gib",
        "timeout" => "time_limit",
        other => other,
    }
}
