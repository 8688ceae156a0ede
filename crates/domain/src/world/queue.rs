//! Queues: who waits for one compute, and who is next.
//!
//! Everybody has a line of their own jobs. Lines stand in the order of their people's shares, so that "who is
//! next" is the first job of the first line, whatever the number of jobs and people; served by arrival, all
//! shares count the same and the first jobs of the lines decide.
//!
//! A share changes whenever a job starts or ends, and moves its person's lines in every queue. So lines are
//! found by a [`Seat`], which is a number, and not by the id.
//!
//! Jobs of an array that are not made yet stand in their owner's line as well, as a [`Run`]: so many places
//! at equal distances. Whatever is asked of a queue is answered as if all of them were there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, btree_map, btree_set};
use std::iter::Peekable;
use std::ops::Bound;

use crate::compute::array::Array;
use crate::compute::fair_share::QueueOrder;
use crate::compute::job::{Job, JobSpec, Lane, Priority};
use crate::compute::{JobId, Resources};
use crate::id::UserId;

/// A place in a line: by rank, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub rank: i64,
    pub job: JobId,
}

impl Place {
    /// Where a job stands in its line.
    pub fn of(job: &Job) -> Self {
        Self { rank: job.rank(), job: job.id }
    }
}

/// Jobs of an array that are not made yet, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The place of the first.
    first: Place,
    /// How far the rank of each is from that of the one before it.
    step: i64,
    /// How many there are.
    count: u32,
}

impl Run {
    /// The stretches of an array.
    pub(super) fn all(array: &Array) -> impl Iterator<Item = Self> {
        let (rank, step) = array.ranks();
        array.rest.iter().map(move |stretch| {
            let rank = rank.saturating_add(step.saturating_mul(i64::from(stretch.from)));
            Self { first: Place { rank, job: array.id(stretch.from) }, step, count: stretch.count }
        })
    }

    const fn place(&self, index: u32) -> Place {
        let rank = self.first.rank.saturating_add(self.step.saturating_mul(index as i64));
        Place { rank, job: JobId(self.first.job.0 + index as u64) }
    }

    const fn last(&self) -> Place {
        self.place(self.count.saturating_sub(1))
    }

    /// How many of them stand before a place.
    fn below(&self, place: Place) -> u32 {
        if place <= self.first {
            return 0;
        }
        let apart = place.rank.saturating_sub(self.first.rank).max(0);
        let whole = u32::try_from(apart / self.step.max(1)).unwrap_or(u32::MAX).min(self.count);
        // The one at that rank, or right below it, may still stand before.
        whole + u32::from(whole < self.count && self.place(whole) < place)
    }

    fn index_of(&self, place: Place) -> Option<u32> {
        let index = self.below(place);
        (index < self.count && self.place(index) == place).then_some(index)
    }

    /// Without so many of its first ones.
    const fn after(self, index: u32) -> Self {
        Self { first: self.place(index), count: self.count.saturating_sub(index), ..self }
    }
}

/// Where an array or a job stands.
pub(super) struct Standing<'a> {
    group: GroupKey,
    person: &'a UserId,
    spec: &'a JobSpec,
}

impl<'a> Standing<'a> {
    fn of(job: &'a Job) -> Self {
        Self { group: group_of(job), person: job.line(), spec: &job.spec }
    }

    /// Of the jobs of an array that are not made yet.
    pub(super) fn of_rest(array: &'a Array) -> Self {
        Self { group: group(array.lane(), array.spec.priority), person: array.line(), spec: &array.spec }
    }
}

type GroupKey = (Lane, Reverse<Priority>);

/// What was moved over all others stands there whatever its priority.
fn group(lane: Lane, priority: Priority) -> GroupKey {
    (lane, Reverse(if lane == Lane::Line { priority } else { Priority::Medium }))
}

fn group_of(job: &Job) -> GroupKey {
    group(job.lane(), job.spec.priority)
}

/// What the jobs of a line need in all: single-node jobs by what they take, and the nodes of those that need
/// several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) shapes: BTreeMap<Resources, u64>,
    pub(super) gangs: u64,
}

impl Wants {
    fn add(&mut self, spec: &JobSpec, times: u64) {
        if spec.nodes > 1 {
            self.gangs += u64::from(spec.nodes) * times;
        } else {
            *self.shapes.entry(spec.shape).or_default() += times;
        }
    }

