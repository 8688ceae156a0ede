//! What a step leaves behind in the store, worked out from the World and the outcome alone: the same step
//! gives the same rows, so that their hash tells whether a replay went the same way.

use std::collections::BTreeSet;

use atelier_domain::compute::JobId;
use atelier_domain::compute::cluster::ClusterPhase;
use atelier_domain::compute::job::{Job, JobState, Verdict};
use atelier_domain::compute::node::{Holder, Node, NodeState};
use atelier_domain::history::Topic;
use atelier_domain::time::{Now, Timestamp};
use atelier_domain::world::{About, Decision, EndedJob, EndedRest, Key, Outcome, Record, ScheduleTarget, World};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::many::{Many, Statement, in_statements};
use crate::store::Kind;
use crate::store::decisions::about_key;
use crate::store::jobs::target_key;
use crate::store::ledger_name;
use crate::store::sql::Value;

/// The rows of one step.
#[derive(Debug)]
pub(crate) struct Trace {
    deletes: Vec<(&'static str, Vec<Value>)>,
    small_deletes: Vec<[Value; 2]>,
    tables: Vec<Many>,
    /// Which live pages show what changed.
    pub topics: BTreeSet<Topic>,
    /// A hash of everything here and of the effects.
    pub hash: String,
}

impl Trace {
    /// Works the rows out.
    pub fn of(world: &World, outcome: &Outcome, revision: i64, now: Now) -> Self {
        let mut rows = Rows::new();
        let mut topics = BTreeSet::new();
        for key in &outcome.changed {
            topics.extend(topic(key));
            rows.put(world, key);
        }
        for ended in &outcome.ended {
            rows.put_ended(ended);
        }
        for rest in &outcome.ended_rests {
            topics.insert(Topic::Jobs);
            rows.put_rest(&rest.first, rest.count, Some(rest));
        }
        let over: BTreeSet<Key> = outcome.ended.iter().map(|ended| Key::Job(ended.job.id)).collect();
        for key in outcome.gone.iter().filter(|key| !over.contains(*key)) {
            topics.extend(topic(key));
            rows.remove(key);
        }
        if !outcome.ended.is_empty() {
            topics.insert(Topic::Jobs);
        }
        for (ordinal, decision) in outcome.decisions.iter().enumerate() {
            if matches!(decision.about, About::Instance(_) | About::Budget) {
                topics.insert(Topic::Warnings);
            }
            rows.decide(decision, ordinal, revision, now);
        }
        rows.charge(outcome, now.wall);

        let mut hash = Sha256::new();
        let add = |hash: &mut Sha256, cell: &Value| match cell {
            Value::Text(text) => {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
            Value::Number(number) => hash.update(number.to_le_bytes()),
        };
        let Rows { deletes, small_deletes, .. } = &rows;
        deletes.iter().flat_map(|(_, ids)| ids).for_each(|cell| add(&mut hash, cell));
        small_deletes.iter().flatten().for_each(|cell| add(&mut hash, cell));
        rows.tables().into_iter().flat_map(Many::values).for_each(|cell| add(&mut hash, cell));
        add(&mut hash, &Value::Text(json(&outcome.effects)));
        add(&mut hash, &Value::Text(json(&outcome.replies)));
        let hash = atelier_domain::text::hex(&hash.finalize()[..16]);

        let Rows {
            deletes,
            small_deletes,
            small,
            instances,
            clusters,
            nodes,
            jobs,
            ranges,
            schedules,
            decisions,
            ledger,
        } = rows;
        let tables = vec![small, instances, clusters, nodes, jobs, ranges, schedules, decisions, ledger];
        Self { deletes, small_deletes, tables, topics, hash }
    }

    /// The statements that write them. What goes is removed first, so that what comes may have its name.
    pub fn statements<'a>(&'a self, kind: Kind, into: &mut Vec<Statement<'a>>) {
        for (head, ids) in &self.deletes {
            in_statements(kind, head, ids, into);
        }
        for pair in &self.small_deletes {
            let text = match kind {
                Kind::Sqlite => "delete from engine_records where kind = ? and id = ?",
                Kind::Postgres => "delete from engine_records where kind = $1 and id = $2",
            };
            into.push((text.to_owned(), pair.as_slice()));
        }
        for table in &self.tables {
            table.statements(kind, into);
        }
    }
}

/// JSON of what is ours and always has one: every key of a map in it is text.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records have JSON")
}

