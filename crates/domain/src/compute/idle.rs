//! Idleness of instances: which signals count, and when silence is long enough.
//!
//! Idle time is *reported* time: an agent says for a stretch of time which kinds of activity there were. A
//! stretch that nobody reported (agent away, server down) is not silence and counts for nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::text::Problem;
use crate::time::{Mono, Span};

/// The shortest idle time.
pub const MIN_WINDOW: Span = Span::minutes(15);
/// The longest: 3 days.
pub const MAX_WINDOW: Span = Span::hours(72);
/// How long before the stop people are warned.
pub const WARNING: Span = Span::minutes(5);
/// The longest extension at once.
pub const MAX_EXTENSION: Span = Span::hours(24);
/// A report may not cover more than this at once: what is longer was not watched closely.
pub const MAX_STRETCH: Span = Span::minutes(5);

crate::keyed_enum! {
    /// A kind of activity: a signal that an instance is in use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Source {
        /// A notebook kernel is busy.
        Kernel = "kernel";
        /// Somebody types into a terminal.
        Terminal = "terminal";
        /// Somebody types into an editor.
        Editor = "editor";
        /// Bytes go through an SSH connection.
        Ssh = "ssh";
        Job = "job";
        /// A custom application says that it is in use.
        App = "app";
        /// Processes use the processor.
        Processor = "processor";
        /// Processes use a GPU.
        Gpu = "gpu";
        /// Somebody pressed "keep it running".
        Extension = "extension";
    }
}

/// How a signal is called, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceWords {
    /// The name of its row in *Why is it awake?*: `Notebook kernels`.
    pub name: &'static str,
    /// While it keeps an instance awake: `Kernel busy`.
    pub busy: &'static str,
    /// When it counts, beside its checkbox: `Busy notebook kernels`.
    pub counts_when: &'static str,
    /// After "last activity:": `a busy notebook kernel`.
    pub last: &'static str,
}

const fn words(name: &'static str, busy: &'static str, counts_when: &'static str, last: &'static str) -> SourceWords {
    SourceWords { name, busy, counts_when, last }
}

impl Source {
    /// All the words for it.
    pub const fn words(self) -> SourceWords {
        match self {
            Self::Kernel => words("Notebook kernels", "Kernel busy", "Busy notebook kernels", "a busy notebook kernel"),
            Self::Terminal => words("Terminals", "Terminal in use", "Input or output in a terminal", "a terminal"),
            Self::Editor => words("Typing in VS Code", "Editor in use", "Typing in VS Code", "an editor"),
            Self::Ssh => words("SSH", "SSH in use", "Data over SSH", "an SSH connection"),
            Self::Job => words("Jobs", "Job running", "Running jobs", "a job"),
            Self::App => {
                words("Applications", "Application in use", "Changes made in an application", "an application")
            }
            Self::Processor => words("Processor", "Processor busy", "Processor load", "load on the processor"),
            Self::Gpu => words("GPU", "GPU busy", "GPU load", "load on a GPU"),
            Self::Extension => {
                words("Kept running", "Kept running", "Kept running on request", "somebody who kept it running")
            }
        }
    }

    /// For people, after "last activity:".
    pub const fn label(self) -> &'static str {
        self.words().last
    }

    /// Whether it keeps an instance awake whatever the policy says; the others only where the policy counts
    /// them.
    pub const fn always_counts(self) -> bool {
        matches!(self, Self::Job | Self::Extension)
    }

    /// Whether *Why is it awake?* lists it even if it was never seen.
    pub const fn is_always_shown(self) -> bool {
        matches!(self, Self::Kernel | Self::Terminal | Self::Job | Self::App | Self::Processor)
    }

    /// Whether the server sees it, not the agent: what agents say of it is ignored.
    pub const fn is_seen_by_server(self) -> bool {
        matches!(self, Self::Ssh | Self::Editor | Self::App)
    }
}

