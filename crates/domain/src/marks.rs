//! High-water marks: how far an installation has counted, kept beside its database as well.
//!
//! A database that is restored from a backup has forgotten the newest ids and would give them out again, to
//! things whose files are still on disk. So the data directory remembers two sets of numbers: up to where ids
//! are *reserved* (none above is ever in use) and what the database was last *seen* to have given out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::compute::{ClusterId, InstanceId, JobId, NodeId, ScheduleId};
use crate::text::and_list;

/// How far each kind was counted: the last number given out, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    pub instances: u64,
    pub clusters: u64,
    pub nodes: u64,
    pub jobs: u64,
    pub schedules: u64,
    /// The system's users that people run as.
    pub users: u64,
    /// Changes that people can see.
    pub revision: u64,
    /// Starts of the engine.
    pub epoch: u64,
}

/// One kind of number: what it is called, and how many are reserved at once (0 for what isn't reserved).
type Kind = (&'static str, u64);

/// In the order of [`Marks::all`].
const KINDS: [Kind; 8] = [
    ("instances", 64),
    ("clusters", 64),
    ("nodes", 1_024),
    ("jobs", 1_024),
    ("schedules", 64),
    ("users", 64),
    ("revision", 0),
    ("epoch", 0),
];

impl Marks {
    const fn all(&self) -> [u64; 8] {
        let Self { instances, clusters, nodes, jobs, schedules, users, revision, epoch } = *self;
        [instances, clusters, nodes, jobs, schedules, users, revision, epoch]
    }

    const fn of([instances, clusters, nodes, jobs, schedules, users, revision, epoch]: [u64; 8]) -> Self {
        Self { instances, clusters, nodes, jobs, schedules, users, revision, epoch }
    }

    /// The higher of each number.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        let mut all = self.all();
        for (one, other) in all.iter_mut().zip(other.all()) {
            *one = (*one).max(other);
        }
        Self::of(all)
    }

    /// Whether no number is above the other's.
    pub fn is_within(&self, other: &Self) -> bool {
        self.all().iter().zip(other.all()).all(|(one, other)| *one <= other)
    }

    /// What has to be reserved before `self` may be used, if these are reserved: nothing while all ids fit,
    /// else whole blocks above what is used.
    pub fn next_block(&self, reserved: &Self) -> Option<Self> {
        let fits = self.each(reserved).all(|(used, reserved, block)| block == 0 || used <= reserved);
        (!fits).then(|| self.with_blocks(reserved))
    }

    /// What is worth reserving ahead of time: blocks for every kind of which less than half a block is left.
    pub fn block_ahead(&self, reserved: &Self) -> Option<Self> {
        let is_short = self.each(reserved).any(|(used, reserved, block)| reserved.saturating_sub(used) < block / 2);
        is_short.then(|| self.with_blocks(reserved))
    }

    fn each(&self, reserved: &Self) -> impl Iterator<Item = (u64, u64, u64)> {
        let pairs = self.all().into_iter().zip(reserved.all()).zip(KINDS);
        pairs.map(|((used, reserved), (_, block))| (used, reserved, block))
    }

    fn with_blocks(&self, reserved: &Self) -> Self {
        let mut all = reserved.all();
        for (next, (used, reserved, block)) in all.iter_mut().zip(self.each(reserved)) {
            if reserved.saturating_sub(used) < block / 2 || used > reserved {
                *next = used.saturating_add(block);
            }
        }
        Self::of(all)
    }
}

/// What the data directory remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMarks {
    /// Whose data this is.
    pub installation: String,
    /// No id above these was ever given out.
    pub reserved: Marks,
    /// The database had at least these.
    pub seen: Marks,
}

/// How a database fits the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It's the one that was used last.
    Current,
    /// The directory remembers nothing: a new one, or one of an older version.
    Adopted,
    /// It's of another installation.
    Foreign { kept: String },
    /// It's older than the data.
    Behind(Vec<Lag>),
}

/// One number that a database lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    pub what: &'static str,
    /// Where the database ends.
    pub database: u64,
    /// How far was counted.
    pub known: u64,
}

impl Fit {
    /// Compares a database with what its data directory remembers and with the highest numbers found on disk.
    pub fn of(installation: &str, database: &Marks, kept: Option<&KeptMarks>, found: &Marks) -> Self {
        if let Some(kept) = kept.filter(|kept| kept.installation != installation) {
            return Self::Foreign { kept: kept.installation.clone() };
        }
        let known = kept.map_or(*found, |kept| kept.seen.max(found));
        if !known.is_within(database) {
            let pairs = database.all().into_iter().zip(known.all()).zip(KINDS);
            let lags = pairs.filter(|((database, known), _)| known > database);
            return Self::Behind(lags.map(|((database, known), (what, _))| Lag { what, database, known }).collect());
        }
        if kept.is_some() { Self::Current } else { Self::Adopted }
    }
}

