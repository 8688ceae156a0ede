use atelier_domain::compute::instance::InstanceState;
use atelier_domain::world::Report;
use atelier_protocol::AppState;
use axum::http::StatusCode;
use serde_json::json;

use super::agent::Agent;
use super::{LIST, Studio};

#[tokio::test]
async fn an_empty_list_shows_the_first_step_and_who_may_not_take_it_why() {
    let studio = Studio::new().await;
    studio.browser("mara").await.get(LIST).await.shows("Your workstations will be here").shows("New instance");
    let noor = studio.browser("noor").await.get(LIST).await;
    noor.shows("does not include instance.create").shows("Ines Okafor can grant it");
    assert_eq!(noor.status, StatusCode::OK);
}

#[tokio::test]
async fn a_row_says_what_happens_next_what_goes_on_and_what_it_costs() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    studio.asleep("mara-scratch").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    agent.busy(&studio).await;
    agent.samples(&studio).await;
    let mut mara = studio.browser("mara").await;
    let list = mara.get(LIST).await;
    list.shows("mara-fusion").shows("Kernel busy").shows(" if idle").shows("€0.12/h");
    list.shows("CPU, last hour: 100 % at last, 100 % at most").shows("<span class=\"num\">100 %</span>");
    list.shows("/w/perception/instances/mara-fusion/open/jupyter?next=%2Flab").shows("/open/terminal?next=%2F");
    list.shows("Stopped").shows("Starts when you open an application").shows("form=\"start-one\"");
    list.shows("Instances<span class=\"count\">2</span>").shows("2 instances. 1 running").shows("Times in UTC");
    // What goes on in it is said, but not in which notebook.
    list.hides("fusion.ipynb");
    // Others see it, but open nothing; who may operate starts it.
    let sven = studio.browser("sven").await.get(LIST).await;
    sven.shows("mara-fusion").shows("Mara").hides("/open/jupyter").hides("form=\"start-one\"").hides("/h now");
    let oskar = studio.browser("oskar").await.get(LIST).await;
    oskar.shows("form=\"start-one\"").hides("/open/").shows("€0.12/h now");
}

#[tokio::test]
async fn the_address_holds_filter_view_order_and_page() {
    let studio = Studio::new().await;
    let (id, _) = studio.running("abc-lab").await;
    studio.asleep("mara-zoo").await;
    let tagged = json!({"name": "tag-lab", "size": "cpu-2", "starts": false, "tags": {"project": "churn"}});
    studio.make(&tagged).await;
    studio.server.owner().await;
    let mut sven = studio.browser("sven").await;
    for (query, there, hidden) in [
        ("?q=zoo", "mara-zoo", "abc-lab"),
        ("?q=state:running", "abc-lab", "mara-zoo"),
        ("?q=state%3Astopped+tag%3Aproject", "tag-lab", "mara-zoo"),
        ("?q=owner:mara+size:cpu*+lab", "abc-lab", "mara-zoo"),
        ("?view=running", "abc-lab", "mara-zoo"),
    ] {
        sven.get(&format!("{LIST}{query}")).await.shows(&format!(">{there}<")).hides(&format!(">{hidden}<"));
    }
    sven.get(&format!("{LIST}?view=mine")).await.shows("No instance fits this filter");
    sven.get(&format!("{LIST}?q=owner:me")).await.shows("No instance fits this filter");
    sven.get(LIST).await.shows("All<span class=\"n\">3</span>").shows("Mine<span class=\"n\">0</span>");
    let order = |text: &str| {
        let place = |name: &str| text.find(&format!(">{name}<")).expect("there");
        place("abc-lab") < place("mara-zoo")
    };
    assert!(order(&sven.get(LIST).await.text));
    assert!(!order(&sven.get(&format!("{LIST}?sort=name&dir=desc")).await.text));
    assert!(order(&sven.get(&format!("{LIST}?sort=state")).await.text));
    // What failed is what needs attention.
    let node = studio.node_of(id).await;
    studio.report(Report::NodeGone(node)).await;
    studio.until_state(id, InstanceState::Unusable).await;
    let attention = sven.get(&format!("{LIST}?view=attention")).await;
    attention.shows(">abc-lab<").hides(">mara-zoo<").shows("Unusable").shows("Its node is gone or lost");
    for nasty in ["?q=%22%3E%3Cscript%3Ealert(1)", "?sort=nothing&dir=up&after=x&view=what"] {
        let page = sven.get(&format!("{LIST}{nasty}")).await;
        assert_eq!(page.status, StatusCode::OK);
        page.hides("<script>alert");
    }
}