/// When an instance stops for lack of activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdlePolicy {
    pub window: Span,
    /// Without any of these. Jobs and extensions always count.
    pub counts: BTreeSet<Source>,
}

impl IdlePolicy {
    pub fn after(window: Span) -> Self {
        Self { window, counts: Source::ALL.into_iter().collect() }
    }

    /// Refuses what is too short or too long.
    pub fn check(&self) -> Result<(), Problem> {
        if self.window < MIN_WINDOW || self.window > MAX_WINDOW {
            let message = format!("Idle time is between {MIN_WINDOW} and {MAX_WINDOW}; this is {}.", self.window);
            return Err(Problem::new("idle", message));
        }
        Ok(())
    }

    /// Whether that kind of activity keeps the instance running.
    pub fn counts(&self, source: Source) -> bool {
        source.always_counts() || self.counts.contains(&source)
    }
}

/// What administrators of a workspace allow and demand of idle shutdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleRules {
    /// What a new instance gets unless its maker says otherwise; none means no idle shutdown.
    pub default: Option<Span>,
    /// The shortest idle time.
    pub min: Span,
    pub max: Span,
    /// Whether every instance must have one.
    pub is_required: bool,
}

impl Default for IdleRules {
    fn default() -> Self {
        Self { default: Some(Span::minutes(60)), min: MIN_WINDOW, max: MAX_WINDOW, is_required: false }
    }
}

