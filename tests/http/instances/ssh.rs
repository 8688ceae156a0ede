//! Keys for SSH and the switch of each instance, in the portal and over the API.

use atelier_domain::access::Role;
use atelier_domain::compute::idle::Source;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::agent::Agent;
use super::{Studio, page};
use crate::client::Server;
use crate::rest::Api;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh1mEm9PIUj6mTxXFcSJLdQ0nZjxhgUqGX6N8H2tGkQ mara@laptop";
const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJh1mEm9PIUj6mTxXFcSJLdQ0nZjxhgUqGX6N8H2tGkR";

/// A server that takes SSH connections, or would if it listened.
async fn studio() -> Studio {
    let studio = Studio::with(&[("ssh_listen", "127.0.0.1:2222"), ("public_url", "https://studio.example.org")]).await;
    atelier::server::ssh::prepare(&studio.server.state).expect("a key");
    studio
}

#[tokio::test]
async fn a_key_is_added_shown_and_removed_in_the_profile() {
    let server = Server::set_up_with(&[("ssh_listen", "127.0.0.1:2222")]).await;
    atelier::server::ssh::prepare(&server.state).expect("a key");
    let host_key = server.state.host_key().expect("made").fingerprint();
    let mut browser = server.owner().await;
    browser.get("/profile").await.shows("SSH keys").shows(&host_key);
    let added = browser.submit("/profile", "add_ssh_key", &[("key", KEY), ("name", "")]).await;
    added.shows("The key “mara@laptop” was added").shows("SHA256:").shows("ed25519").shows("never");
    let again = browser.submit("/profile", "add_ssh_key", &[("key", KEY), ("name", "twice")]).await;
    again.shows("You have this key already: it is called “mara@laptop”.");
    let private = "-----BEGIN OPENSSH PRIVATE KEY-----";
    let refused = browser.submit("/profile", "add_ssh_key", &[("key", private), ("name", "x")]).await;
    refused.shows("This is the private half of a key. It was not kept");
    let start = added.text.find("name=\"key_id\" value=\"").expect("its id") + 21;
    let id: String = added.text[start..].chars().take_while(|c| *c != '"').collect();
    let removed = browser.submit("/profile", "remove_ssh_key", &[("key_id", &id)]).await;
    removed.shows("The key “mara@laptop” was removed").hides("name=\"key_id\"");
    let gone = browser.submit("/profile", "remove_ssh_key", &[("key_id", &id)]).await;
    gone.shows("There is no such SSH key of yours");
    let history = browser.get("/w/perception/activity").await;
    history.shows("added the SSH key “mara@laptop”").shows("removed the SSH key “mara@laptop”");
}

#[tokio::test]
async fn keys_belong_to_one_person_and_there_are_at_most_twenty() {
    let studio = studio().await;
    let made = studio.mara.post("/ssh-keys", &json!({"key": KEY, "name": "laptop"})).await.is(201);
    assert_eq!((&made.json["name"], &made.json["kind"]), (&json!("laptop"), &json!("ed25519")));
    let id = made.json["id"].as_str().expect("an id").to_owned();
    let sven = Api::role(&studio.server, "Svea", Role::DataScientist).await;
    sven.post("/ssh-keys", &json!({"key": KEY})).await.refuses(422, "invalid").problem("key");
    sven.delete(&format!("/ssh-keys/{id}")).await.refuses(404, "not-found");
    assert_eq!(sven.get("/ssh-keys").await.is(200).json["keys"], json!([]));
    studio.mara.post("/ssh-keys", &json!({"key": OTHER})).await.refuses(422, "invalid").problem("name");
    studio.mara.post("/ssh-keys", &json!({"key": "ssh-dss AAAA"})).await.refuses(422, "invalid").problem("key");
    studio.mara.delete(&format!("/ssh-keys/{id}")).await.is(200);
    // What was removed can be added again, by anybody who has it.
    sven.post("/ssh-keys", &json!({"key": KEY})).await.is(201);
    for number in 0..20_u8 {
        let digit = char::from(b'A' + number);
        let key = KEY.replace("h1mEm9", &format!("h1mEm{digit}"));
        studio.mara.post("/ssh-keys", &json!({"key": key})).await.is(201);
    }
    studio.mara.post("/ssh-keys", &json!({"key": OTHER, "name": "x"})).await.refuses(409, "ssh-key.too-many");
}

