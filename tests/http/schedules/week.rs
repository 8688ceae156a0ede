use atelier_domain::access::Role;
use atelier_domain::compute::ClusterId;
use atelier_domain::history::Actor;
use atelier_domain::schedule::{Action, Cron, StopJobs, Timetable, Trigger, Zone};
use atelier_domain::world::{Command, Order, ScheduleTarget};
use atelier_engine::run::{CommandId, NewOrder};
use atelier_engine::store::Author;

use super::{furnished, make, page_of, week};

const WEEK: &str = "/w/perception/schedules";

#[tokio::test]
async fn the_week_shows_what_starts_and_stops_mine_or_all() {
    let (server, mut owner) = furnished().await;
    server.add("Noor", &[Role::DataScientist]).await;
    owner.get(WEEK).await.shows("Nothing starts or stops by itself").shows("Schedules").shows("aria-current=\"page\"");
    let mut noor = server.signed_in("noor@example.org").await;
    make(&mut noor, "noors", &[]).await;
    let mut fields = vec![("instance", "noors")];
    fields.extend(week());
    noor.submit(&page_of("noors"), "save_week", &fields).await.shows("noors is awake");
    noor.get(WEEK).await.shows("Start").shows("Stop").shows("/compute/instances/noors/schedules").hides("of Noor");
    owner
        .get(WEEK)
        .await
        .shows("None of yours start or stop by themselves")
        .hides("/compute/instances/noors/schedules");
    let all = format!("{WEEK}?who=all");
    owner.get(&all).await.shows("/compute/instances/noors/schedules").shows("of Noor");
    // Noor is in UTC and the schedule in Berlin.
    noor.get(WEEK).await.shows("08:30 Europe/Berlin");

    let skip = [("instance", "noors"), ("schedule", "schedule-2"), ("skip", "on")];
    noor.submit(&page_of("noors"), "skip_schedule", &skip).await.shows("left out");
    noor.get(WEEK).await.shows("<s>Stop</s>").shows("left out");
}

#[tokio::test]
async fn clusters_are_in_it_with_their_minimum() {
    let (server, mut owner) = furnished().await;
    let fields = [("name", "pool"), ("size", "cpu-2"), ("min", "0"), ("max", "4"), ("idle", "120")];
    owner.submit("/w/perception/compute/clusters/new", "create_cluster", &fields).await.shows("pool was created");
    let trigger = Trigger::Cron(Cron::parse("0 6 * * *").expect("an expression"));
    let timetable = Timetable::new(trigger, Zone::parse("UTC").expect("a zone"), None).expect("a timetable");
    let order = Order::AddSchedule {
        target: ScheduleTarget::Cluster(ClusterId(1)),
        action: Action::MinNodes(3),
        timetable: Box::new(timetable),
        jobs: StopJobs::Now,
    };
    let workspace = server.state.workspace_by_slug("perception").expect("exists").id;
    let author = Author { actor: Actor::System, request: String::new(), why: None };
    let command = Command { workspace, user: None, name: "Atelier".into(), order };
    let new = NewOrder { id: CommandId::random(), payload: None, author, command };
    server.state.engine().order(new).await.expect("added");
    owner.get(&format!("{WEEK}?who=all")).await.shows("Minimum 3 nodes").shows("/compute/clusters/pool");
}