const fn topic(key: &Key) -> Option<Topic> {
    match key {
        // Counters that move with every new thing; a pause and a resume are told by their history.
        Key::State => None,
        Key::Site(_)
        | Key::Size(_)
        | Key::Limit(_)
        | Key::IdleRules(_)
        | Key::Budget(_)
        | Key::FairShareRules(_)
        | Key::FairShare(..)
        | Key::Unknown(..) => Some(Topic::Engine),
        Key::Instance(_) => Some(Topic::Instances),
        Key::Cluster(_) | Key::Node(_) => Some(Topic::Clusters),
        Key::Job(_) | Key::Array(_) => Some(Topic::Jobs),
        Key::Schedule(_) => Some(Topic::Schedules),
    }
}

struct Rows {
    deletes: Vec<(&'static str, Vec<Value>)>,
    small_deletes: Vec<[Value; 2]>,
    small: Many,
    instances: Many,
    clusters: Many,
    nodes: Many,
    jobs: Many,
    ranges: Many,
    schedules: Many,
    decisions: Many,
    ledger: Many,
}

impl Rows {
    fn new() -> Self {
        Self {
            deletes: [
                "delete from instances where id in ",
                "delete from clusters where id in ",
                "delete from nodes where id in ",
                "delete from jobs where id in ",
                "delete from schedules where id in ",
                // What is over stays.
                "delete from job_ranges where ended_at = 0 and payload_id in ",
            ]
            .map(|head| (head, Vec::new()))
            .into(),
            small_deletes: Vec::new(),
            small: Many::or_update("engine_records", "kind, id", &["body"]),
            instances: Many::or_update("instances", "id", &["size", "state", "node_id", "body"]),
            clusters: Many::or_update("clusters", "id", &["state", "body"]),
            nodes: Many::or_update("nodes", "id", &["state", "body"]),
            jobs: Many::or_update("jobs", "id", &["state", "priority", "ended_at", "verdict", "body"]),
            ranges: Many::new("job_ranges"),
            schedules: Many::or_update("schedules", "id", &["is_enabled", "body"]),
            decisions: Many::new("decisions"),
            ledger: Many::or_update(
                "ledger",
                "workspace_id, hour, holder, job_id, user_id, size",
                &["millis = ledger.millis + excluded.millis", "cost = ledger.cost + excluded.cost"],
            ),
        }
    }

    const fn tables(&self) -> [&Many; 9] {
        [
            &self.small,
            &self.instances,
            &self.clusters,
            &self.nodes,
            &self.jobs,
            &self.ranges,
            &self.schedules,
            &self.decisions,
            &self.ledger,
        ]
    }