/// What a database lacks, in words: "job-5 (the data has job-12) and node-1 (node-4)".
pub fn lags_said(lags: &[Lag]) -> String {
    let named = |what: &str, number: u64| match what {
        "instances" => InstanceId(number).to_string(),
        "clusters" => ClusterId(number).to_string(),
        "nodes" => NodeId(number).to_string(),
        "jobs" => JobId(number).to_string(),
        "schedules" => ScheduleId(number).to_string(),
        "users" => format!("user {number}"),
        other => format!("{other} {number}"),
    };
    let said = lags.iter().map(|lag| match lag.database {
        0 => format!("{} (the database has none)", named(lag.what, lag.known)),
        database => format!("{} (the database ends at {})", named(lag.what, lag.known), named(lag.what, database)),
    });
    and_list(&said.collect::<Vec<_>>())
}

/// Above which numbers an installation goes on after it took an older database.
#[must_use]
pub fn restart_above(database: &Marks, kept: Option<&KeptMarks>, found: &Marks) -> Marks {
    let known = database.max(found);
    kept.map_or(known, |kept| known.max(&kept.reserved).max(&kept.seen))
}

/// What a database knows, to tell what belongs to it from what's left of a time it has forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownThings {
    /// The last numbers given out.
    pub given: Marks,
    /// Instances that exist, with the number of their newest layer.
    pub instances: BTreeMap<InstanceId, u32>,
    /// The newest attempt of each job that was looked up.
    pub attempts: BTreeMap<JobId, u32>,
    /// Accounts.
    pub people: BTreeSet<String>,
    /// The names of people's own folders.
    pub handles: BTreeSet<String>,
}

impl KnownThings {
    /// Whether a folder of a node is one that the database made.
    pub const fn has_node(&self, node: NodeId) -> bool {
        node.0 <= self.given.nodes
    }

    /// Whether a layer belongs to an instance that exists.
    pub fn has_layer(&self, instance: InstanceId, layer: u32) -> bool {
        self.instances.get(&instance).is_some_and(|newest| layer <= *newest)
    }

    /// Whether that attempt of a job was begun.
    pub fn has_attempt(&self, job: JobId, attempt: u32) -> bool {
        job.0 <= self.given.jobs && self.attempts.get(&job).is_some_and(|newest| attempt <= *newest)
    }

    /// Whether a log was written by what the database knows.
    pub fn has_log(&self, job: JobId, attempt: u32, node: NodeId) -> bool {
        self.has_attempt(job, attempt) && self.has_node(node)
    }
}

/// What becomes of the folder of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeFate {
    /// The instance exists.
    Stays,
    /// The instance existed and was deleted.
    Trash,
    /// The database never gave this number out: nothing proves that the folder may go.
    Quarantine,
}

