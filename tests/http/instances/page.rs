use atelier_domain::compute::instance::InstanceState;
use atelier_domain::time::Span;
use atelier_domain::world::Report;
use atelier_protocol::AppState;
use axum::http::StatusCode;
use serde_json::json;

use super::agent::Agent;
use super::{Studio, page, send_scripts};
use crate::rest::Api;

#[tokio::test]
async fn the_page_follows_an_instance_through_its_life() {
    let studio = Studio::new().await;
    let id = studio.make(&json!({"name": "mara-fusion", "size": "cpu-2", "tags": {"project": "fusion"}})).await;
    let mut mara = studio.browser("mara").await;
    let path = page("mara-fusion", "");
    mara.get(&path)
        .await
        .shows("Creating")
        .shows("Its node is on its way, step 2 of 5")
        .shows("Allocate")
        .shows("so far");
    studio.bring_up(id).await;
    let up = mara.get(&path).await;
    up.shows("Running")
        .shows("cpu-2: 2 cores, 4 GiB")
        .shows("Mara (you)")
        .shows("Last start took")
        .shows("project: fusion");
    up.shows("Why is it awake?")
        .shows("Idle shutdown after 1 h")
        .shows("+1 h")
        .shows("Keep until")
        .hides("Skip this one");
    up.shows("Created by Mara, of the size cpu-2.").shows("JupyterLab").shows("Nothing is known of it yet");

    // Stop, restart, rebuild and delete are asked for first.
    for verb in ["stop", "restart", "rebuild", "delete"] {
        up.shows(&format!("/w/perception/instances/confirm/{verb}?id=mara-fusion"));
    }
    mara.get("/w/perception/instances/confirm/rebuild?id=mara-fusion")
        .await
        .shows("its home is kept. What runs in it ends.");
    let fields = [("verb", "stop"), ("ids[]", "mara-fusion")];
    mara.submit(&path, "change_instances", &fields).await.shows("mara-fusion is stopping.").shows("Stopping");
    studio.node_gone(id).await;
    studio.until_state(id, InstanceState::Stopped).await;
    let off = mara.get(&path).await;
    off.shows("Stopped")
        .shows("/fn/start_instance")
        .shows("Start and open")
        .shows("Stop wished by Mara")
        .shows("Stop by Mara");
    off.hides("Why is it awake?");
    mara.get(&page("mara-fusion", "history")).await.shows("Created by Mara").shows("operation-done");

    mara.submit(&path, "change_instances", &[("verb", "delete"), ("ids[]", "mara-fusion")])
        .await
        .shows("is being deleted");
    assert_eq!(mara.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn agents_make_it_live_and_strangers_do_not_look_inside() {
    let studio = Studio::new().await;
    let (id, node) = studio.running("mara-fusion").await;
    let agent = Agent::join(&studio, id, node).await;
    agent.jupyter(&studio, AppState::Ready, &[]).await;
    agent.busy(&studio).await;
    agent.samples(&studio).await;
    let path = page("mara-fusion", "");
    let mut mara = studio.browser("mara").await;
    let own = mara.get(&path).await;
    own.shows("Ready after 2.7 s").shows("1 session open").shows("fusion.ipynb").shows("on rack1-03");
    own.shows("CPU in percent, 100 % at last").shows("Disk 400 MiB of 1000 MiB used.");
    let closely = mara.get(&page("mara-fusion", "monitoring")).await;
    closely.shows("ipykernel").shows("4711").shows("93 %").shows("512 MiB").shows("Network").shows("Connected");
    for who in ["sven", "noor"] {
        let mut other = studio.browser(who).await;
        other.get(&path).await.shows("Only Mara opens it").hides("fusion.ipynb").hides("/open/jupyter");
        other.get(&page("mara-fusion", "monitoring")).await.hides("ipykernel").shows("for who may operate it");
    }
    studio.browser("oskar").await.get(&page("mara-fusion", "monitoring")).await.shows("ipykernel");
    agent.jupyter(&studio, AppState::Failed, &["Traceback", "no module <named> jupyterlab"]).await;
    mara.get(&path).await.shows("It failed; restart it to try again").shows("no module &lt;named&gt; jupyterlab");
}

#[tokio::test]
async fn a_stop_is_put_off_kept_until_and_left_out() {
    let studio = Studio::new().await;
    let (id, _) = studio.running("mara-fusion").await;
    let (mut mara, path) = (studio.browser("mara").await, page("mara-fusion", ""));
    let fields = [("instance", "mara-fusion"), ("hours", "1")];
    mara.submit(&path, "extend_instance", &fields).await.shows("mara-fusion is kept running for 1 h.");
    let kept = studio.look(id, |world, instance| instance.watch.kept_until.since(world.mono())).await;
    assert!(kept > Span::minutes(55), "{kept}");
    mara.submit(&path, "extend_instance", &[("instance", "mara-fusion"), ("hours", "99")])
        .await
        .shows("kept running for up to 1 day at once");
    mara.submit(&path, "keep_instance", &[("instance", "mara-fusion"), ("until", "soon")])
        .await
        .shows("A day and a time look like");
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(5);
    let until = until.strftime("%Y-%m-%dT%H:%M").to_string();
    mara.submit(&path, "keep_instance", &[("instance", "mara-fusion"), ("until", &until)])
        .await
        .shows("is kept running until");
    mara.submit(&path, "skip_stop", &[("instance", "mara-fusion")]).await.shows("nothing to leave out");
}

#[tokio::test]
async fn settings_are_changed_and_wrong_ones_come_back_beside_their_fields() {
    let studio = Studio::new().await;
    let id = studio.asleep("mara-fusion").await;
    let (mut mara, path) = (studio.browser("mara").await, page("mara-fusion", "settings"));
    let shown = mara.get(&path).await;
    shown
        .shows("Between 15 min and 3 days in this workspace")
        .shows("value=\"60\"")
        .shows("Change size")
        .shows("Danger zone");
    let mut fields = vec![("instance", "mara-fusion"), ("idle", "5"), ("counts[]", "kernel")];
    mara.submit(&path, "configure_instance", &fields)
        .await
        .shows("Idle time is between 15 min and 3 days")
        .shows("value=\"5\"");
    fields[1].1 = "90";
    fields.push(("keeps_quota", "on"));
    let saved = mara.submit(&path, "configure_instance", &fields).await;
    saved.shows("stops after 1 h 30 min without activity, and keeps its quota").shows("value=\"90\"");
    let (counts, keeps) = studio
        .look(id, |_, instance| (instance.idle.as_ref().map(|idle| idle.counts.len()), instance.keeps_quota))
        .await;
    assert_eq!((counts, keeps), (Some(1), true));
    mara.submit(&path, "configure_instance", &[("instance", "mara-fusion"), ("idle", "")])
        .await
        .shows("is not stopped for want of activity");
    mara.submit(&path, "tag_instance", &[("instance", "mara-fusion"), ("tags", "a=1\na=2")])
        .await
        .shows("is there twice");
    mara.submit(&path, "tag_instance", &[("instance", "mara-fusion"), ("tags", "team=blue")])
        .await
        .shows("The tags of mara-fusion were saved.")
        .shows("team=blue");
    mara.submit(&path, "resize_instance", &[("instance", "mara-fusion"), ("size", "cpu-99")])
        .await
        .shows("There is no size cpu-99.");
    mara.submit(&path, "resize_instance", &[("instance", "mara-fusion")]).await.shows("Choose the new size.");
    mara.submit(&path, "resize_instance", &[("instance", "mara-fusion"), ("size", "cpu-2")])
        .await
        .shows("of the size cpu-2 already");
}

#[tokio::test]
async fn scripts_of_somebody_else_wait_for_the_owners_word() {
    let studio = Studio::new().await;
    let oskar = Api::of(&studio.server, "oskar@example.org").await;
    let request = json!({
        "name": "for-mara", "size": "cpu-2", "owner": "mara@example.org", "starts": false,
        "scripts": {"creation": {"text": "echo <made>\r\n", "arguments": "a 'b c'"}},
    });
    oskar.post("/instances", &request).await.is(201);
    let mut mara = studio.browser("mara").await;
    let path = page("for-mara", "");
    let shown = mara.get(&path).await;
    shown
        .shows("Somebody else made scripts for you")
        .shows("Oskar set scripts")
        .shows("echo &lt;made&gt;")
        .shows("a 'b c'");
    shown.shows("Created by Oskar for Mara").shows("name=\"revision\" value=\"1\"");
    mara.get(super::LIST).await.shows("scripts to accept");
    // The maker reads them, and cannot accept them; a stranger does neither.
    let mut theirs = studio.browser("oskar").await;
    theirs.get(&page("for-mara", "settings")).await.shows("echo &lt;made&gt;");
    theirs.get(&path).await.shows("Its scripts are not accepted yet").hides("/fn/accept_scripts");
    let fields = [("instance", "for-mara"), ("revision", "1")];
    assert_eq!(theirs.call("accept_scripts", &fields).await.status, StatusCode::FORBIDDEN);
    studio.browser("sven").await.get(&page("for-mara", "settings")).await.hides("echo &lt;made");
    // What was not read is not accepted.
    let stale = mara.call("accept_scripts", &[("instance", "for-mara"), ("revision", "7")]).await;
    assert_eq!(stale.status, StatusCode::CONFLICT);
    stale.shows("scripts-changed");
    mara.submit(&path, "accept_scripts", &fields)
        .await
        .shows("get your home from its next start on")
        .hides("Scripts that wait");
}

#[tokio::test]
async fn scripts_are_typed_or_uploaded_and_what_is_wrong_is_said() {
    let studio = Studio::new().await;
    let id = studio.asleep("mara-fusion").await;
    let mut mara = studio.browser("mara").await;
    let long = "x".repeat(70_000);
    let refused =
        send_scripts(&mut mara, "mara-fusion", &[("creation_script", None, &long), ("creation_limit", None, "soon")])
            .await;
    refused.shows("A script has at most 65536 bytes; this has 70000.").shows("a whole number of minutes");
    let parts = [
        ("creation_script", None, "echo typed"),
        ("creation_file", Some(""), ""),
        ("startup_file", Some("start.sh"), "#!/bin/sh\necho uploaded\n"),
        ("startup_arguments", None, "--fast"),
        ("startup_limit", None, "5"),
    ];
    let saved = send_scripts(&mut mara, "mara-fusion", &parts).await;
    saved.shows("The scripts of mara-fusion were saved.").shows("echo typed").shows("echo uploaded").shows("--fast");
    let scripts = studio.look(id, |_, instance| instance.scripts.clone()).await;
    assert_eq!(scripts.startup.map(|script| script.limit), Some(Span::minutes(5)));
    assert!(scripts.creation.is_some());
    send_scripts(&mut mara, "mara-fusion", &[]).await.shows("were saved");
    assert!(studio.look(id, |_, instance| instance.scripts.is_empty()).await);
}

#[tokio::test]
async fn jobs_that_ran_here_have_a_tab_and_a_failed_set_up_says_why() {
    let studio = Studio::new().await;
    let id = studio.make(&json!({"name": "mara-fusion", "size": "cpu-2"})).await;
    let mut mara = studio.browser("mara").await;
    mara.get(&page("mara-fusion", "jobs")).await.shows("No job has run here.");
    let node = studio.node_of(id).await;
    studio.report(Report::NodeUp(node)).await;
    let generation = studio.look(id, |_, instance| instance.generation).await;
    let failure = Some("pip: command not found".into());
    studio.report(Report::SetUp { instance: id, generation, failure }).await;
    studio.until_state(id, InstanceState::SetupFailed).await;
    let failed = mara.get(&page("mara-fusion", "")).await;
    failed.shows("Set-up failed").shows("pip: command not found").shows("Rescue terminal").shows("setup-failed");
    mara.get(super::LIST).await.shows("Rescue").shows(&page("mara-fusion", "logs"));
    for strange in ["snapshots", "x"] {
        assert_eq!(mara.get(&page("mara-fusion", strange)).await.status, StatusCode::NOT_FOUND, "{strange}");
    }
    assert_eq!(mara.get(&page("nobody", "")).await.status, StatusCode::NOT_FOUND);
}