    /// A record that is new or other than before.
    fn put(&mut self, world: &World, key: &Key) {
        match key {
            Key::Job(id) => {
                if let Some(job) = world.job(*id) {
                    self.put_job(job, job.state(), 0, "");
                }
            }
            Key::Node(id) => {
                if let Some(node) = world.node(*id) {
                    self.put_node(node);
                }
            }
            Key::Instance(id) => {
                let Some(instance) = world.instance(*id) else { return };
                self.instances.push([
                    ("id", instance.id.0.into()),
                    ("workspace_id", instance.workspace.as_str().into()),
                    ("name", instance.name.as_str().into()),
                    ("owner_id", instance.owner.as_str().into()),
                    ("size", instance.size.as_str().into()),
                    ("state", instance.phase.state(false).key().into()),
                    ("node_id", instance.node.map_or(0, |node| node.0).into()),
                    ("created_at", instance.created.0.into()),
                    ("body", json(instance).into()),
                ]);
            }
            Key::Cluster(id) => {
                let Some(cluster) = world.cluster(*id) else { return };
                let state = match cluster.phase {
                    ClusterPhase::Active => "active",
                    ClusterPhase::Paused { .. } => "paused",
                    ClusterPhase::Deleting { .. } => "deleting",
                };
                self.clusters.push([
                    ("id", cluster.id.0.into()),
                    ("workspace_id", cluster.workspace.as_str().into()),
                    ("name", cluster.name.as_str().into()),
                    ("owner_id", cluster.owner.as_str().into()),
                    ("size", cluster.size.as_str().into()),
                    ("state", state.into()),
                    ("created_at", cluster.created.0.into()),
                    ("body", json(cluster).into()),
                ]);
            }
            Key::Schedule(_) => {
                let Some(Record::Schedule(entry)) = world.record(key) else { return };
                let (kind, target) = match entry.target {
                    ScheduleTarget::Instance(id) => ("instance", id.0),
                    ScheduleTarget::Cluster(id) => ("cluster", id.0),
                };
                self.schedules.push([
                    ("id", entry.id.0.into()),
                    ("workspace_id", entry.workspace.as_str().into()),
                    ("target_kind", kind.into()),
                    ("target_id", target.into()),
                    ("is_enabled", i64::from(entry.schedule.is_enabled).into()),
                    ("body", json(&entry).into()),
                ]);
            }
            Key::Array(first) => {
                let Some(array) = world.array(*first) else { return };
                for stretch in &array.rest {
                    self.put_rest(&array.job(stretch.from), stretch.count, None);
                }
                self.remove_ranges(*first);
                let [kind, id] = small_id(key);
                self.small.push([
                    ("kind", kind),
                    ("id", id),
                    ("body", json(&Record::Array(Box::new(array.clone()))).into()),
                ]);
            }
            Key::State
            | Key::Site(_)
            | Key::Size(_)
            | Key::Limit(_)
            | Key::IdleRules(_)
            | Key::Budget(_)
            | Key::FairShareRules(_)
            | Key::FairShare(..)
            | Key::Unknown(..) => {
                let (Some(record), [kind, id]) = (world.record(key), small_id(key)) else { return };
                self.small.push([("kind", kind), ("id", id), ("body", json(&record).into())]);
            }
        }
    }

    fn put_node(&mut self, node: &Node) {
        let (kind, holder) = match node.holder {
            Holder::Instance(id) => ("instance", id.0),
            Holder::Cluster(id) => ("cluster", id.0),
            Holder::Job(id) => ("job", id.0),
        };
        let state = match node.state(false) {
            NodeState::Preparing => "preparing",
            NodeState::Idle => "ready",
            NodeState::Running => "running",
            NodeState::Leaving => "leaving",
            NodeState::Unusable => "unusable",
            NodeState::Preempted => "preempted",
        };
        self.nodes.push([
            ("id", node.id.0.into()),
            ("workspace_id", node.workspace.as_str().into()),
            ("holder_kind", kind.into()),
            ("holder_id", holder.into()),
            ("size", node.size.as_str().into()),
            ("site", node.site.as_str().into()),
            ("state", state.into()),
            ("created_at", node.created.0.into()),
            ("body", json(node).into()),
        ]);
    }

    /// Jobs that have no rows of their own.
    fn put_rest(&mut self, first: &Job, count: u32, ended: Option<&EndedRest>) {
        let (kind, target) = target_key(&first.spec.target);
        let state = ended.map_or_else(|| first.state(), |ended| JobState::of(&ended.verdict));
        self.ranges.push([
            ("first_id", first.id.0.into()),
            ("last_id", (first.id.0 + u64::from(count.saturating_sub(1))).into()),
            ("payload_id", first.payload().0.into()),
            ("workspace_id", first.workspace.as_str().into()),
            ("owner_id", first.owner.as_str().into()),
            ("target_kind", kind.into()),
            ("target_id", target.into()),
            ("state", state.key().into()),
            ("ended_at", ended.map_or(0, |ended| ended.at.0.max(1)).into()),
            ("verdict", ended.map_or_else(String::new, |ended| json(&ended.verdict)).into()),
            ("body", json(first).into()),
        ]);
    }

    /// Those of an array that are not over are written anew each time.
    fn remove_ranges(&mut self, array: JobId) {
        self.deletes[5].1.push(array.0.into());
    }

