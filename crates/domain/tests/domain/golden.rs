//! Golden files: what people review in plain text instead of in code.
//!
//! `UPDATE_GOLDEN=1 cargo test -p atelier-domain --test domain golden::` writes them anew; the
//! difference is then read like code.

use std::fmt::Write as _;

use atelier_domain::access::{Action, Area, Grant, Rights, Role, Whose};
use atelier_domain::account::{AccountState, AccountVerb, Refusal};
use atelier_domain::compute::idle::Source;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::job::{JobState, Priority};
use atelier_domain::compute::verb::{ClusterState, ClusterVerb, Endpoint, InstanceVerb, JobVerb, Noun, Verb};
use atelier_domain::compute::{JobId, NodeId, ScheduleId};
use atelier_domain::history::{Event, Subject};
use atelier_domain::id::UserId;
use atelier_domain::time::Span;

use crate::support::golden;

#[test]
fn the_access_matrix_is_reviewed() {
    let mut text = format!("{:<22}", "action");
    for role in Role::ALL {
        write!(text, "{:<18}", role.key()).expect("writing to a string");
    }
    text.push_str("Azure\n");
    for area in Area::ALL {
        writeln!(text, "\n# {}", area.label()).expect("writing to a string");
        for action in Action::ALL.iter().filter(|action| action.area() == area) {
            write!(text, "{:<22}", action.key()).expect("writing to a string");
            for role in Role::ALL {
                let grant = match role.grant(*action) {
                    Grant::No => "-",
                    Grant::Own => "own",
                    Grant::Any => "any",
                };
                write!(text, "{grant:<18}").expect("writing to a string");
            }
            writeln!(text, "{}", if action.azure().is_empty() { "-" } else { action.azure() })
                .expect("writing to a string");
        }
    }
    golden("access.txt", &text);
}