    fn remove(&mut self, spec: &JobSpec, times: u64) {
        if spec.nodes > 1 {
            self.gangs = self.gangs.saturating_sub(u64::from(spec.nodes) * times);
        } else if let Some(count) = self.shapes.get_mut(&spec.shape) {
            *count = count.saturating_sub(times);
            if *count == 0 {
                self.shapes.remove(&spec.shape);
            }
        }
    }
}

/// A person's number in one queue, as long as they have a line there. Nothing is ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(u64);

/// A line that can be served. No two have the same first place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: u128,
    first: Place,
    seat: Seat,
}

/// One person's jobs, all of one priority.
#[derive(Clone, Debug, Default)]
struct Line {
    places: BTreeSet<Place>,
    /// Those that are not made yet, by the first of each run.
    runs: BTreeMap<Place, Run>,
    /// The first of all, which is asked for far more often than it changes.
    front: Option<Place>,
    len: usize,
    wants: Wants,
    key: u128,
    /// Left out until something about this person changes.
    is_parked: bool,
}

impl Line {
    fn head(&self, seat: Seat) -> Option<Head> {
        Some(Head { key: self.key, first: self.front?, seat })
    }

    fn first(&self) -> Option<Place> {
        let run = self.runs.first_key_value().map(|(first, _)| *first);
        [self.places.first().copied(), run].into_iter().flatten().min()
    }

    fn last(&self) -> Option<Place> {
        self.runs.values().map(Run::last).chain(self.places.last().copied()).max()
    }

    /// The first of the run in which a place is.
    fn run_with(&self, place: Place) -> Option<Place> {
        let before = self.runs.range(..=place).rev();
        before.filter(|(_, run)| run.index_of(place).is_some()).map(|(first, _)| *first).next()
    }

    fn contains(&self, place: Place) -> bool {
        self.places.contains(&place) || self.run_with(place).is_some()
    }

    /// How many stand before a place.
    fn below(&self, place: Place) -> usize {
        let runs = self.runs.range(..place).map(|(_, run)| run.below(place) as usize);
        self.places.range(..place).count() + runs.sum::<usize>()
    }

    /// Whoever stands right before a place.
    fn before(&self, place: Place) -> Option<Place> {
        let runs = self.runs.range(..place).filter_map(|(_, run)| Some(run.place(run.below(place).checked_sub(1)?)));
        runs.chain(self.places.range(..place).next_back().copied()).max()
    }

    /// All places in order.
    fn iter(&self) -> InOrder<'_> {
        InOrder { places: self.places.range(..).peekable(), runs: self.runs.range(..).peekable(), begun: Vec::new() }
    }

    /// Those after a place.
    fn iter_after(&self, place: Place) -> InOrder<'_> {
        let after = (Bound::Excluded(place), Bound::Unbounded);
        let begun = self.runs.range(..=place).filter_map(|(_, run)| {
            let index = run.below(place) + u32::from(run.index_of(place).is_some());
            (index < run.count).then(|| run.after(index))
        });
        let begun = begun.collect();
        InOrder { places: self.places.range(after).peekable(), runs: self.runs.range(after).peekable(), begun }
    }
}

/// The places of a line, those of runs among them.
struct InOrder<'a> {
    places: Peekable<btree_set::Range<'a, Place>>,
    runs: Peekable<btree_map::Range<'a, Place, Run>>,
    /// Runs of which some are over, hardly ever more than one.
    begun: Vec<Run>,
}

impl Iterator for InOrder<'_> {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        let place = self.places.peek().map(|place| **place);
        let fresh = self.runs.peek().map(|(first, _)| **first);
        let begun = self.begun.iter().enumerate().map(|(index, run)| (run.first, index)).min();
        let next = [place, fresh, begun.map(|(first, _)| first)].into_iter().flatten().min()?;
        if place == Some(next) {
            self.places.next();
        } else if let Some((_, index)) = begun.filter(|(first, _)| *first == next) {
            match self.begun.get_mut(index) {
                Some(run) if run.count > 1 => *run = run.after(1),
                _ => {
                    self.begun.swap_remove(index);
                }
            }
        } else if let Some((_, run)) = self.runs.next()
            && run.count > 1
        {
            self.begun.push(run.after(1));
        }
        Some(next)
    }
}

/// The lines of one lane and one priority.
#[derive(Clone, Debug, Default)]
struct Group {
    lines: BTreeMap<Seat, Line>,
    heads: BTreeSet<Head>,
}

