//! Golden files: what people review in plain text instead of in code.
//!
//! `UPDATE_GOLDEN=1 cargo test -p atelier-domain --test golden` writes them anew; the difference is then read like code.

mod support;

use std::fmt::Write as _;

use atelier_domain::access::{Action, Area, Grant, Rights, Role, Whose};
use atelier_domain::account::{AccountState, AccountVerb, Refusal};
use atelier_domain::compute::job::Priority;
use atelier_domain::compute::{JobId, NodeId, ScheduleId};
use atelier_domain::history::{Event, Subject};
use atelier_domain::id::UserId;
use atelier_domain::time::Span;
use support::golden;

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
        Event::JobCancelled { job: JobId(41) },
        Event::JobPrioritised { job: JobId(41), priority: Priority::High },
        Event::BudgetSet { whose: "the workspace".into(), amount: "EUR 500.00".into(), action: "stop-idle".into() },
        Event::BudgetSet { whose: "ines".into(), amount: "EUR 50.00".into(), action: "warn".into() },
        Event::BudgetSet { whose: "ines".into(), amount: String::new(), action: String::new() },
        Event::ArrayChanged { array: JobId(41), change: "cancelled".into() },
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
        writeln!(text, "{:<28}Ines Okafor {}.", event.key(), event.sentence(Some(&subject)))
            .expect("writing to a string");
    }
    golden("reasons.txt", &text);
}