#[test]
fn every_reason_is_a_sentence() {
    let mut text = String::from("# Denied, for a Reader, on another's things\n");
    for action in Action::ALL {
        if let Err(denied) = Rights::of(&[Role::Reader]).check(*action, Whose::Others) {
            writeln!(text, "{}", denied.sentence()).expect("writing to a string");
        }
    }
    text.push_str("\n# Accounts\n");
    for refusal in
        [Refusal::LastOwner, Refusal::OwnAccount, Refusal::OwnPassword, Refusal::AlreadyDisabled, Refusal::NotDisabled]
    {
        writeln!(text, "{:<26}{refusal}", refusal.code()).expect("writing to a string");
    }
    text.push_str("\n# Verbs by state\n");
    for verb in AccountVerb::ALL {
        let legal: Vec<&str> =
            AccountState::ALL.iter().filter(|s| verb.legal_in().contains(s)).map(|s| s.key()).collect();
        writeln!(text, "{:<16}{}", verb.key(), legal.join(", ")).expect("writing to a string");
    }
    text.push_str("\n# History\n");
    let subject = Subject { id: UserId::new("u1"), name: "Mara Lindqvist".into() };
    let roles = vec![Role::Reader, Role::DataScientist];
    let mut keys = std::collections::BTreeSet::from(["array-changed"]);
    for event in [
        Event::SetUp { workspace: "Perception".into() },
        Event::PersonCreated { roles: roles.clone() },
        Event::RolesChanged { from: vec![], to: roles },
        Event::PersonDisabled { sessions_ended: 2 },
        Event::PersonEnabled,
        Event::PasswordReset { sessions_ended: 1 },
        Event::PasswordChanged { sessions_ended: 0 },
        Event::ProfileChanged,
        Event::SignedIn { address: "192.0.2.7".into() },
        Event::SignedOut,
        Event::SessionsEnded { count: 3 },
        Event::SignInPaused { failures: 5, address: "192.0.2.7".into() },
        Event::TokenCreated { token: "night runs".into(), days: 90 },
        Event::TokenRevoked { token: "night runs".into() },
        Event::SshKeyAdded { key: "laptop".into(), fingerprint: "SHA256:x7f".into() },
        Event::SshKeyRemoved { key: "laptop".into(), fingerprint: "SHA256:x7f".into() },
        Event::SshSwitched { instance: "ines-lab".into(), is_on: true },
        Event::TrustConfirmed,
        Event::InstanceTokensSet { instance: "ines-lab".into(), is_wide: true },
        Event::InstanceTokensSet { instance: "ines-lab".into(), is_wide: false },
        Event::ClusterTokensSet { cluster: "gpu".into(), is_wide: true },
        Event::ClusterTokensSet { cluster: "gpu".into(), is_wide: false },
        Event::SshConnected { instance: "ines-lab".into(), key: "laptop".into(), address: "192.0.2.7".into() },
        Event::SshEnded {
            instance: "ines-lab".into(),
            address: "192.0.2.7".into(),
            lasted: Span::minutes(12),
            received: 4_096,
            sent: 3 << 20,
            why: "SSH was switched off".into(),
        },
        Event::InstanceCreated { instance: "ines-lab".into(), size: "cpu-4".into(), owner: None },
        Event::InstanceCreated {
            instance: "ines-lab".into(),
            size: "cpu-4".into(),
            owner: Some("Mara Lindqvist".into()),
        },
        Event::InstanceStarted { instance: "ines-lab".into() },
        Event::InstanceStopped { instance: "ines-lab".into() },
        Event::InstanceRestarted { instance: "ines-lab".into() },
        Event::InstanceRebuilt { instance: "ines-lab".into() },
        Event::InstanceTagged { instance: "ines-lab".into() },
        Event::InstanceScriptsSet { instance: "ines-lab".into() },
        Event::InstanceScriptsAccepted { instance: "ines-lab".into() },
        Event::InstanceStopPostponed { instance: "ines-lab".into() },
        Event::InstanceStopSkipped { instance: "ines-lab".into() },
        Event::IdleRulesSet { min: Span::minutes(30), max: Span::hours(12), is_required: true },
        Event::InstanceResized { instance: "ines-lab".into(), size: "cpu-4".into() },
        Event::InstanceConfigured { instance: "ines-lab".into() },
        Event::InstanceExtended { instance: "ines-lab".into(), by: Span::hours(2) },
        Event::InstanceDeleted { instance: "ines-lab".into() },
        Event::InstanceShared {
            instance: "ines-lab".into(),
            app: "JupyterLab".into(),
            level: atelier_domain::app_sharing::Level::Use,
            until: Some("2026-03-19 18:00 UTC".into()),
        },
        Event::InstanceShared {
            instance: "ines-lab".into(),
            app: "Terminal".into(),
            level: atelier_domain::app_sharing::Level::Read,
            until: None,
        },
        Event::InstanceTransferred { instance: "ines-lab".into(), from: "Ines Okafor".into(), to: "Mara".into() },
        Event::InstanceUnshared { instance: "ines-lab".into(), app: "JupyterLab".into() },
        Event::InstanceShareEnded { instance: "ines-lab".into(), app: "JupyterLab".into() },
        Event::ClusterCreated { cluster: "gpu-pool".into(), size: "cpu-4".into(), min: 0, max: 8 },
        Event::ClusterTagged { cluster: "gpu-pool".into() },
        Event::ClusterScaled { cluster: "gpu-pool".into(), min: 0, max: 8, idle: Span::seconds(120) },
        Event::ClusterPaused { cluster: "gpu-pool".into() },
        Event::ClusterResumed { cluster: "gpu-pool".into() },
        Event::ClusterDeleted { cluster: "gpu-pool".into(), ends_jobs: true },
        Event::JobCanceled { job: JobId(41) },
        Event::JobPrioritised { job: JobId(41), priority: Priority::High },
        Event::BudgetSet { whose: "the workspace".into(), amount: "€500.00".into(), action: "stop-idle".into() },
        Event::BudgetSet { whose: "ines".into(), amount: "€50.00".into(), action: "warn".into() },
        Event::BudgetSet { whose: "ines".into(), amount: String::new(), action: String::new() },
        Event::ArrayChanged { array: JobId(41), change: "canceled".into() },
        Event::JobHeld { job: JobId(41) },
        Event::JobReleased { job: JobId(41) },
        Event::JobMoved { job: JobId(41), over_all: true },
        Event::JobMoved { job: JobId(41), over_all: false },
        Event::JobEvicted { job: JobId(41) },
        Event::NodeEvicted { node: NodeId(12) },
        Event::FairShareSet { person: "ines".into(), weight: 300 },
        Event::HalfLifeSet { half_life: Span::hours(72) },
        Event::QueuePolicySet { queue: "train-pool".into(), order: "fair-share".into(), backfill: true },
        Event::ScheduleAdded { schedule: ScheduleId(3), target: "ines-lab".into() },
        Event::ScheduleChanged { schedule: ScheduleId(3), target: "ines-lab".into() },
        Event::ScheduleSwitched { schedule: ScheduleId(3), target: "ines-lab".into(), is_enabled: false },
        Event::ScheduleSkipped { schedule: ScheduleId(3), target: "ines-lab".into(), skips: true },
        Event::ScheduleRemoved { schedule: ScheduleId(3), target: "ines-lab".into() },
        Event::LimitSet {
            whose: "the workspace".into(),
            limit: "8 cores of the family general".into(),
            resource: "cores of the family general".into(),
        },
        Event::SizePut { size: "cpu-4".into() },
        Event::SizeRemoved { size: "cpu-4".into() },
        Event::EnginePaused,
        Event::EngineResumed,
        Event::UnknownRemoved { site: "local".into(), name: "atelier-node-9".into() },
        Event::DatabaseRestored { things: 0 },
        Event::DatabaseRestored { things: 3 },
        Event::QuarantineRestored { name: "instance-7".into(), to: "Users/ines/restored/instance-7".into() },
        Event::QuarantineRemoved { name: "instance-7".into() },
        Event::EnvironmentChanged { added: vec!["polars".into(), "numpy<3".into()], removed: vec!["numpy".into()] },
        Event::EnvironmentChanged { added: (1..9).map(|i| format!("p{i}")).collect(), removed: Vec::new() },
        Event::EnvironmentRebuilt,
        Event::AppAdded { instance: "ines-lab".into(), app: "tensorboard".into() },
        Event::AppChanged { instance: "ines-lab".into(), app: "tensorboard".into() },
        Event::AppRemoved { instance: "ines-lab".into(), app: "tensorboard".into() },
        Event::EditorInstalled { version: "4.139.1".into() },
        Event::EnvironmentVersionMade { name: "churn".into(), version: 1, packages: 1 },
        Event::EnvironmentVersionMade { name: "churn".into(), version: 3, packages: 12 },
        Event::EnvironmentBuildAsked { name: "churn".into(), version: 3 },
        Event::EnvironmentDeleted { name: "churn".into(), versions: 3 },
        Event::FilesDeleted { paths: vec!["data/old.csv".into(), "team".into()] },
        Event::FileMoved { from: "data/a.csv".into(), to: "archive/a.csv".into() },
        Event::FilesLimitSet { limit: "20.0 GiB".into() },
        Event::FilesLimitSet { limit: String::new() },
    ] {
        keys.insert(event.key());
        writeln!(text, "{:<28}Ines Okafor {}.", event.key(), event.sentence(Some(&subject)))
            .expect("writing to a string");
    }
    golden("reasons.txt", &text);
    let unknown: Vec<&str> = Verb::ALL.into_iter().filter_map(Verb::event).filter(|key| !keys.contains(key)).collect();
    assert!(unknown.is_empty(), "verbs make events that do not exist: {unknown:?}");
}