impl IdleRules {
    /// Refuses rules that nothing could follow; a problem names its field: `min`, `max`, `default`.
    pub fn check(&self) -> Result<(), Problem> {
        let (min, max) = (self.min, self.max);
        if min < MIN_WINDOW || min > MAX_WINDOW {
            let message = format!("The shortest idle time is between {MIN_WINDOW} and {MAX_WINDOW}; this is {min}.");
            return Err(Problem::new("min", message));
        }
        if max < min || max > MAX_WINDOW {
            let message = format!("The longest idle time is between {min} and {MAX_WINDOW}; this is {max}.");
            return Err(Problem::new("max", message));
        }
        match self.default {
            Some(default) if default < min || default > max => {
                let message = format!("The default is between {min} and {max}; this is {default}.");
                Err(Problem::new("default", message))
            }
            None if self.is_required => {
                let message = "Where idle shutdown is required there must be a default.";
                Err(Problem::new("default", message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Judges what somebody wants for an instance.
    pub fn judge(&self, idle: Option<&IdlePolicy>) -> Result<(), Problem> {
        let (min, max) = (self.min, self.max);
        match idle {
            None if self.is_required => {
                let message = format!("Idle shutdown is required in this workspace: choose between {min} and {max}.");
                Err(Problem::new("idle", message))
            }
            None => Ok(()),
            Some(idle) => {
                idle.check()?;
                if idle.window < min || idle.window > max {
                    let message =
                        format!("Idle time is between {min} and {max} in this workspace; this is {}.", idle.window);
                    return Err(Problem::new("idle", message));
                }
                Ok(())
            }
        }
    }

    /// What an instance must have instead of what it has, if that breaks the rules.
    pub fn amended(&self, idle: Option<&IdlePolicy>) -> Option<IdlePolicy> {
        if self.judge(idle).is_ok() {
            return None;
        }
        match idle {
            Some(idle) => {
                Some(IdlePolicy { window: idle.window.clamp(self.min, self.max), counts: idle.counts.clone() })
            }
            None => Some(IdlePolicy::after(self.default.unwrap_or(self.max))),
        }
    }

    /// The default as a policy.
    pub fn default_policy(&self) -> Option<IdlePolicy> {
        self.default.map(IdlePolicy::after)
    }
}

/// When a kind of activity was last seen: what the stop for lack of it keeps as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub source: Source,
    pub ago: Span,
    /// Whether the instance's policy counts it.
    pub counts: bool,
}

/// What is known of an instance's activity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleWatch {
    /// Reported time without anything that counts, since something did.
    pub quiet: Span,
    /// Up to when activity was reported.
    pub reported: Mono,
    /// What counted last, and when.
    pub last: Option<(Source, Mono)>,
    /// When each kind of activity was last reported, whether it counts or not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<Source, Mono>,
    /// Since when the warning stands.
    pub warned: Option<Mono>,
    /// No stop before, whatever is reported: somebody kept it running.
    pub kept_until: Mono,
}

/// What to do about an instance's idleness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleVerdict {
    Stays,
    /// Tell people when it will stop.
    Warns,
    /// Take the warning back.
    Relaxes,
    Stops,
}

impl IdleWatch {
    /// Starts anew at `now`, as when the instance came up. What somebody kept running is kept.
    pub fn restart(&mut self, now: Mono) {
        *self = Self { reported: now, kept_until: self.kept_until, ..Self::default() };
    }

    /// Counts from `now` on, by another policy. What was seen is not forgotten.
    pub fn recount(&mut self, now: Mono) {
        let (last, seen) = (self.last, std::mem::take(&mut self.seen));
        self.restart(now);
        (self.last, self.seen) = (last, seen);
    }

    /// What was seen when, the latest first.
    pub fn evidence(&self, policy: &IdlePolicy, now: Mono) -> Vec<Evidence> {
        let say = |(source, at): (&Source, &Mono)| Evidence {
            source: *source,
            ago: now.since(*at),
            counts: policy.counts(*source),
        };
        let mut all: Vec<Evidence> = self.seen.iter().map(say).collect();
        all.sort_by_key(|evidence| (evidence.ago, evidence.source));
        all
    }

    /// Takes a report for `stretch` of time up to `now`, and judges.
    pub fn report(&mut self, policy: &IdlePolicy, active: &[Source], stretch: Span, now: Mono) -> IdleVerdict {
        // Never more than has passed since the last report: a stretch is not counted twice.
        let fresh = stretch.min(now.since(self.reported)).min(MAX_STRETCH);
        self.reported = now;
        self.seen.extend(active.iter().map(|source| (*source, now)));
        if let Some(source) = active.iter().find(|source| policy.counts(**source)) {
            return self.active(*source, now);
        }
        self.quiet = self.quiet.plus(fresh);
        self.judge(policy, now)
    }

    /// Something that counts happened.
    pub fn active(&mut self, source: Source, now: Mono) -> IdleVerdict {
        self.quiet = Span::ZERO;
        self.last = Some((source, now));
        self.seen.insert(source, now);
        if self.warned.take().is_some() { IdleVerdict::Relaxes } else { IdleVerdict::Stays }
    }

    /// Somebody keeps it running for so long.
    pub fn extend(&mut self, by: Span, now: Mono) -> IdleVerdict {
        self.kept_until = self.kept_until.max(now.plus(by));
        self.active(Source::Extension, now)
    }

    fn judge(&mut self, policy: &IdlePolicy, now: Mono) -> IdleVerdict {
        if now < self.kept_until {
            return IdleVerdict::Stays;
        }
        match self.warned {
            // The warning stands for its whole time, also if reports came late.
            Some(since) if self.quiet >= policy.window && now.since(since) >= WARNING => IdleVerdict::Stops,
            Some(_) => IdleVerdict::Stays,
            None if self.quiet.plus(WARNING) >= policy.window => {
                self.warned = Some(now);
                IdleVerdict::Warns
            }
            None => IdleVerdict::Stays,
        }
    }

    /// How long until it stops if nothing counts from now on.
    pub fn left(&self, policy: &IdlePolicy, now: Mono) -> Span {
        // Nothing was reported since, which counts as nothing happening here, but not for ever.
        let unreported = now.since(self.reported).min(MAX_STRETCH);
        let by_quiet = policy.window.minus(self.quiet).minus(unreported);
        // Only after it people are warned.
        let by_hold = if self.kept_until > now { self.kept_until.since(now).plus(WARNING) } else { Span::ZERO };
        let by_warning = self.warned.map_or(WARNING, |since| WARNING.minus(now.since(since)));
        by_quiet.max(by_hold).max(by_warning)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Span = Span::minutes(1);

    #[test]
    fn an_hour_of_reported_silence_warns_and_then_stops() {
        let policy = IdlePolicy::after(Span::minutes(60));
        let mut watch = IdleWatch::default();
        let mut seen = Vec::new();
        for minute in 1..=60 {
            let verdict = watch.report(&policy, &[], MINUTE, Mono(minute * 60_000));
            if verdict != IdleVerdict::Stays {
                seen.push((minute, verdict));
            }
        }
        assert_eq!(seen, [(55, IdleVerdict::Warns), (60, IdleVerdict::Stops)]);
    }

    #[test]
    fn missing_reports_are_not_silence() {
        let policy = IdlePolicy::after(Span::minutes(15));
        let mut watch = IdleWatch::default();
        // A report after three days covers one minute, not three days.
        assert_eq!(watch.report(&policy, &[], MINUTE, Mono(259_200_000)), IdleVerdict::Stays);
        assert_eq!(watch.quiet, MINUTE);
        // Nor does an agent that claims to have watched for three days.
        assert_eq!(watch.report(&policy, &[], Span::hours(72), Mono(2 * 259_200_000)), IdleVerdict::Stays);
        assert_eq!(watch.quiet, MINUTE.plus(MAX_STRETCH));
    }

    #[test]
    fn an_extension_holds_and_takes_the_warning_back() {
        let policy = IdlePolicy::after(Span::minutes(15));
        let mut watch = IdleWatch::default();
        let mut now = 0;
        let mut next = |watch: &mut IdleWatch| {
            now += 60_000;
            (watch.report(&policy, &[], MINUTE, Mono(now)), Mono(now))
        };
        let warned = (0..20).map(|_| next(&mut watch)).find(|(verdict, _)| *verdict == IdleVerdict::Warns);
        let (_, at) = warned.expect("a warning comes first");
        assert_eq!(watch.extend(Span::hours(1), at), IdleVerdict::Relaxes);
        for _ in 0..59 {
            assert_eq!(next(&mut watch).0, IdleVerdict::Stays);
        }
        assert_eq!(next(&mut watch).0, IdleVerdict::Warns, "after the hour the warning comes first again");
    }

    proptest! {
        /// Whatever is reported, duplicated, late or missing: no stop within the window after any signal that
        /// counts.
        #[test]
        fn no_stop_within_the_window_after_any_signal(
            reports in proptest::collection::vec(
                (0u64..400_000, 0u32..600, proptest::option::weighted(0.05, 0usize..9)),
                1..400,
            ),
        ) {
            let policy = IdlePolicy { window: MIN_WINDOW, counts: [Source::Kernel, Source::Editor].into() };
            let mut watch = IdleWatch::default();
            let (mut now, mut last, mut warned) = (0, 0, None);
            for (gap, stretch, active) in reports {
                now += gap;
                let active: Vec<Source> = active.map(|index| Source::ALL[index]).into_iter().collect();
                let verdict = watch.report(&policy, &active, Span::seconds(stretch), Mono(now));
                if active.iter().any(|source| policy.counts(*source)) {
                    (last, warned) = (now, None);
                    prop_assert!(matches!(verdict, IdleVerdict::Stays | IdleVerdict::Relaxes));
                }
                match verdict {
                    IdleVerdict::Warns => warned = Some(now),
                    IdleVerdict::Stops => {
                        prop_assert!(Span::millis(now - last) >= policy.window);
                        prop_assert!(warned.is_some_and(|at| Span::millis(now - at) >= WARNING));
                        break;
                    }
                    IdleVerdict::Stays | IdleVerdict::Relaxes => {}
                }
            }
        }
    }
}
