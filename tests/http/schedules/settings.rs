use atelier_domain::access::Role;
use atelier_domain::time::Span;
use axum::http::StatusCode;

use super::{furnished, id_of, make};

const SETTINGS: &str = "/w/perception/admin/settings";

#[tokio::test]
async fn administrators_set_what_idle_shutdown_must_be() {
    let (server, mut owner) = furnished().await;
    make(&mut owner, "lazy", &[("idle", ""), ("idle_minutes", "60")]).await.shows("lazy was created");
    make(&mut owner, "slow", &[("idle", "on"), ("idle_minutes", "4000")]).await.shows("slow was created");
    owner
        .get(SETTINGS)
        .await
        .shows("value=\"60\"")
        .shows("value=\"15\"")
        .shows("value=\"4320\"")
        .shows("2 instances are");
    let rules = [("default", "45"), ("min", "30"), ("max", "120"), ("required", "on")];
    owner.submit(SETTINGS, "set_idle_rules", &rules).await.shows("2 instances were changed to follow them");
    for (name, minutes) in [("lazy", 45), ("slow", 120)] {
        let id = id_of(&server, name).await;
        let idle = server.state.engine().ask(move |world| world.instance(id).and_then(|one| one.idle.clone()));
        assert_eq!(idle.await.expect("answers").map(|idle| idle.window), Some(Span::minutes(minutes)), "{name}");
    }
    owner.submit(SETTINGS, "set_idle_rules", &rules).await.shows("The rules were so already.");
    // The wizard and the page of schedules know them.
    owner.get("/w/perception/compute/instances/new?name=next").await.shows("after 45 min");
    make(&mut owner, "never", &[("idle", "")])
        .await
        .shows("Idle shutdown is required in this workspace")
        .shows("30 min to 2 h");
    owner.get("/w/perception/compute/instances/lazy/schedules").await.shows("A rule of the workspace set this.");
}

#[tokio::test]
async fn rules_that_nothing_could_follow_come_back_beside_their_fields() {
    let (_server, mut owner) = furnished().await;
    for (rules, said) in [
        ([("default", "10"), ("min", "15"), ("max", "60")], "The default is between 15 min and 1 h; this is 10 min."),
        ([("default", ""), ("min", "5"), ("max", "60")], "The shortest idle time is between 15 min and 3 days"),
        ([("default", ""), ("min", "60"), ("max", "30")], "The longest idle time is between 1 h and 3 days"),
        ([("default", "soon"), ("min", ""), ("max", "x")], "“soon”"),
    ] {
        let page = owner.submit(SETTINGS, "set_idle_rules", &rules).await;
        page.shows(said).shows("aria-invalid=\"true\"");
    }
    let none = [("default", ""), ("min", "15"), ("max", "60"), ("required", "on")];
    owner.submit(SETTINGS, "set_idle_rules", &none).await.shows("there must be a default");
}

#[tokio::test]
async fn others_read_them_and_change_nothing() {
    let (server, _owner) = furnished().await;
    server.add("Noor", &[Role::DataScientist]).await;
    let mut noor = server.signed_in("noor@example.org").await;
    noor.get(SETTINGS)
        .await
        .shows("does not include workspace.write")
        .shows("readonly")
        .shows("Instances may go without");
    let answer = noor.call("set_idle_rules", &[("min", "15"), ("max", "60")]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text);
}
