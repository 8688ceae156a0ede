//! What a step leaves behind in the store, worked out from the World and the outcome alone: the same step
//! gives the same rows, so that their hash tells whether a replay went the same way.

use std::collections::BTreeSet;

use atelier_domain::compute::JobId;
use atelier_domain::compute::cluster::ClusterPhase;
use atelier_domain::compute::job::{Job, JobState, Target, Verdict};
use atelier_domain::compute::node::{Holder, Node, NodeState};
use atelier_domain::history::Topic;
use atelier_domain::time::{Now, Timestamp};
use atelier_domain::world::{About, Decision, EndedJob, EndedRest, Key, Outcome, Record, ScheduleTarget, World};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::many::{Cell, Many, Statement, in_statements};
use crate::store::Kind;

/// The rows of one step.
#[derive(Debug)]
pub(crate) struct Trace {
    deletes: Vec<(&'static str, Vec<Cell>)>,
    small_deletes: Vec<[Cell; 2]>,
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
        let add = |hash: &mut Sha256, cell: &Cell| match cell {
            Cell::Text(text) => {
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text.as_bytes());
            }
            Cell::Number(number) => hash.update(number.to_le_bytes()),
        };
        let Rows { deletes, small_deletes, .. } = &rows;
        deletes.iter().flat_map(|(_, ids)| ids).for_each(|cell| add(&mut hash, cell));
        small_deletes.iter().flatten().for_each(|cell| add(&mut hash, cell));
        rows.tables().into_iter().flat_map(Many::cells).for_each(|cell| add(&mut hash, cell));
        add(&mut hash, &Cell::Text(json(&outcome.effects)));
        add(&mut hash, &Cell::Text(json(&outcome.replies)));
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
    deletes: Vec<(&'static str, Vec<Cell>)>,
    small_deletes: Vec<[Cell; 2]>,
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
            small: Many::new(
                "insert into engine_records (kind, id, body) values",
                3,
                "on conflict (kind, id) do update set body = excluded.body",
            ),
            instances: Many::new(
                "insert into instances (id, workspace_id, name, owner_id, size, state, node_id, created_at, body) \
                 values",
                9,
                "on conflict (id) do update set size = excluded.size, state = excluded.state, node_id = \
                 excluded.node_id, \
                 body = excluded.body",
            ),
            clusters: Many::new(
                "insert into clusters (id, workspace_id, name, owner_id, size, state, created_at, body) values",
                8,
                "on conflict (id) do update set state = excluded.state, body = excluded.body",
            ),
            nodes: Many::new(
                "insert into nodes (id, workspace_id, holder_kind, holder_id, size, site, state, created_at, body) \
                 values",
                9,
                "on conflict (id) do update set state = excluded.state, body = excluded.body",
            ),
            jobs: Many::new(
                "insert into jobs (id, workspace_id, owner_id, target_kind, target_id, state, priority, nodes, \
                 submitted_at, ended_at, verdict, payload_id, body) values",
                13,
                "on conflict (id) do update set state = excluded.state, priority = excluded.priority, \
                 ended_at = excluded.ended_at, verdict = excluded.verdict, body = excluded.body",
            ),
            ranges: Many::new(
                "insert into job_ranges (first_id, last_id, payload_id, workspace_id, owner_id, target_kind, \
                 target_id, \
                 state, ended_at, verdict, body) values",
                11,
                "",
            ),
            schedules: Many::new(
                "insert into schedules (id, workspace_id, target_kind, target_id, is_enabled, body) values",
                6,
                "on conflict (id) do update set is_enabled = excluded.is_enabled, body = excluded.body",
            ),
            decisions: Many::new(
                "insert into decisions (revision, ordinal, workspace_id, at, mono, about_kind, about_id, code, reason, \
                 sentence) values",
                10,
                "",
            ),
            ledger: Many::new(
                "insert into ledger (workspace_id, hour, holder, job_id, user_id, size, millis, cost) values",
                8,
                "on conflict (workspace_id, hour, holder, job_id, user_id, size) do update set \
                 millis = ledger.millis + excluded.millis, cost = ledger.cost + excluded.cost",
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
                    instance.id.0.into(),
                    instance.workspace.as_str().into(),
                    instance.name.as_str().into(),
                    instance.owner.as_str().into(),
                    instance.size.as_str().into(),
                    instance.phase.state(false).key().into(),
                    instance.node.map_or(0, |node| node.0).into(),
                    instance.created.0.into(),
                    json(instance).into(),
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
                    cluster.id.0.into(),
                    cluster.workspace.as_str().into(),
                    cluster.name.as_str().into(),
                    cluster.owner.as_str().into(),
                    cluster.size.as_str().into(),
                    state.into(),
                    cluster.created.0.into(),
                    json(cluster).into(),
                ]);
            }
            Key::Schedule(_) => {
                let Some(Record::Schedule(entry)) = world.record(key) else { return };
                let (kind, target) = match entry.target {
                    ScheduleTarget::Instance(id) => ("instance", id.0),
                    ScheduleTarget::Cluster(id) => ("cluster", id.0),
                };
                self.schedules.push([
                    entry.id.0.into(),
                    entry.workspace.as_str().into(),
                    kind.into(),
                    target.into(),
                    i64::from(entry.schedule.is_enabled).into(),
                    json(&entry).into(),
                ]);
            }
            Key::Array(first) => {
                let Some(array) = world.array(*first) else { return };
                for stretch in &array.rest {
                    self.put_rest(&array.job(stretch.from), stretch.count, None);
                }
                self.remove_ranges(*first);
                let [kind, id] = small_id(key);
                self.small.push([kind, id, json(&Record::Array(Box::new(array.clone()))).into()]);
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
                self.small.push([kind, id, json(&record).into()]);
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
            node.id.0.into(),
            node.workspace.as_str().into(),
            kind.into(),
            holder.into(),
            node.size.as_str().into(),
            node.site.as_str().into(),
            state.into(),
            node.created.0.into(),
            json(node).into(),
        ]);
    }

    /// Jobs that have no rows of their own.
    fn put_rest(&mut self, first: &Job, count: u32, ended: Option<&EndedRest>) {
        let [kind, target] = target_cells(&first.spec.target);
        let state = ended.map_or_else(|| first.state(), |ended| JobState::of(&ended.verdict));
        self.ranges.push([
            first.id.0.into(),
            (first.id.0 + u64::from(count.saturating_sub(1))).into(),
            first.payload().0.into(),
            first.workspace.as_str().into(),
            first.owner.as_str().into(),
            kind,
            target,
            state.key().into(),
            ended.map_or(0, |ended| ended.at.0.max(1)).into(),
            ended.map_or_else(String::new, |ended| json(&ended.verdict)).into(),
            json(first).into(),
        ]);
    }

    /// Those of an array that are not over are written anew each time.
    fn remove_ranges(&mut self, array: JobId) {
        self.deletes[5].1.push(array.0.into());
    }

    fn put_job(&mut self, job: &Job, state: JobState, ended: i64, verdict: &str) {
        let [kind, target] = target_cells(&job.spec.target);
        self.jobs.push([
            job.id.0.into(),
            job.workspace.as_str().into(),
            job.owner.as_str().into(),
            kind,
            target,
            state.key().into(),
            job.spec.priority.key().into(),
            i64::from(job.spec.nodes).into(),
            job.submitted.0.into(),
            ended.into(),
            verdict.into(),
            job.payload().0.into(),
            json(job).into(),
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
        let (kind, id) = match decision.about {
            About::Engine => ("engine", 0),
            About::Instance(id) => ("instance", id.0),
            About::Cluster(id) => ("cluster", id.0),
            About::Node(id) => ("node", id.0),
            About::Job(id) => ("job", id.0),
            About::Schedule(id) => ("schedule", id.0),
            About::Budget => ("budget", 0),
        };
        self.decisions.push([
            revision.into(),
            (ordinal as u64).into(),
            decision.workspace.as_ref().map_or("", |workspace| workspace.as_str()).into(),
            now.wall.0.into(),
            now.mono.0.into(),
            kind.into(),
            id.into(),
            decision.reason.code().into(),
            json(&decision.reason).into(),
            decision.reason.sentence().into(),
        ]);
    }

    fn charge(&mut self, outcome: &Outcome, at: Timestamp) {
        let hour = at.0.div_euclid(3_600_000);
        for (key, charge) in &outcome.ledger {
            let holder = match key.holder {
                Holder::Instance(id) => id.to_string(),
                Holder::Cluster(id) => id.to_string(),
                Holder::Job(id) => id.to_string(),
            };
            self.ledger.push([
                key.workspace.as_str().into(),
                hour.into(),
                holder.into(),
                key.job.map_or(0, |job| job.0).into(),
                key.user.as_str().into(),
                key.size.as_str().into(),
                charge.millis.into(),
                charge.cost.into(),
            ]);
        }
    }
}

/// Where a job runs, as rows say it.
fn target_cells(target: &Target) -> [Cell; 2] {
    let (kind, id) = match target {
        Target::Cluster(id) => ("cluster", id.0.to_string()),
        Target::Instance(id) => ("instance", id.0.to_string()),
        Target::Serverless(size) => ("serverless", size.to_string()),
    };
    [kind.into(), id.into()]
}

/// Where a small record is kept.
fn small_id(key: &Key) -> [Cell; 2] {
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