impl Group {
    /// Changes a line, and puts it where it belongs then.
    fn edit(&mut self, seat: Seat, change: impl FnOnce(&mut Line)) {
        let line = self.lines.entry(seat).or_default();
        let (before, was_parked) = (line.head(seat), line.is_parked);
        change(line);
        let (after, is_parked) = (line.head(seat), line.is_parked);
        if after.is_none() {
            self.lines.remove(&seat);
        }
        let (before, after) = (before.filter(|_| !was_parked), after.filter(|_| !is_parked));
        if before != after {
            if let Some(head) = before {
                self.heads.remove(&head);
            }
            self.heads.extend(after);
        }
    }

    /// All jobs of lines that can be served, line by line.
    fn served(&self) -> impl Iterator<Item = JobId> {
        let lines = self.heads.iter().filter_map(|head| self.lines.get(&head.seat));
        lines.flat_map(Line::iter).map(|place| place.job)
    }

    /// The same, after a place in somebody's line.
    fn served_after(&self, seat: Option<Seat>, after: Place) -> impl Iterator<Item = JobId> {
        let line = seat.and_then(|seat| self.lines.get(&seat));
        let rest = line.into_iter().filter(|line| !line.is_parked).flat_map(move |line| line.iter_after(after));
        let head = line.zip(seat).and_then(|(line, seat)| line.head(seat));
        let from = head.map_or(Bound::Unbounded, Bound::Excluded);
        let others = self.heads.range((from, Bound::Unbounded)).filter_map(|head| self.lines.get(&head.seat));
        rest.chain(others.flat_map(Line::iter)).map(|place| place.job)
    }

    /// All lines in order, those that are left out for now among them.
    fn in_order(&self) -> Vec<(Head, &Line)> {
        let mut lines: Vec<_> = self.lines.iter().filter_map(|(seat, line)| Some((line.head(*seat)?, line))).collect();
        lines.sort_by_key(|(head, _)| *head);
        lines
    }
}

/// Who waits for one compute.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    order: QueueOrder,
    /// Everybody who has a line.
    seats: BTreeMap<UserId, Seat>,
    last_seat: u64,
    groups: BTreeMap<GroupKey, Group>,
    len: usize,
}

impl Queue {
    pub(super) fn new(order: QueueOrder) -> Self {
        Self { order, ..Self::default() }
    }