#[test]
fn the_table_of_verbs_is_reviewed() {
    let mut text = String::new();
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").expect("writing to a string");
    for (index, noun) in Noun::ALL.into_iter().enumerate() {
        line(format_args!("{}# {}", if index == 0 { "" } else { "\n" }, noun.label()));
        for verb in Verb::ALL.into_iter().filter(|verb| verb.noun() == noun) {
            line(format_args!("\n{}", verb.key()));
            line(format_args!("  {:<10}{}; on its button: {}", "word", verb.word(), verb.label()));
            if !verb.going(true).is_empty() {
                line(format_args!("  {:<10}{}; {}", "going", verb.going(true), verb.going(false)));
            }
            if !verb.done().is_empty() {
                line(format_args!("  {:<10}{}", "done", verb.done()));
            }
            let on_cluster = verb.right_on(Noun::Cluster);
            let of_cluster =
                if on_cluster == verb.right() { String::new() } else { format!("; on clusters {}", on_cluster.key()) };
            line(format_args!("  {:<10}{}{of_cluster}", "right", verb.right().key()));
            let core = verb.as_instance().map(InstanceVerb::key);
            match core.or(verb.as_cluster().map(ClusterVerb::key)).or(verb.as_job().map(JobVerb::key)) {
                Some(key) => line(format_args!("  {:<10}as {key}", "legal")),
                None if noun == Noun::Instance => {
                    let legal = InstanceState::ALL.iter().filter(|state| verb.in_instance(**state).is_offered());
                    let legal: Vec<&str> = legal.map(|state| state.key()).collect();
                    line(format_args!("  {:<10}{}", "legal", legal.join(", ")));
                }
                None => {}
            }
            if let Some(ask) = verb.ask() {
                let flags =
                    [(ask.is_dangerous, "dangerous"), (ask.wants_why, "why"), (ask.is_only_bulk, "only in bulk")];
                let flags: Vec<&str> = flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect();
                line(format_args!("  {:<10}{}, or “{}”", "asks", flags.join(", "), ask.keep));
                if !ask.text.is_empty() {
                    line(format_args!("  {:<10}{}", "", ask.text));
                }
            }
            if verb.is_bulk() {
                line(format_args!("  {:<10}yes", "bulk"));
            }
            if let Some(endpoint) = verb.endpoint() {
                let Endpoint { method, path, status } = endpoint;
                line(format_args!("  {:<10}{method} …{path} ({status})", "rest"));
            }
            if let Some(event) = verb.event() {
                line(format_args!("  {:<10}{event}", "event"));
            }
            if verb.frees() {
                line(format_args!("  {:<10}taken when the disk is full", "frees"));
            }
        }
    }
    golden("verb_table.txt", &text);
}

