//! The page of the Python environment of instances. Nothing is built here: nobody has started to.

use atelier_domain::access::Role;
use axum::http::StatusCode;

use crate::client::Server;

const PAGE: &str = "/w/perception/admin/environment";

#[tokio::test]
async fn operators_change_the_list_and_the_history_says_who() {
    let server = Server::set_up().await;
    server.add("Omar", &[Role::ComputeOperator]).await;
    let mut omar = server.signed_in("omar@example.org").await;
    omar.get(PAGE).await.shows("jupyterlab&gt;=4.2,&lt;5\nipykernel").shows("Starting").shows("/usr/bin/python3");

    let list = "jupyterlab\r\npolars>=1\r\n";
    let page = omar.submit(PAGE, "set_environment", &[("requirements", list), ("why", "faster frames")]).await;
    page.shows("The new environment is being built.").shows("jupyterlab\npolars&gt;=1</textarea>");
    let kept = server.state.store().base_environment().await.expect("reads");
    assert_eq!(kept.requirements, "jupyterlab\npolars>=1");
    let page = omar.submit(PAGE, "set_environment", &[("requirements", "jupyterlab\npolars>=1")]).await;
    page.shows("That is the list already");
    let history = omar.get("/w/perception/activity").await;
    history.shows("changed the base environment of instances: added jupyterlab and polars&gt;=1; removed");
    history.shows("faster frames");
}

#[tokio::test]
async fn a_wrong_list_comes_back_as_it_was_typed() {
    let server = Server::set_up().await;
    let mut owner = server.owner().await;
    let long: String = (0..150).map(|number| format!("package-number-{number}\n")).collect();
    for (list, problem) in [
        ("jupyterlab\n--index-url https://evil.example", "options are not taken"),
        ("numpy\npandas", "jupyterlab is missing"),
        ("jupyterlab\nx @ https://evil.example/x.whl", "addresses are not taken"),
        (&format!("{long}jupyterlab\n$(id)"), "cannot stand in a requirement"),
        ("", "The list is empty"),
    ] {
        let page = owner.submit(PAGE, "set_environment", &[("requirements", list), ("why", "I want to")]).await;
        page.shows(problem).shows("value=\"I want to\"");
        let last = list.lines().last().unwrap_or_default().replace('<', "&lt;");
        page.shows(&format!("{last}</textarea>"));
    }
    assert_eq!(server.state.store().base_environment().await.expect("reads").requirements, "");
}

#[tokio::test]
async fn who_does_not_run_machines_neither_sees_nor_changes_it() {
    let server = Server::set_up().await;
    server.add("Dana", &[Role::DataScientist]).await;
    let mut dana = server.signed_in("dana@example.org").await;
    let page = dana.get(PAGE).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    page.hides("ipykernel");
    for (function, fields) in
        [("set_environment", &[("requirements", "jupyterlab")][..]), ("rebuild_environment", &[][..])]
    {
        let refused = dana.call(function, fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
        refused.shows("engine.write");
    }
}

#[tokio::test]
async fn a_server_that_builds_nothing_says_how_to() {
    let server = Server::set_up_with(&[("environment", "off")]).await;
    let mut owner = server.owner().await;
    owner.get(PAGE).await.shows("No environment, and none is built").shows("atelier environment build");
    owner.submit(PAGE, "rebuild_environment", &[]).await.shows("Building is switched off on this server");
}