    /// In what order it is served.
    pub const fn order(&self) -> QueueOrder {
        self.order
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Only shares within one priority are compared, and not those of jobs that were moved over all others.
    fn key_in(order: QueueOrder, group: GroupKey, key: u128) -> u128 {
        if order == QueueOrder::FairShare && group.0 == Lane::Line { key } else { 0 }
    }

    pub(super) fn insert(&mut self, job: &Job, key: u128) {
        let place = Place::of(job);
        self.add(&Standing::of(job), key, 1, place, |line| {
            line.places.insert(place);
        });
    }

    /// Jobs that are not made yet.
    pub(super) fn insert_run(&mut self, standing: &Standing<'_>, run: Run, key: u128) {
        self.add(standing, key, run.count, run.first, |line| {
            line.runs.insert(run.first, run);
        });
    }

    fn add(&mut self, at: &Standing<'_>, key: u128, count: u32, first: Place, insert: impl FnOnce(&mut Line)) {
        let key = Self::key_in(self.order, at.group, key);
        let seat = self.seats.get(at.person).copied().unwrap_or_else(|| {
            self.last_seat += 1;
            self.seats.insert(at.person.clone(), Seat(self.last_seat));
            Seat(self.last_seat)
        });
        self.groups.entry(at.group).or_default().edit(seat, |line| {
            line.key = key;
            // The one that was left out may not be the first any more.
            if line.front.is_none_or(|before| first < before) {
                line.is_parked = false;
                line.front = Some(first);
            }
            insert(line);
            line.len += count as usize;
            line.wants.add(at.spec, u64::from(count));
        });
        self.len += count as usize;
    }

    /// Whether the job stood there.
    pub(super) fn remove(&mut self, job: &Job) -> bool {
        let place = Place::of(job);
        self.take(&Standing::of(job), 1, place, |line| line.places.remove(&place))
    }

    /// Whether those stood there.
    pub(super) fn remove_run(&mut self, standing: &Standing<'_>, run: Run) -> bool {
        self.take(standing, run.count, run.first, |line| line.runs.remove(&run.first).is_some())
    }

    fn take(&mut self, at: &Standing<'_>, count: u32, first: Place, remove: impl FnOnce(&mut Line) -> bool) -> bool {
        let Some(seat) = self.seat_of(at.person) else { return false };
        let Some(group) = self.groups.get_mut(&at.group) else { return false };
        if !group.lines.get(&seat).is_some_and(|line| line.contains(first)) {
            return false;
        }
        let mut was_there = false;
        group.edit(seat, |line| {
            was_there = remove(line);
            if was_there {
                if line.front == Some(first) {
                    line.is_parked = false;
                    line.front = line.first();
                }
                line.len -= count as usize;
                line.wants.remove(at.spec, u64::from(count));
            }
        });
        let is_over = !group.lines.contains_key(&seat);
        if group.lines.is_empty() {
            self.groups.remove(&at.group);
        }
        if is_over && !self.groups.values().any(|group| group.lines.contains_key(&seat)) {
            self.seats.remove(at.person);
        }
        self.len -= if was_there { count as usize } else { 0 };
        was_there
    }

    /// A job is made that stood there all along; its place, and everybody's, stays what it was.
    pub(super) fn make(&mut self, job: &Job) {
        let place = Place::of(job);
        let Some(seat) = self.seat_of(job.line()) else { return };
        let Some(group) = self.groups.get_mut(&group_of(job)) else { return };
        let Some(line) = group.lines.get_mut(&seat) else { return };
        let Some(run) = line.run_with(place).and_then(|first| line.runs.remove(&first)) else { return };
        let Some(index) = run.index_of(place) else { return };
        for part in [Run { count: index, ..run }, run.after(index + 1)] {
            if part.count > 0 {
                line.runs.insert(part.first, part);
            }
        }
        line.places.insert(place);
    }

    /// Under which number somebody's lines are found, if they have one here.
    pub(super) fn seat_of(&self, person: &UserId) -> Option<Seat> {
        self.seats.get(person).copied()
    }

    /// Somebody has used more or less of their share, or may start again what they could not: their lines
    /// move.
    pub(super) fn rekey(&mut self, seat: Seat, key: u128, unparks: bool) {
        let order = self.order;
        for (name, group) in &mut self.groups {
            let key = Self::key_in(order, *name, key);
            let moves = |line: &Line| line.key != key || (unparks && line.is_parked);
            if group.lines.get(&seat).is_some_and(moves) {
                group.edit(seat, |line| {
                    line.key = key;
                    line.is_parked &= !unparks;
                });
            }
        }
    }

    /// Everybody's lines may be served again.
    pub(super) fn unpark_all(&mut self) {
        for group in self.groups.values_mut() {
            let parked = group.lines.iter().filter(|(_, line)| line.is_parked).map(|(seat, _)| *seat);
            for seat in parked.collect::<Vec<_>>() {
                group.edit(seat, |line| line.is_parked = false);
            }
        }
    }

    /// Leaves the line of a job out until something about its person changes.
    pub(crate) fn park(&mut self, job: &Job) {
        if let (Some(seat), Some(group)) = (self.seat_of(job.line()), self.groups.get_mut(&group_of(job))) {
            group.edit(seat, |line| line.is_parked = true);
        }
    }

    /// Another order from now on.
    pub(super) fn reorder(&mut self, order: QueueOrder, key_of: impl Fn(&UserId) -> u128) {
        self.order = order;
        for (name, group) in &mut self.groups {
            for (person, seat) in &self.seats {
                if group.lines.contains_key(seat) {
                    let key = Self::key_in(order, *name, key_of(person));
                    group.edit(*seat, |line| line.key = key);
                }
            }
        }
    }

    pub fn first(&self) -> Option<JobId> {
        self.heads().next()
    }

    /// The first of each line that can be served, in order.
    pub fn heads(&self) -> impl Iterator<Item = JobId> {
        self.groups.values().flat_map(|group| &group.heads).map(|head| head.first.job)
    }

    /// The first of those that wait, in the order in which they would be served if nothing else changed:
    /// where shares count, people take turns.
    pub fn in_order(&self, most: usize) -> Vec<JobId> {
        let mut first = Vec::with_capacity(self.len.min(most));
        for (key, group) in &self.groups {
            let left = most - first.len();
            if self.takes_turns(*key) {
                let lines = group.in_order();
                let mut lines: Vec<_> = lines.into_iter().map(|(_, line)| line.iter().take(left)).collect();
                while !lines.is_empty() && first.len() < most {
                    lines.retain_mut(|line| line.next().map(|place| first.push(place.job)).is_some());
                }
                first.truncate(most);
            } else {
                let lines = group.lines.values();
                let mut places: Vec<Place> = lines.flat_map(|line| line.iter().take(left)).collect();
                places.sort_unstable();
                first.extend(places.into_iter().take(left).map(|place| place.job));
            }
        }
        first
    }

    fn takes_turns(&self, group: GroupKey) -> bool {
        self.order == QueueOrder::FairShare && group.0 == Lane::Line
    }

    /// A job's place in that order, from 1.
    pub fn position(&self, job: &Job) -> Option<u64> {
        let (key, place) = (group_of(job), Place::of(job));
        let (group, seat) = (self.groups.get(&key)?, self.seat_of(job.line())?);
        let own = group.lines.get(&seat).filter(|line| line.contains(place))?;
        let before = self.groups.range(..key).flat_map(|(_, group)| group.lines.values());
        let before: usize = before.map(|line| line.len).sum();
        let within: usize = if self.takes_turns(key) {
            let turn = own.below(place);
            let head = own.head(seat)?;
            let turns = |(other, line): (&Seat, &Line)| {
                let is_before = line.head(*other).is_some_and(|other| other < head);
                line.len.min(turn + usize::from(is_before))
            };
            turn + group.lines.iter().filter(|(other, _)| **other != seat).map(turns).sum::<usize>()
        } else {
            group.lines.values().map(|line| line.below(place)).sum()
        };
        Some((before + within) as u64 + 1)
    }

    /// How many people have a job that goes before this one's line.
    pub fn people_before(&self, job: &Job) -> u64 {
        let (key, seat) = (group_of(job), self.seat_of(job.line()));
        let mut before: BTreeSet<Seat> =
            self.groups.range(..key).flat_map(|(_, group)| group.lines.keys().copied()).collect();
        if let (Some(group), Some(seat)) = (self.groups.get(&key), seat)
            && let Some(head) = group.lines.get(&seat).and_then(|line| line.head(seat))
        {
            let lines = group.lines.iter().filter(|(other, line)| line.head(**other).is_some_and(|other| other < head));
            before.extend(lines.map(|(other, _)| *other));
        }
        before.iter().filter(|other| Some(**other) != seat).count() as u64
    }

    /// Jobs that might start before the first one: the next of everybody, and then all the others, from where
    /// the last look stopped. Says too where this one stopped, if not at the end.
    pub(crate) fn candidates(&self, from: Option<&Job>, most: usize) -> (Vec<JobId>, Option<JobId>) {
        if self.len <= most {
            return (self.groups.values().flat_map(Group::served).collect(), None);
        }
        let mut found: Vec<JobId> = self.heads().skip(1).take(most / 2).collect();
        let before = found.len();
        match from.and_then(|from| Some((group_of(from), self.groups.get(&group_of(from))?, from))) {
            Some((key, group, from)) => {
                let later = self.groups.range((Bound::Excluded(key), Bound::Unbounded));
                let later = later.flat_map(|(_, group)| group.served());
                let after = group.served_after(self.seat_of(from.line()), Place::of(from));
                found.extend(after.chain(later).take(most - before));
            }
            None => found.extend(self.groups.values().flat_map(Group::served).take(most - before)),
        }
        let is_cut = found.len() == most;
        let last = found.last().copied().filter(|_| is_cut);
        (found, last)
    }

    /// What somebody's lines need.
    pub(super) fn wants_of(&self, person: &UserId) -> impl Iterator<Item = &Wants> {
        self.lines_of(person).map(|line| &line.wants)
    }

    fn lines_of(&self, person: &UserId) -> impl Iterator<Item = &Line> {
        let seat = self.seat_of(person);
        self.groups.values().filter_map(move |group| group.lines.get(&seat?))
    }

    /// Somebody's jobs, in order.
    pub fn jobs_of(&self, person: &UserId) -> impl Iterator<Item = JobId> {
        self.lines_of(person).flat_map(Line::iter).map(|place| place.job)
    }

    /// The place right before a job in its line, or where it would stand.
    pub fn before(&self, job: &Job) -> Option<Place> {
        let line = self.groups.get(&group_of(job))?.lines.get(&self.seat_of(job.line())?)?;
        line.before(Place::of(job))
    }

    /// The first and the last place of somebody's line.
    pub fn ends_of(&self, lane: Lane, priority: Priority, person: &UserId) -> Option<(Place, Place)> {
        let line = self.groups.get(&(lane, Reverse(priority)))?.lines.get(&self.seat_of(person)?)?;
        Some((line.front?, line.last()?))
    }

    /// The first and the last place of all that were moved over, or behind, all others.
    pub fn ends_of_lane(&self, lane: Lane) -> Option<(Place, Place)> {
        let group = self.groups.get(&(lane, Reverse(Priority::Medium)))?;
        let first = group.lines.values().filter_map(|line| line.front).min()?;
        let last = group.lines.values().filter_map(Line::last).max()?;
        Some((first, last))
    }

    /// Whether somebody else waits too.
    pub fn has_others(&self, person: &UserId) -> bool {
        self.seats.len() > usize::from(self.seats.contains_key(person))
    }

    pub fn people(&self) -> impl ExactSizeIterator<Item = &UserId> {
        self.seats.keys()
    }

    /// What the audit compares: every line with its key and its jobs.
    pub(super) fn dump(&self) -> Vec<DumpedLine> {
        let lines = |(key, group): (&GroupKey, &Group)| {
            let lines = self.seats.iter().filter_map(|(person, seat)| Some((person, group.lines.get(seat)?)));
            let key = *key;
            let dump = move |(person, line): (&UserId, &Line)| {
                let places: Vec<Place> = line.places.iter().copied().collect();
                (key, person.clone(), line.key, places, line.runs.values().copied().collect())
            };
            lines.map(dump).collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(lines).collect()
    }

    /// Whether the lines that can be served are those that there are, each under its person's seat.
    pub(super) fn is_sound(&self) -> bool {
        let is_sound = |group: &Group| {
            let served: BTreeSet<Head> = group
                .lines
                .iter()
                .filter(|(_, line)| !line.is_parked)
                .filter_map(|(seat, line)| line.head(*seat))
                .collect();
            let is_counted = |line: &Line| {
                line.places.len() + line.runs.values().map(|run| run.count as usize).sum::<usize>() == line.len
                    && line.front == line.first()
            };
            served == group.heads && group.lines.values().all(is_counted)
        };
        let lines = || self.groups.values().flat_map(|group| &group.lines);
        let len: usize = lines().map(|(_, line)| line.len).sum();
        let taken: BTreeSet<Seat> = lines().map(|(seat, _)| *seat).collect();
        let seats: BTreeSet<Seat> = self.seats.values().copied().collect();
        let is_seated = taken == seats && seats.len() == self.seats.len();
        is_seated && len == self.len && self.groups.values().all(is_sound)
    }
}

/// One line, for the audit.
pub(super) type DumpedLine = (GroupKey, UserId, u128, Vec<Place>, Vec<Run>);

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rank: i64, job: u64) -> Place {
        Place { rank, job: JobId(job) }
    }

