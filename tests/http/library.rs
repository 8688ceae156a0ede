//! Named environments as people and programs meet them. Nothing is built here: nobody has started to.

use atelier_domain::access::Role;
use atelier_domain::compute::Resources;
use atelier_domain::compute::size::SiteName;
use atelier_domain::environment::Recipe;
use atelier_domain::world::Report;
use atelier_engine::clock;
use atelier_engine::environments::BuildFailure;
use atelier_engine::store::{BuildRow, KeptState};
use axum::http::StatusCode;
use serde_json::json;

use crate::client::{Browser, Server};
use crate::rest::Api;

const LIST: &str = "/w/perception/environments";
const NEW: &str = "/w/perception/environments/new";

async fn furnished() -> (Server, Browser) {
    let server = Server::set_up().await;
    let site = SiteName::parse("local").expect("a name");
    server.state.engine().report(Report::Site { site, capacity: Resources::new(64, 256, 0) }).await.expect("heard");
    let mut owner = server.owner().await;
    let size = [("name", "small"), ("family", "general"), ("site", "local"), ("cores", "2"), ("memory", "4")];
    owner.call("put_size", &[&size[..], &[("price", "0.40")]].concat()).await;
    (server, owner)
}

#[tokio::test]
async fn an_environment_is_made_versioned_compared_and_deleted_with_forms_alone() {
    let (server, mut owner) = furnished().await;
    owner.get(LIST).await.shows("The same packages, everywhere");
    let fields = [("name", "churn"), ("recipe", "# model\r\nnumpy>=1.26\r\nsix"), ("note", "the first")];
    let page = owner.submit(NEW, "save_environment", &fields).await;
    page.shows("churn:1 is saved.").shows("churn, version 1").shows("Not built yet").shows("the first");
    owner.get(LIST).await.shows("churn").shows("Not built").shows("never");

    let of = format!("{NEW}?of=churn");
    owner.get(&of).await.shows("New version of churn").shows("numpy&gt;=1.26");
    let fields = [("existing", "churn"), ("recipe", "numpy>=2\npolars"), ("build", "on")];
    let page = owner.submit(&of, "save_environment", &fields).await;
    page.shows("churn:2 is saved. It is being built.").shows("Waiting to be built").shows("Version 1");
    let page = owner.get("/w/perception/environments/compare?before=churn:1&after=churn:2").await;
    page.shows("Not both are built").shows("1 added, 1 removed, 1 changed").shows("polars").shows("&gt;=1.26");
    owner.get("/w/perception/environments/compare?before=churn:1&after=nope").await.shows("no environment “nope”");
    owner.get("/w/perception/environments/churn?version=1").await.shows("churn, version 1");
    assert_eq!(owner.get("/w/perception/environments/churn?version=9").await.status, StatusCode::NOT_FOUND);
    assert_eq!(owner.get("/w/perception/environments/nobody").await.status, StatusCode::NOT_FOUND);

    let ask = "/w/perception/environments/churn/delete";
    owner.get(ask).await.shows("Delete churn?").shows("2 versions");
    owner
        .submit(ask, "delete_environment", &[("environment", "churn"), ("why", "done")])
        .await
        .shows("churn is deleted");
    let history = owner.get("/w/perception/activity").await;
    history.shows("deleted the environment churn with 2 versions").shows("made version 2 of the environment churn");
    drop(server);
}

#[tokio::test]
async fn a_wrong_list_comes_back_with_every_line_that_is_wrong() {
    let (_server, mut owner) = furnished().await;
    let list = "numpy\n--index-url https://evil.example\nsix\nx @ https://evil.example/x.whl";
    let page = owner.submit(NEW, "save_environment", &[("name", "x"), ("recipe", list), ("note", "keep me")]).await;
    page.shows("Line 2, “--index-url").shows("Line 4, “x @").shows("3 to 24 characters").shows("value=\"keep me\"");
    page.shows("x @ https://evil.example/x.whl</textarea>");
    for (name, recipe, problem) in [
        ("new", "six", "is the address of a page"),
        ("churn", "dependencies:\n  - cudatoolkit\n", "Line 2, “- cudatoolkit”: it is no Python package"),
        ("churn", "channels:\n  - x\ndependencies:\n  - six\n", "channels have no meaning"),
        ("churn", "dependencies:\n  - python=2.7\n  - six\n", "environments stand on that"),
        ("churn", "", "The list is empty"),
    ] {
        owner.submit(NEW, "save_environment", &[("name", name), ("recipe", recipe)]).await.shows(problem);
    }
    owner.submit(NEW, "save_environment", &[("name", "churn"), ("recipe", "six")]).await.shows("is saved");
    let page = owner.submit(NEW, "save_environment", &[("name", "churn"), ("recipe", "six")]).await;
    page.shows("There is an environment “churn” already");
}