#[test]
fn the_table_of_verbs_holds_together() {
    for verb in Verb::ALL {
        let name = format!("{verb:?}");
        assert_eq!(Verb::from_key(verb.noun(), verb.key()), Some(verb), "{name}: its key is not the only one");
        assert!(!verb.is_bulk() || verb.ask().is_some(), "{name}: what is done to several asks first");
        assert_eq!(verb.event().is_some(), !verb.done().is_empty(), "{name}: what is told has words");
        assert!(verb.going(true).is_empty() == verb.going(false).is_empty(), "{name}");
        if let Some(endpoint) =
            verb.endpoint().filter(|endpoint| endpoint.method == "POST" && !endpoint.path.is_empty())
        {
            assert_eq!(endpoint.path, format!("/{}", verb.key()), "{name}: an action is named as its key");
        }
        for words in [verb.word(), verb.label()] {
            assert!(words.starts_with(|first: char| first.is_ascii_uppercase()), "{name}: {words}");
        }
    }
    for verb in InstanceVerb::ALL {
        assert_eq!(verb.verb().as_instance(), Some(verb));
        for state in &InstanceState::ALL {
            assert_eq!(verb.why_not(*state).is_none(), verb.verb().in_instance(*state).is_offered());
        }
    }
    for verb in ClusterVerb::ALL {
        assert_eq!(verb.verb().as_cluster(), Some(verb));
        for state in ClusterState::ALL {
            assert_eq!(verb.why_not(state).is_none(), verb.verb().in_cluster(state).is_offered());
        }
    }
    for verb in JobVerb::ALL {
        assert_eq!(verb.verb().as_job(), Some(verb));
        for state in JobState::ALL {
            let is_offered = verb.verb().in_job(state).is_offered();
            // Of the two, the one that changes something.
            let is_held = verb == JobVerb::Release;
            assert_eq!(verb.why_not(state, is_held).is_none(), is_offered, "{} in {}", verb.key(), state.key());
        }
    }
    assert!(JobVerb::Hold.why_not(JobState::Queued, true).is_some());
    assert!(JobVerb::Release.why_not(JobState::Queued, false).is_some());
    let bulk: Vec<&str> = Verb::in_bulk(Noun::Instance).map(Verb::key).collect();
    assert_eq!(bulk, ["start", "stop", "restart", "delete"]);
}

#[test]
fn the_words_of_signals_are_reviewed() {
    let mut text = String::new();
    for source in Source::ALL {
        let words = source.words();
        let flags = [
            (source.always_counts(), "always counts"),
            (source.is_always_shown(), "always shown"),
            (source.is_seen_by_server(), "seen by the server"),
        ];
        let flags: Vec<&str> = flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect();
        writeln!(text, "{:<12}{}", source.key(), flags.join(", ")).expect("writing to a string");
        for (place, words) in [("name", words.name), ("busy", words.busy), ("counts when", words.counts_when)] {
            writeln!(text, "  {place:<14}{words}").expect("writing to a string");
        }
        writeln!(text, "  {:<14}last activity: {}", "last", words.last).expect("writing to a string");
    }
    golden("signals.txt", &text);
}
