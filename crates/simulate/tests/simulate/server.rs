//! What a server does for a preview: its own site, its own recorded jobs, and changed settings beside those
//! in force.

use std::ops::ControlFlow;

use atelier_domain::compute::Resources;
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::job::Priority;
use atelier_domain::compute::size::{ComputeName, Family, Price, SiteName, Size, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::text::Problem;
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{Command, Input, Order, Report, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_simulate::scenario::draft::PolicyDraft;
use atelier_simulate::{Draft, Recorded, Scenario, simulate};

const MONDAY: i64 = 1_772_438_400_000;

fn name<T>(parsed: Result<T, Problem>) -> T {
    parsed.unwrap_or_else(|problem| panic!("{}", problem.message))
}

fn server() -> World {
    let order = |order| {
        let (workspace, user) = (WorkspaceId::new("studio"), Some(UserId::new("ines")));
        Input::Command(Command { workspace, user, name: "Ines".into(), order })
    };
    let (site, size) = (name(SiteName::parse("local")), name(SizeName::parse("local-1")));
    let mut world = World::default();
    let outcome = world.step(
        &[
            Input::Report(Report::Site {
                site: site.clone(),
                capacity: Resources { cores: 7_500, memory: 12_345, gpus: 1 },
            }),
            order(Order::PutSize(Size {
                name: size.clone(),
                family: name(Family::parse("general")),
                site,
                shape: Resources { cores: 500, memory: 777, gpus: 0 },
                price: Price(123_457),
            })),
            order(Order::CreateCluster {
                name: name(ComputeName::parse("pool")),
                size,
                scale: ScaleSettings { min: 0, max: 4, idle: Span::millis(90_500), warm: 0 },
                tags: Tags::default(),
                tier: Tier::default(),
            }),
        ],
        Now { wall: Timestamp(MONDAY), mono: Mono(1) },
    );
    assert!(outcome.replies.iter().flatten().all(Result::is_ok));
    world
}

fn last_week() -> Vec<Recorded> {
    let job = |number: i64| Recorded {
        submitted: Timestamp(MONDAY + number * 600_000),
        owner: format!("person {}", number % 3),
        cluster: Some("pool".into()),
        size: None,
        shape: Resources { cores: 500, memory: 500, gpus: 0 },
        nodes: 1,
        ran: 400_000,
        time_limit: None,
        priority: Priority::Medium,
        failed: false,
    };
    (0..500).map(job).collect()
}

#[test]
fn a_server_previews_other_settings_on_its_own_jobs() {
    let mut draft = Draft::of_server(&server(), &WorkspaceId::new("studio"));
    draft.wind_down = Some("1 h".into());
    let policy = |name: &str, min| PolicyDraft { name: name.into(), min, ..PolicyDraft::default() };
    draft.policy = vec![policy("as now", None), policy("one always", Some(1))];
    let scenario = Scenario::check(&draft, last_week()).unwrap_or_else(|refused| panic!("{refused}"));
    let report = simulate(&scenario, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|stopped| panic!("{stopped}"));
    let [now, always] = &report.policies[..] else { panic!("two policies") };
    assert_eq!((now.jobs.completed, always.jobs.completed), (500, 500));
    assert_eq!(now.people.len(), 3);
    assert!(now.waits.median_ms > 1_000 && always.waits.median_ms < 100, "{:?} {:?}", now.waits, always.waits);
    assert!(always.cost > now.cost);
    // Its price is the server's to the millionth.
    assert!((always.cost - always.node_hours * 0.123_457).abs() < 0.001);
}

#[test]
fn a_draft_of_a_server_can_be_written_down_and_read_again() {
    let draft = Draft::of_server(&server(), &WorkspaceId::new("studio"));
    let text = toml::to_string(&draft).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(Draft::from_toml(&text), Ok(draft));
    assert!(Draft::of_server(&server(), &WorkspaceId::new("another")).cluster.is_empty());
}
