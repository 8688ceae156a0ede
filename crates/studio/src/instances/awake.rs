//! Why an instance is awake: each kind of activity, when there was some, and what the policy makes of it.

use std::collections::BTreeMap;

use atelier_domain::Timestamp;
use atelier_domain::compute::idle::{IdlePolicy, IdleWatch, Source};
use atelier_domain::compute::instance::Instance;
use atelier_domain::time::{Mono, Span};
use atelier_protocol::Activity;

/// A kind of activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalRow {
    pub source: Source,
    /// What is known of it: which notebook, how many percent.
    pub detail: String,
    pub is_active: bool,
    /// How long ago there was some; none if there never was.
    pub ago: Option<Span>,
    pub counts: bool,
}

/// What the World keeps of an instance's activity.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub policy: Option<IdlePolicy>,
    /// Whether an administrator's rule made it so.
    pub is_by_policy: bool,
    pub watch: IdleWatch,
    pub jobs: u64,
    pub now: Mono,
}

impl Watched {
    pub fn of(instance: &Instance, jobs: u64, now: Mono) -> Self {
        Self {
            policy: instance.idle.clone(),
            is_by_policy: instance.idle_by_policy,
            watch: instance.watch.clone(),
            jobs,
            now,
        }
    }

    /// What the panel says under the rows.
    pub fn sentence(&self) -> String {
        let Some(policy) = &self.policy else {
            return "It has no idle shutdown: it runs until somebody or a schedule stops it.".into();
        };
        let whose = if self.is_by_policy { ", as an administrator’s rule demands" } else { "" };
        let kept = self.watch.kept_until.since(self.now);
        let rest = if kept > Span::ZERO {
            format!("Somebody keeps it running for another {kept}.")
        } else if self.jobs > 0 {
            "Counting starts when its jobs have ended.".to_owned()
        } else if self.watch.quiet < Span::minutes(1) {
            "Counting has just begun.".to_owned()
        } else {
            format!("There was none for {}; {} are left.", self.watch.quiet, self.watch.left(policy, self.now))
        };
        format!("Idle shutdown after {} without any that counts{whose}. {rest}", policy.window)
    }
}

/// The rows of the panel.
pub fn signals(watched: &Watched, activity: Option<&(Timestamp, Activity)>, now: Timestamp) -> Vec<SignalRow> {
    let told: BTreeMap<Source, (bool, &str)> = activity
        .iter()
        .flat_map(|(_, activity)| &activity.signals)
        .map(|signal| (signal.source, (signal.is_active, &*signal.detail)))
        .collect();
    let told_ago = activity.map(|(at, _)| now.since(*at));
    let is_shown = |source: &Source| {
        source.is_always_shown() || told.contains_key(source) || watched.watch.seen.contains_key(source)
    };
    Source::ALL
        .into_iter()
        .filter(is_shown)
        .map(|source| {
            let (said_active, detail) = told.get(&source).copied().unwrap_or((false, ""));
            let is_active = match source {
                Source::Job => watched.jobs > 0,
                Source::Extension => watched.watch.kept_until > watched.now,
                _ => said_active,
            };
            let seen = watched.watch.seen.get(&source).map(|at| watched.now.since(*at));
            SignalRow {
                source,
                detail: described(source, detail, watched),
                is_active,
                ago: if is_active { Some(told_ago.unwrap_or_default()) } else { seen },
                counts: watched.policy.as_ref().is_none_or(|policy| policy.counts(source)),
            }
        })
        .collect()
}

fn described(source: Source, detail: &str, watched: &Watched) -> String {
    match source {
        Source::Job if watched.jobs == 0 => "None running here".into(),
        Source::Job => format!("{} here", atelier_domain::text::counted(watched.jobs, "runs", "run")),
        Source::Extension => {
            let left = watched.watch.kept_until.since(watched.now);
            if left > Span::ZERO { format!("For another {left}") } else { "Over".into() }
        }
        _ => detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::InstanceId;
    use atelier_protocol::Signal;

    use super::*;

    const NOW: Timestamp = Timestamp(10_000_000);

    fn watched() -> Watched {
        let mut watch = IdleWatch { quiet: Span::minutes(25), reported: Mono(1_800_000), ..IdleWatch::default() };
        watch.seen.insert(Source::Kernel, Mono(600_000));
        watch.seen.insert(Source::Gpu, Mono(60_000));
        let policy = Some(IdlePolicy { window: Span::minutes(60), counts: [Source::Kernel].into() });
        Watched { policy, watch, now: Mono(1_800_000), ..Watched::default() }
    }

    #[test]
    fn each_kind_says_when_it_was_seen_and_whether_it_counts() {
        let signal = Signal { source: Source::Processor, is_active: true, detail: "12 % of a core".into() };
        let activity =
            Activity { instance: InstanceId(1), stretch_ms: 30_000, signals: vec![signal], processes: Vec::new() };
        let rows = signals(&watched(), Some(&(Timestamp(NOW.0 - 8_000), activity)), NOW);
        let of = |source: Source| rows.iter().find(|row| row.source == source).cloned().expect("a row");
        assert_eq!((of(Source::Kernel).ago, of(Source::Kernel).counts), (Some(Span::minutes(20)), true));
        let processor = of(Source::Processor);
        assert!(processor.is_active && !processor.counts && processor.detail == "12 % of a core");
        assert_eq!(processor.ago, Some(Span::seconds(8)));
        assert_eq!(of(Source::Gpu).ago, Some(Span::minutes(29)));
        assert_eq!((of(Source::Terminal).ago, of(Source::Job).detail.as_str()), (None, "None running here"));
        assert!(!rows.iter().any(|row| row.source == Source::Ssh), "what was never seen and is rare is left out");
    }

    #[test]
    fn the_policy_is_said_with_what_is_left() {
        let sentence = watched().sentence();
        assert!(sentence.contains("after 1 h") && sentence.contains("none for 25 min; 35 min are left"), "{sentence}");
        let jobs = Watched { jobs: 1, ..watched() };
        assert!(jobs.sentence().contains("when its jobs have ended"));
        assert!(Watched::default().sentence().contains("no idle shutdown"));
    }
}