    /// Runs between, before and among single places: what a line answers is what the places one by one would.
    #[test]
    fn a_line_with_runs_is_the_line_of_their_places() {
        let mut line = Line::default();
        line.places.extend([place(5, 1), place(22, 40), place(31, 90), place(90, 2)]);
        for run in [
            Run { first: place(20, 10), step: 1, count: 5 },
            Run { first: place(10, 50), step: 10, count: 6 },
            Run { first: place(90, 3), step: 7, count: 1 },
        ] {
            line.runs.insert(run.first, run);
        }
        let mut all: Vec<Place> = line.places.iter().copied().collect();
        all.extend(line.runs.values().flat_map(|run| (0..run.count).map(|index| run.place(index)).collect::<Vec<_>>()));
        all.sort_unstable();
        assert_eq!(line.iter().collect::<Vec<_>>(), all);
        assert_eq!((line.first(), line.last()), (all.first().copied(), all.last().copied()));
        for rank in 0..100 {
            for job in [0, 1, 10, 12, 40, 51, 53, 99] {
                let at = place(rank, job);
                let below = all.iter().filter(|other| **other < at).count();
                assert_eq!((line.below(at), line.contains(at)), (below, all.contains(&at)), "{at:?}");
                assert_eq!(line.before(at), below.checked_sub(1).map(|index| all[index]), "{at:?}");
                let after: Vec<Place> = all.iter().copied().filter(|other| *other > at).collect();
                assert_eq!(line.iter_after(at).collect::<Vec<_>>(), after, "{at:?}");
            }
        }
    }
}