/// Judges the folder of an instance by the numbers that were given out and the instances that exist.
pub fn home_fate(id: InstanceId, given: u64, exists: bool) -> HomeFate {
    match (exists, id.0 != 0 && id.0 <= given) {
        (true, _) => HomeFate::Stays,
        (false, true) => HomeFate::Trash,
        (false, false) => HomeFate::Quarantine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(jobs: u64) -> Marks {
        Marks { jobs, ..Marks::default() }
    }

    fn kept(seen: Marks) -> KeptMarks {
        KeptMarks { installation: "inst-a".into(), reserved: jobs(1_024), seen }
    }

    #[test]
    fn a_database_is_current_adopted_foreign_or_behind() {
        let lag = |what, database, known| Lag { what, database, known };
        let node = |nodes| Marks { nodes, ..Marks::default() };
        let nothing = Marks::default();
        for (case, installation, database, kept, found, expected) in [
            ("new", "inst-a", nothing, None, nothing, Fit::Adopted),
            ("of an older version", "inst-a", jobs(9), None, jobs(9), Fit::Adopted),
            ("of an older version, restored", "inst-a", jobs(9), None, jobs(12), {
                Fit::Behind(vec![lag("jobs", 9, 12)])
            }),
            ("stopped", "inst-a", jobs(9), Some(kept(jobs(9))), jobs(9), Fit::Current),
            ("killed after a commit that was not seen", "inst-a", jobs(9), Some(kept(jobs(7))), jobs(9), Fit::Current),
            // Reserved is not used: a block that was begun says nothing about the database.
            ("killed with a block in reserve", "inst-a", nothing, Some(kept(nothing)), nothing, Fit::Current),
            ("restored", "inst-a", jobs(7), Some(kept(jobs(9))), nothing, Fit::Behind(vec![lag("jobs", 7, 9)])),
            ("restored, and only the disk tells", "inst-a", node(1), Some(kept(node(1))), node(3), {
                Fit::Behind(vec![lag("nodes", 1, 3)])
            }),
            ("another's", "inst-b", jobs(99), Some(kept(jobs(9))), nothing, Fit::Foreign { kept: "inst-a".into() }),
            ("another's without marks", "inst-b", jobs(99), None, nothing, Fit::Adopted),
        ] {
            assert_eq!(Fit::of(installation, &database, kept.as_ref(), &found), expected, "{case}");
        }
    }

    #[test]
    fn a_change_that_is_seen_nowhere_else_still_counts() {
        let seen = Marks { revision: 40, epoch: 3, users: 200_001, ..Marks::default() };
        let older = Marks { revision: 38, epoch: 2, users: 200_000, ..Marks::default() };
        let Fit::Behind(lags) = Fit::of("inst-a", &older, Some(&kept(seen)), &Marks::default()) else {
            panic!("it is behind")
        };
        assert_eq!(
            lags_said(&lags),
            "user 200001 (the database ends at user 200000), revision 40 (the database ends at revision 38) and epoch \
             3 (the database ends at epoch 2)"
        );
    }

    #[test]
    fn blocks_are_reserved_before_their_first_number_and_ahead_of_time() {
        for (case, used, reserved, now, ahead) in [
            ("nothing yet", 1, 0, Some(1_025), Some(1_025)),
            ("room", 1, 1_024, None, None),
            ("the last of a block", 1_024, 1_024, None, Some(2_048)),
            ("half of a block", 512, 1_024, None, None),
            ("more than half", 513, 1_024, None, Some(1_537)),
            ("an array beyond it", 100_000, 1_024, Some(101_024), Some(101_024)),
        ] {
            let used = jobs(used);
            // What isn't about jobs has room.
            let full = Marks { instances: 64, clusters: 64, nodes: 1_024, schedules: 64, users: 64, ..jobs(reserved) };
            let expected = |jobs: Option<u64>| jobs.map(|jobs| Marks { jobs, ..full });
            assert_eq!(used.next_block(&full), expected(now), "{case}: before use");
            assert_eq!(used.block_ahead(&full), expected(ahead), "{case}: ahead");
        }
    }

    #[test]
    fn a_block_always_holds_what_is_used_and_never_shrinks() {
        for used in [0, 1, 511, 512, 513, 1_024, 5_000] {
            for reserved in [0, 1, 1_024, 4_096, 9_999] {
                let (used, reserved) = (jobs(used), jobs(reserved));
                let next = used.next_block(&reserved).unwrap_or(reserved);
                assert!(used.is_within(&next) && reserved.is_within(&next), "{used:?} {reserved:?}");
                assert_eq!(used.next_block(&next), None);
            }
        }
    }

    #[test]
    fn an_accepted_database_goes_on_above_all_that_was_ever_given_out() {
        let kept = KeptMarks { reserved: jobs(2_048), ..kept(Marks { epoch: 7, ..jobs(1_500) }) };
        let database = Marks { epoch: 3, nodes: 4, ..jobs(10) };
        let found = Marks { nodes: 9, ..jobs(0) };
        let floor = restart_above(&database, Some(&kept), &found);
        assert_eq!(floor, Marks { epoch: 7, nodes: 9, ..jobs(2_048) });
        assert_eq!(restart_above(&database, None, &found), Marks { epoch: 3, nodes: 9, ..jobs(10) });
    }

    #[test]
    fn a_home_is_trash_only_if_its_number_was_given_out_and_has_ended() {
        for (id, given, exists, fate) in [
            (3, 7, true, HomeFate::Stays),
            (3, 7, false, HomeFate::Trash),
            (7, 7, false, HomeFate::Trash),
            (8, 7, false, HomeFate::Quarantine),
            (1, 0, false, HomeFate::Quarantine),
            (0, 7, false, HomeFate::Quarantine),
        ] {
            assert_eq!(home_fate(InstanceId(id), given, exists), fate, "{id} of {given}");
        }
    }

    #[test]
    fn what_the_database_has_forgotten_is_unknown() {
        let known = KnownThings {
            given: Marks { nodes: 5, ..jobs(9) },
            instances: BTreeMap::from([(InstanceId(2), 1)]),
            attempts: BTreeMap::from([(JobId(9), 2), (JobId(10), 1)]),
            ..KnownThings::default()
        };
        assert!(known.has_attempt(JobId(9), 2) && known.has_log(JobId(9), 1, NodeId(5)));
        assert!(!known.has_attempt(JobId(9), 3), "an attempt that was forgotten");
        assert!(!known.has_log(JobId(9), 2, NodeId(6)), "a node that was forgotten");
        assert!(!known.has_attempt(JobId(10), 1), "a job above the last number");
        assert!(!known.has_attempt(JobId(4), 1), "a job that never began");
        assert!(known.has_layer(InstanceId(2), 1) && !known.has_layer(InstanceId(2), 2));
        assert!(!known.has_layer(InstanceId(3), 1));
    }
}
