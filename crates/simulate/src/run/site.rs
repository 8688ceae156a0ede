//! The site of a scenario: a fresh World with its places, sizes and clusters.

use atelier_domain::compute::job::JobSpec;
use atelier_domain::reason::Reason;
use atelier_domain::time::{Mono, Now, Span};
use atelier_domain::world::{Command, Input, Order, Outcome, Report, World};
use atelier_domain::{UserId, WorkspaceId};

use crate::scenario::{DEFAULT_WEIGHT, Scenario};
use crate::setup::{Setup, orders};

/// Whoever made the clusters and pays for what nobody uses.
pub(crate) const OPERATOR: &str = "operator";

/// What both clocks show so long after the start.
pub(crate) fn clocks(scenario: &Scenario, at: u64) -> Now {
    Now { wall: scenario.start.plus(Span::millis(at)), mono: Mono(at) }
}

/// An order of somebody, in the one workspace that there is.
pub(crate) fn order(user: &UserId, name: atelier_domain::text::Text, order: Order) -> Input {
    Input::Command(Command { workspace: WorkspaceId::new("studio"), user: Some(user.clone()), name, order })
}

/// A cluster that the core would not make, and why, in its own words.
pub(crate) struct NotMade {
    pub cluster: String,
    pub why: String,
}

/// Makes the site, and gives what its making brought about.
pub(crate) fn make(scenario: &Scenario, setup: &Setup) -> Result<(World, Outcome), NotMade> {
    let mut world = World::default();
    let operator = UserId::new(OPERATOR);
    let by_operator = |wish| order(&operator, OPERATOR.into(), wish);
    let sites = scenario
        .sites
        .iter()
        .map(|(site, capacity)| Input::Report(Report::Site { site: site.clone(), capacity: *capacity }));
    let sizes = scenario.sizes.iter().map(|model| by_operator(Order::PutSize(model.size.clone())));
    let shares = scenario.people.iter().filter(|person| person.weight != DEFAULT_WEIGHT);
    let shares =
        shares.map(|person| by_operator(Order::SetFairShare { person: person.id.clone(), weight: person.weight }));
    let mut inputs: Vec<Input> = sites.chain(sizes).chain(shares).collect();
    let mut of_cluster = vec![String::new(); inputs.len()];
    for (place, cluster) in setup.clusters.iter().enumerate() {
        for wish in orders(place, cluster, scenario.start) {
            inputs.push(by_operator(wish));
            of_cluster.push(cluster.name.to_string());
        }
    }
    let outcome = world.step(&inputs, clocks(scenario, 0));
    for (reply, cluster) in outcome.replies.iter().zip(of_cluster) {
        if let Some(Err(reason)) = reply {
            return Err(NotMade { cluster, why: reason.sentence() });
        }
    }
    Ok((world, outcome))
}

/// Whether the core would take such a job. The World is not of use for anything else afterwards.
pub(crate) fn try_job(world: &mut World, scenario: &Scenario, spec: &JobSpec) -> Result<(), Reason> {
    let input = order(&UserId::new(OPERATOR), OPERATOR.into(), Order::Submit(spec.clone()));
    let outcome = world.step(&[input], clocks(scenario, 0));
    match outcome.replies.into_iter().next().flatten() {
        Some(Err(reason)) => Err(reason),
        _ => Ok(()),
    }
}