#[tokio::test]
async fn rights_are_one_s_own_things_for_data_scientists_and_all_for_operators() {
    let (server, mut owner) = furnished().await;
    owner.submit(NEW, "save_environment", &[("name", "churn"), ("recipe", "six")]).await.shows("is saved");
    server.add("Dana", &[Role::DataScientist]).await;
    server.add("Rita", &[Role::Reader]).await;
    server.add("Omar", &[Role::ComputeOperator]).await;
    let mut dana = server.signed_in("dana@example.org").await;
    dana.get("/w/perception/environments/churn").await.shows("churn, version 1").shows("six");
    dana.submit(NEW, "save_environment", &[("name", "mine"), ("recipe", "six")]).await.shows("mine:1 is saved");
    for (function, fields) in [
        ("save_environment", &[("existing", "churn"), ("recipe", "numpy")][..]),
        ("build_environment", &[("environment", "churn")][..]),
        ("delete_environment", &[("environment", "churn")][..]),
    ] {
        let refused = dana.call(function, fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{function}: {}", refused.text);
        refused.shows("environment.write");
    }
    let mut rita = server.signed_in("rita@example.org").await;
    rita.get(LIST).await.shows("churn");
    assert_eq!(rita.get(NEW).await.status, StatusCode::FORBIDDEN);
    let refused = rita.call("save_environment", &[("name", "hers"), ("recipe", "six")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    let mut omar = server.signed_in("omar@example.org").await;
    let done = omar.call("delete_environment", &[("environment", "mine")]).await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.text);
}

#[tokio::test]
async fn programs_have_all_of_it_and_jobs_wait_for_what_is_not_built() {
    let (server, mut owner) = furnished().await;
    let api = Api::of(&server, "ines@example.org").await;
    let made =
        api.post("/environments", &json!({"name": "churn", "recipe": "six\nnumpy>=1", "note": "n"})).await.is(201);
    assert_eq!(made.header("location"), "/api/v1/environments/churn");
    assert_eq!((&made.json["newest"], &made.json["versions"][0]["state"]), (&json!(1), &json!("absent")));
    api.post("/environments", &json!({"name": "bad", "recipe": "-e ."}))
        .await
        .refuses(422, "invalid")
        .problem("recipe");
    let versions = "/environments/churn/versions";
    let second = api.post(versions, &json!({"recipe": "six"})).await.is(201);
    assert_eq!(second.header("location"), "/api/v1/environments/churn/versions/2");
    let again = api.post(versions, &json!({"recipe": "six"})).await.is(201);
    assert_eq!(again.json["version"], 2, "who asks again gets the same");
    let diff = api.get("/environments/compare?before=churn:1&after=churn").await.is(200);
    assert_eq!((&diff.json["removed"][0]["name"], &diff.json["is_built"]), (&json!("numpy"), &json!(false)));
    api.get("/environments/churn/versions/7").await.refuses(404, "not-found");
    api.get("/environments/churn/versions/1/log").await.refuses(404, "not-found");
    let built = api.post("/environments/churn/versions/1/build", &json!({})).await.is(202);
    assert_eq!(built.json["state"], "waiting", "{}", built.text);
    api.post("/environments/churn/versions/1/build", &json!({})).await.refuses(409, "environment-building");

    // A job is pinned to the newest version and waits without a node.
    api.post("/jobs", &json!({"command": ["true"], "python_environment": "churn"})).await.is(201);
    let job = api.get("/jobs/job-1").await.is(200);
    assert_eq!(job.json["python_environment"], "churn:2");
    assert_eq!(job.json["reason"]["code"], "environment-coming", "{}", job.text);
    owner.get("/w/perception/jobs/job-1").await.shows("It waits for its environment churn:2");
    owner.get("/w/perception/jobs/new?clone=job-1").await.shows("churn:2");
    for (wanted, part) in [("nope", "no environment “nope”"), ("churn:9", "no version 9"), ("churn:x", "no version")]
    {
        let refused = api.post("/jobs", &json!({"command": ["true"], "python_environment": wanted})).await;
        let said = refused.refuses(422, "invalid").problem("python_environment");
        assert!(said.contains(part), "{wanted}: {said}");
    }

    // It stays while that job does.
    api.delete("/environments/churn").await.refuses(409, "environment-in-use");
    owner.get("/w/perception/environments/churn/delete").await.shows("churn stays").shows("1 job uses it: job-1");
    owner.get("/w/perception/environments/churn").await.shows("job-1");
    api.post("/jobs/job-1/cancel", &json!({})).await;
    api.delete("/environments/churn").await.is(204);
    api.get("/environments/churn").await.refuses(404, "not-found");
}

#[tokio::test]
async fn a_broken_one_says_which_line_wherever_it_is_met() {
    let (server, mut owner) = furnished().await;
    let api = Api::of(&server, "ines@example.org").await;
    api.post("/environments", &json!({"name": "churn", "recipe": "six\nnonsense"})).await.is(201);
    let named = server.state.environments().named();
    let hash = named.hash(&Recipe::parse("six\nnonsense", None).expect("a recipe")).await.expect("a hash");
    let failure = BuildFailure {
        why: "Line 2, “nonsense” failed: The index has nothing.".into(),
        help: "Correct the name in the list.".into(),
        line: Some(2),
        printed: vec!["ERROR: No matching distribution found for nonsense".into()],
    };
    let (state, now) = (KeptState::Failed(failure), clock::now());
    let row = BuildRow { hash, state, packages: Vec::new(), size: 0, used_at: None, changed_at: now };
    server.state.store().keep_environment_build(&row, now).await.expect("is kept");
    let page = owner.get("/w/perception/environments/churn").await;
    page.shows("line 2 failed").shows("Correct the name").shows("Try again");
    owner.get(LIST).await.shows("Line 2 failed.");
    let shown = api.get("/environments/churn").await.is(200);
    assert_eq!(shown.json["versions"][0]["failure"]["line"], 2);
    let refused = api.post("/jobs", &json!({"command": ["true"], "python_environment": "churn"})).await;
    assert!(refused.refuses(422, "invalid").problem("python_environment").contains("Line 2, “nonsense” failed"));
}

#[tokio::test]
async fn a_notebook_is_run_with_the_packages_of_its_kernel() {
    let (server, mut owner) = furnished().await;
    owner.submit(NEW, "save_environment", &[("name", "churn"), ("recipe", "six")]).await.shows("churn:1 is saved.");
    let notebook = br#"{"cells": [], "metadata": {"kernelspec": {"name": "churn-1"}}}"#;
    let files: [(&str, &[u8]); 3] = [("book.ipynb", notebook), ("bare.ipynb", b"{}"), ("train.py", b"print(1)")];
    crate::files::upload(&mut owner, "Users/ines", &files, false).await;
    let form = |file: &str| format!("/w/perception/jobs/new?file=Users/ines/{file}");
    let page = owner.get(&form("book.ipynb")).await;
    page.shows("churn, version 1, as it was typed").shows("nbconvert").shows("Users/ines/results");
    page.hides("Choose the packages for this notebook");
    owner
        .get(&form("bare.ipynb"))
        .await
        .shows("Choose the packages for this notebook")
        .shows("does not say which kernel");
    owner.get(&form("train.py")).await.shows("Users/ines/train.py").hides("Choose the packages");
    assert_eq!(owner.get(&form("nowhere.py")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(owner.get(&form("../../../etc/passwd.py")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    drop(server);
}

#[tokio::test]
async fn a_copy_of_a_job_keeps_its_packages_and_its_folder() {
    let server = Server::set_up().await;
    let api = crate::rest::with_pool(&server, 1).await;
    let mut owner = server.owner().await;
    owner.submit(NEW, "save_environment", &[("name", "churn"), ("recipe", "six")]).await.shows("churn:1 is saved.");
    let body = json!({
        "command": ["true"], "cluster": "pool", "cores": 1, "memory_mib": 256, "keep_in": "Users/ines/results",
        "python_environment": "churn",
    });
    let job = crate::rest::id_of(&api.post("/jobs", &body).await.is(201));
    let page = owner.get(&format!("/w/perception/jobs/new?clone={job}")).await;
    page.shows("Users/ines/results").shows("churn, version 1, as it was typed");
    let fields = [("job", job.to_string()), ("command_id", "again-0001".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    owner.submit(&format!("/w/perception/jobs/{job}"), "run_job_again", &fields).await.shows("was submitted");
    let again = atelier_domain::compute::JobId(job.0 + 1);
    assert_eq!(server.state.store().keeps_in(again).await.expect("reads"), "Users/ines/results");
    // Somebody else's own folder is no place for one's own.
    server.add("Sven", &[Role::DataScientist]).await;
    let mut sven = server.signed_in("sven@example.org").await;
    let fields = [("job", fields[0].1), ("command_id", "again-0002")];
    sven.submit(&format!("/w/perception/jobs/{job}"), "run_job_again", &fields).await.shows("was submitted");
    let his = atelier_domain::compute::JobId(job.0 + 2);
    assert_eq!(server.state.store().keeps_in(his).await.expect("reads"), "");
}