#[tokio::test]
async fn fifty_are_on_a_page() {
    let studio = Studio::new().await;
    for number in 0..53 {
        studio.asleep(&format!("lab-{number:02}")).await;
    }
    let mut mara = studio.browser("mara").await;
    let first = mara.get(LIST).await;
    first.shows(">lab-49<").hides(">lab-50<").shows("1–50 of 53 instances").shows("after=50");
    mara.get(&format!("{LIST}?after=50")).await.shows(">lab-52<").hides(">lab-49<").shows("51–53 of 53 instances");
}

#[tokio::test]
async fn several_are_changed_at_once_and_each_says_what_came_of_it() {
    let studio = Studio::new().await;
    let (id, _) = studio.running("abc-lab").await;
    studio.asleep("zzz-lab").await;
    let mut mara = studio.browser("mara").await;
    let ask = |verb: &str| format!("/w/perception/instances/confirm/{verb}?id=abc-lab&id=zzz-lab");
    let question = mara.get(&ask("stop")).await;
    question.shows("Stop 1 of 2 selected instances?").shows("What is only in memory is lost. Its home is kept.");
    question.shows("It's already stopped.").shows("no change").shows("€0.12/h saved").shows("Stop abc-lab");
    question.hides("value=\"zzz-lab\"");
    mara.get(&ask("start")).await.shows("Start 1 of 2").shows("It's already running.");
    mara.get(&ask("delete")).await.shows("Delete 2 instances?").shows("an operator can bring the home back for 7 days");
    mara.get("/w/perception/instances/confirm/stop").await.shows("No instance is selected");
    assert_eq!(mara.get("/w/perception/instances/confirm/explode?id=abc-lab").await.status, StatusCode::NOT_FOUND);
    assert_eq!(mara.get("/w/perception/instances/confirm/stop?id=nobody").await.status, StatusCode::NOT_FOUND);

    let fields = [("verb", "stop"), ("ids[]", "abc-lab"), ("ids[]", "zzz-lab"), ("why", "night")];
    let done = mara.submit(&ask("stop"), "change_instances", &fields).await;
    done.shows("abc-lab is stopping.").shows("zzz-lab was left as it is: It's already stopped.");
    studio.until_state(id, InstanceState::Stopping).await;
    let history = studio.browser("ines").await.get("/w/perception/activity").await;
    history.shows("stopped the instance abc-lab").shows("night");

    // What is not theirs is left alone, said with the missing right.
    let mut sven = studio.browser("sven").await;
    sven.get(&ask("delete")).await.shows("Nothing to do for these 2").shows("does not include instance.delete");
    let refused = sven.call("change_instances", &[("verb", "delete"), ("ids[]", "abc-lab")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let none = mara.call("change_instances", &[("verb", "stop")]).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY);
    mara.submit(&ask("delete"), "change_instances", &[("verb", "delete"), ("ids[]", "zzz-lab")])
        .await
        .shows("zzz-lab is being deleted.")
        .hides("data-key=\"instance-2\"");
}

#[tokio::test]
async fn the_start_button_of_a_row_starts_it() {
    let studio = Studio::new().await;
    let id = studio.asleep("mara-zoo").await;
    let mut mara = studio.browser("mara").await;
    mara.submit(LIST, "start_instance", &[("instance", "mara-zoo")]).await.shows("mara-zoo is starting.");
    studio.bring_up(id).await;
    mara.submit(LIST, "start_instance", &[("instance", "mara-zoo")]).await.shows("was on its way already");
    studio.browser("ines").await.get("/w/perception").await.shows("1 instance").shows("with 1 node");
}