#[tokio::test]
async fn only_the_owner_switches_it_and_sees_how_to_connect() {
    let studio = studio().await;
    studio.running("desk").await;
    let off = studio.mara.get("/instances/desk/ssh").await.is(200);
    assert_eq!((&off.json["on"], &off.json["since"]), (&json!(false), &Value::Null));
    let mut mara = studio.browser("mara").await;
    mara.get(&page("desk", "")).await.shows("Switch SSH on").hides("ssh desk@");
    let on = mara.submit(&page("desk", ""), "switch_ssh", &[("instance", "desk"), ("is_on", "on")]).await;
    on.shows("desk can be entered by SSH now.").shows("ssh desk@studio.example.org -p 2222").shows("Switch SSH off");
    on.shows("You have no key yet").shows("HostName studio.example.org");
    let shown = studio.mara.get("/instances/desk/ssh").await.is(200);
    assert_eq!((&shown.json["on"], &shown.json["connect"]["port"]), (&json!(true), &json!(2222)));
    assert!(
        shown.json["connect"]["known_host"]
            .as_str()
            .expect("text")
            .starts_with("[studio.example.org]:2222 ssh-ed25519 ")
    );

    // Not even who runs the machines enters somebody else's instance.
    for who in ["oskar", "ines", "noor"] {
        let mut browser = studio.browser(who).await;
        browser.get(&page("desk", "")).await.hides("Switch SSH").hides("ssh desk@");
        let answer = browser.call("switch_ssh", &[("instance", "desk"), ("is_on", "off")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.text);
    }
    let owner = Api::owner(&studio.server).await;
    owner.get("/instances/desk/ssh").await.refuses(404, "not-found");
    owner.put("/instances/desk/ssh", &json!({"on": false})).await.refuses(403, "right.missing");
    studio.mara.put("/instances/nothing/ssh", &json!({"on": true})).await.refuses(404, "not-found");
    studio.mara.put("/instances/desk/ssh", &json!({"on": "yes"})).await.refuses(422, "invalid");
    let switched = studio.mara.put("/instances/desk/ssh", &json!({"on": false})).await.is(200);
    assert_eq!(switched.json["on"], json!(false));
    let mut ines = studio.browser("ines").await;
    let history = ines.get("/w/perception/activity").await;
    history.shows("switched SSH on for the instance desk").shows("switched SSH off for the instance desk");
}

#[tokio::test]
async fn a_server_without_ssh_says_so() {
    let studio = Studio::new().await;
    studio.running("desk").await;
    let shown = studio.mara.get("/instances/desk/ssh").await.is(200);
    assert_eq!(shown.json["connect"], Value::Null);
    studio.mara.put("/instances/desk/ssh", &json!({"on": true})).await.refuses(409, "ssh.not-served");
    let mut mara = studio.browser("mara").await;
    mara.get(&page("desk", "")).await.shows("This server takes no SSH connections").hides("Switch SSH on");
    mara.get("/profile").await.shows("This server takes no SSH connections yet");
}

#[tokio::test]
async fn bytes_that_go_through_are_activity() {
    let studio = studio().await;
    let (id, node) = studio.running("desk").await;
    let agent = Agent::join(&studio, id, node).await;
    let board = studio.server.state.fleet().board();
    board.ssh_came(id);
    board.ssh_used(id, 3, 4_096);
    agent.busy(&studio).await;
    assert!(studio.look(id, |_, instance| instance.watch.seen.contains_key(&Source::Ssh)).await);
    let mut mara = studio.browser("mara").await;
    mara.get(&page("desk", "")).await.shows("1 connection: 3 B came in, 4.0 KiB went out");
    assert_eq!(studio.mara.get("/instances/desk/ssh").await.is(200).json["open_connections"], json!(1));
    board.ssh_left(id);
    assert_eq!(board.ssh_open(id), 0);
}