    fn put_job(&mut self, job: &Job, state: JobState, ended: i64, verdict: &str) {
        let (kind, target) = target_key(&job.spec.target);
        self.jobs.push([
            ("id", job.id.0.into()),
            ("workspace_id", job.workspace.as_str().into()),
            ("owner_id", job.owner.as_str().into()),
            ("target_kind", kind.into()),
            ("target_id", target.into()),
            ("state", state.key().into()),
            ("priority", job.spec.priority.key().into()),
            ("nodes", i64::from(job.spec.nodes).into()),
            ("submitted_at", job.submitted.0.into()),
            ("ended_at", ended.into()),
            ("verdict", verdict.into()),
            ("payload_id", job.payload().0.into()),
            ("body", json(job).into()),
        ]);
    }

    /// A job that is over keeps its row. A time of 0 would mean that it is not.
    fn put_ended(&mut self, ended: &EndedJob) {
        let verdict: &Verdict = &ended.verdict;
        self.put_job(&ended.job, JobState::of(verdict), ended.at.0.max(1), &json(verdict));
    }

    fn remove(&mut self, key: &Key) {
        let (table, id) = match key {
            Key::Instance(id) => (0, id.0),
            Key::Cluster(id) => (1, id.0),
            Key::Node(id) => (2, id.0),
            Key::Job(id) => (3, id.0),
            Key::Schedule(id) => (4, id.0),
            Key::Array(first) => {
                self.remove_ranges(*first);
                self.small_deletes.push(small_id(key));
                return;
            }
            Key::State
            | Key::Site(_)
            | Key::Size(_)
            | Key::Limit(_)
            | Key::IdleRules(_)
            | Key::Budget(_)
            | Key::FairShareRules(_)
            | Key::FairShare(..)
            | Key::Unknown(..) => {
                self.small_deletes.push(small_id(key));
                return;
            }
        };
        self.deletes[table].1.push(id.into());
    }

    fn decide(&mut self, decision: &Decision, ordinal: usize, revision: i64, now: Now) {
        let (kind, id) = about_key(decision.about);
        self.decisions.push([
            ("revision", revision.into()),
            ("ordinal", (ordinal as u64).into()),
            ("workspace_id", decision.workspace.as_ref().map_or("", |workspace| workspace.as_str()).into()),
            ("at", now.wall.0.into()),
            ("mono", now.mono.0.into()),
            ("about_kind", kind.into()),
            ("about_id", id.into()),
            ("code", decision.reason.code().into()),
            ("reason", json(&decision.reason).into()),
            ("sentence", decision.reason.sentence().into()),
        ]);
    }

    fn charge(&mut self, outcome: &Outcome, at: Timestamp) {
        let hour = at.0.div_euclid(3_600_000);
        for (key, charge) in &outcome.ledger {
            self.ledger.push([
                ("workspace_id", key.workspace.as_str().into()),
                ("hour", hour.into()),
                ("holder", ledger_name(key.holder).into()),
                ("job_id", key.job.map_or(0, |job| job.0).into()),
                ("user_id", key.user.as_str().into()),
                ("size", key.size.as_str().into()),
                ("millis", charge.millis.into()),
                ("cost", charge.cost.into()),
            ]);
        }
    }
}

/// Where a small record is kept.
fn small_id(key: &Key) -> [Value; 2] {
    let (kind, id) = match key {
        Key::Site(name) => ("site", name.to_string()),
        Key::Size(name) => ("size", name.to_string()),
        Key::Limit(limit) => ("limit", json(limit)),
        Key::IdleRules(workspace) => ("idle-rules", workspace.to_string()),
        Key::Budget(budget) => ("budget", json(budget)),
        Key::FairShareRules(workspace) => ("share-rules", workspace.to_string()),
        Key::FairShare(workspace, person) => ("share", json(&(workspace, person))),
        Key::Array(first) => ("array", first.0.to_string()),
        Key::Unknown(site, name) => ("unknown", format!("{site}/{}", name.replace('\0', "\u{fffd}"))),
        _ => ("state", String::new()),
    };
    [kind.into(), id.into()]
}
