//! When instances start and stop by themselves, as browsers without script and programs meet it.

mod page;
mod rest;
mod settings;
mod warnings;
mod week;

use atelier_domain::compute::InstanceId;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::world::Report;

use crate::client::{Browser, Page, Server};
use crate::rest::furnish;

pub const INSTANCES: &str = "/w/perception/compute/instances";

/// The page of an instance's schedules.
pub fn page_of(name: &str) -> String {
    format!("{INSTANCES}/{name}/schedules")
}

/// A server with a size, and the Owner.
pub async fn furnished() -> (Server, Browser) {
    let server = Server::set_up().await;
    furnish(&server).await;
    let owner = server.owner().await;
    (server, owner)
}

/// Makes an instance through the wizard's last step, stopped unless `begin` is `now`.
pub async fn make(browser: &mut Browser, name: &str, more: &[(&str, &str)]) -> Page {
    let mut fields = vec![
        ("step", "review"),
        ("go", "create"),
        ("name", name),
        ("size", "cpu-2"),
        ("idle", "on"),
        ("idle_minutes", "60"),
        ("quota", "release"),
    ];
    if !more.iter().any(|(field, _)| *field == "begin") {
        fields.push(("begin", "stopped"));
    }
    fields.extend(more);
    crate::new_instance::send(browser, &fields, &[]).await
}

/// The number of an instance.
pub async fn id_of(server: &Server, name: &str) -> InstanceId {
    let name = name.to_owned();
    let find = move |world: &atelier_domain::world::World| {
        world.instances().find(|one| one.name.as_str() == name).map(|one| one.id)
    };
    server.state.engine().ask(find).await.expect("answers").expect("exists")
}

/// What the schedules of an instance say.
pub async fn sentences(server: &Server, name: &str) -> Vec<String> {
    let id = id_of(server, name).await;
    let look = move |world: &atelier_domain::world::World| {
        let mine = world.schedules_for(atelier_domain::world::ScheduleTarget::Instance(id));
        mine.map(|entry| entry.schedule.sentence()).collect::<Vec<_>>()
    };
    server.state.engine().ask(look).await.expect("answers")
}

/// Brings a new instance to run, as its node and its agent would.
pub async fn run(server: &Server, name: &str) {
    let (engine, id) = (server.state.engine(), id_of(server, name).await);
    let node = engine.ask(move |world| world.instance(id).and_then(|one| one.node)).await.expect("answers");
    engine.report(Report::NodeUp(node.expect("a node is wanted"))).await.expect("heard");
    let generation = engine.ask(move |world| world.instance(id).map(|one| one.generation)).await.expect("answers");
    let generation = generation.expect("exists");
    engine.report(Report::SetUp { instance: id, generation, failure: None }).await.expect("heard");
    let state =
        engine.ask(move |world| world.instance(id).map(|one| world.instance_state(one))).await.expect("answers");
    assert_eq!(state, Some(InstanceState::Running));
}

/// The week of the form: workdays from 08:30 to 18:00 in Berlin.
pub fn week() -> Vec<(&'static str, &'static str)> {
    let mut fields =
        vec![("time_zone", "Europe/Berlin"), ("jobs", "now"), ("drain", "60"), ("idle", "on"), ("idle_minutes", "60")];
    for [day, start, stop] in [
        ["mon", "mon_start", "mon_stop"],
        ["tue", "tue_start", "tue_stop"],
        ["wed", "wed_start", "wed_stop"],
        ["thu", "thu_start", "thu_stop"],
        ["fri", "fri_start", "fri_stop"],
    ] {
        fields.extend([(day, "on"), (start, "08:30"), (stop, "18:00")]);
    }
    fields.extend([("sat_start", "08:30"), ("sat_stop", "18:00"), ("sun_start", "08:30"), ("sun_stop", "18:00")]);
    fields
}

/// The same with other values.
pub fn with<'a>(fields: &[(&'a str, &'a str)], others: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<_> =
        fields.iter().filter(|(field, _)| !others.iter().any(|(other, _)| other == field)).copied().collect();
    all.extend(others.iter().filter(|(_, value)| !value.is_empty()));
    all
}
