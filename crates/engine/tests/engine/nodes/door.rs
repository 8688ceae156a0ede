//! Who is let in as an agent, and who is not.

use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::NodePhase;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::time::Span;
use atelier_domain::world::AllocationKey;
use atelier_protocol::{Auth, Facts, Hello, MAX_HELLO, OLDEST, ToAgent, ToServer, VERSION, decode_to_agent, encode};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::site::{PATIENCE, Site};

async fn knock(site: &Site) -> WebSocketStream<UnixStream> {
    let stream = UnixStream::connect(site.fleet.folders().socket()).await.expect("connects");
    tokio_tungstenite::client_async("ws://localhost/agent", stream).await.expect("upgrades").0
}

/// What the server says to a first message.
async fn answer(site: &Site, message: String) -> Option<ToAgent> {
    let mut socket = knock(site).await;
    socket.send(Message::Text(message.into())).await.expect("sent");
    while let Some(Ok(said)) = socket.next().await {
        if let Message::Text(text) = said {
            return Some(decode_to_agent(&text).expect("a message"));
        }
    }
    None
}

fn hello(node: u64, protocol: u32, auth: Auth) -> String {
    let facts = Facts::default();
    let hello = Hello { protocol, node: NodeId(node), auth, facts, parts: Vec::new(), more: false };
    encode(&ToServer::Hello(Box::new(hello)))
}

fn join(token: &str, secret: &str) -> Auth {
    Auth::Join { token: token.into(), secret: secret.into() }
}

fn refusal(answer: Option<ToAgent>) -> (String, bool) {
    match answer {
        Some(ToAgent::Refused { why, again }) => (why.to_string(), again),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_shows_the_right_token_or_secret_is_let_in() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    let pool = site.cluster("pool", "local-half", 0, 1, Span::seconds(600)).await;
    let job = site.script(pool, "echo here; sleep 1000").await;
    site.until_state(job, JobState::Running).await;
    site.until_log(job, "here\n").await;
    let node = site.fleet.board().agents().remove(0).node;

    // No message, a strange one, another one first: nothing is told.
    let (why, again) = refusal(answer(&site, "{}".into()).await);
    assert!(!again && why.contains("not a message"), "{why}");
    let (why, _) = refusal(answer(&site, encode(&ToServer::Events(Vec::new()))).await);
    assert!(why.contains("say hello first"), "{why}");
    // Nobody's long story is read before it is known who they are.
    let long = format!("{}{}", " ".repeat(MAX_HELLO), hello(node.0, VERSION, join("x", "y")));
    let (why, again) = refusal(answer(&site, long).await);
    assert!(!again && why.contains("at most 65536 bytes"), "{why}");
    // An agent of a later version may try again when the server is newer.
    let (why, again) = refusal(answer(&site, hello(node.0, VERSION + 1, join("x", "y"))).await);
    assert!(again && why.contains(&format!("{OLDEST} to {VERSION}")), "{why}");
    // A node that is not there; a wrong token; somebody else's secret; a token that belongs to another agent
    // by now.
    let (why, again) = refusal(answer(&site, hello(4_711, VERSION, join("x", "y"))).await);
    assert!(!again && why.contains("node-4711 is not known"), "{why}");
    let (why, again) = refusal(answer(&site, hello(node.0, VERSION, join("wrong", "mine"))).await);
    assert!(!again && why.contains("not the right one"), "{why}");
    let known = Auth::Known { secret: "mine".into() };
    let (why, _) = refusal(answer(&site, hello(node.0, VERSION, known)).await);
    assert!(why.contains("not the right one"), "{why}");
    let text = std::fs::read_to_string(site.fleet.folders().node(node).join("agent.json")).expect("reads");
    let config: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let token = config["token"].as_str().expect("a token");
    let (why, _) = refusal(answer(&site, hello(node.0, VERSION, join(token, "another secret"))).await);
    assert!(why.contains("not the right one"), "{why}");

    // Nothing of that disturbed the one who is in.
    assert!(site.fleet.is_connected(node));
    site.until_state(job, JobState::Running).await;
    assert_eq!(site.log(job), "here\n");
    site.tear_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_with_many_parts_says_them_after_its_hello() {
    let data = tempfile::tempdir().expect("a folder");
    let site = Site::start(data.path()).await;
    site.cluster("pool", "local-half", 1, 1, Span::seconds(600)).await;
    let node = site
        .until("the node's agent has called", |world| {
            world.nodes().find(|node| matches!(node.phase, NodePhase::Ready)).map(|node| node.id)
        })
        .await;
    // In its place, since it shows the same secret.
    let secret = std::fs::read_to_string(site.fleet.folders().node(node).join("secret")).expect("reads");
    let parts: Vec<AllocationKey> =
        (1..=1_234).map(|job| AllocationKey { job: JobId(job), attempt: 1, node }).collect();
    let (auth, facts) = (Auth::Known { secret }, Facts::default());
    let hello = Hello { protocol: VERSION, node, auth, facts, parts: parts.clone(), more: false };
    let mut socket = knock(&site).await;
    for message in hello.messages() {
        socket.send(Message::Text(encode(&message).into())).await.expect("sent");
    }
    let mut strays = Vec::new();
    while strays.len() < parts.len() {
        let said =
            tokio::time::timeout(PATIENCE, socket.next()).await.expect("in time").expect("goes on").expect("sound");
        let Message::Text(text) = said else { continue };
        match decode_to_agent(&text).expect("a message") {
            ToAgent::Welcome { kept, .. } => assert_eq!(kept.len(), parts.len()),
            // None of them is wanted.
            ToAgent::End { part, .. } => strays.push(part),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(strays, parts);
    site.tear_down().await;
}
