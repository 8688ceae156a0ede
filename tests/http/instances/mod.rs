//! Instances: the list, their pages, who may do what, the way into applications, logs, and the API.

mod agent;
mod agreement;
mod api;
mod jobs;
mod list;
mod logs;
mod open;
mod own_apps;
mod page;
mod rights;
mod sharing;
mod ssh;
mod transfer;
mod workload;

use atelier_domain::access::Role;
use atelier_domain::compute::instance::{Instance, InstanceState};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::world::{Report, World};
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};

use crate::client::{Browser, Page, Server};
use crate::rest::{Api, furnish, until};

pub const LIST: &str = "/w/perception/compute/instances";

/// The page of an instance, or a tab of it.
pub fn page(name: &str, tab: &str) -> String {
    if tab.is_empty() { format!("{LIST}/{name}") } else { format!("{LIST}/{name}/{tab}") }
}

/// A server with the size `cpu-2`, Mara, who owns things, Oskar, who operates them, Sven, who has his own,
/// and Noor, who looks.
pub struct Studio {
    pub server: Server,
    pub mara: Api,
}

impl Studio {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let server = Server::set_up_with(settings).await;
        furnish(&server).await;
        let mara = Api::role(&server, "Mara", Role::DataScientist).await;
        for (name, role) in [("Oskar", Role::ComputeOperator), ("Sven", Role::DataScientist), ("Noor", Role::Reader)] {
            server.add(name, &[role]).await;
        }
        Self { server, mara }
    }

    /// Somebody's browser: `mara`, `oskar`, `sven`, `noor` or `ines`.
    pub async fn browser(&self, who: &str) -> Browser {
        self.server.signed_in(&format!("{who}@example.org")).await
    }

    /// Makes an instance of Mara's that does not start yet.
    pub async fn asleep(&self, name: &str) -> InstanceId {
        self.make(&json!({"name": name, "size": "cpu-2", "starts": false})).await
    }

    /// Makes an instance of Mara's as it is asked for.
    pub async fn make(&self, request: &Value) -> InstanceId {
        let made = self.mara.post("/instances", request).await.is(201);
        InstanceId::parse(made.json["id"].as_str().expect("an id")).expect("an id")
    }

    /// Makes one of Mara's that runs, and says on which node.
    pub async fn running(&self, name: &str) -> (InstanceId, NodeId) {
        let id = self.make(&json!({"name": name, "size": "cpu-2"})).await;
        (id, self.bring_up(id).await)
    }

    /// Lets its node come up and its set-up succeed.
    pub async fn bring_up(&self, id: InstanceId) -> NodeId {
        self.bring_up_to(id, InstanceState::Running).await
    }

    /// The same where it is in another state then: jobs may wait for it.
    pub async fn bring_up_to(&self, id: InstanceId, state: InstanceState) -> NodeId {
        let node = self.node_of(id).await;
        self.report(Report::NodeUp(node)).await;
        let generation = self.look(id, |_, instance| instance.generation).await;
        self.report(Report::SetUp { instance: id, generation, failure: None }).await;
        self.until_state(id, state).await;
        node
    }

    /// Lets its node be gone, as its driver would say after a stop.
    pub async fn node_gone(&self, id: InstanceId) {
        let node = self.look(id, |_, instance| instance.node).await.expect("a node");
        self.report(Report::NodeDrained(node)).await;
        self.report(Report::NodeGone(node)).await;
    }

    /// The same, if it has one at all.
    pub async fn node_gone_if_any(&self, id: InstanceId) {
        let asked = self.server.state.engine().ask(move |world| world.instance(id).and_then(|it| it.node)).await;
        if asked.expect("answered").is_some() {
            self.node_gone(id).await;
        }
    }

    /// The instance of that name.
    pub async fn look_up(&self, name: &'static str) -> InstanceId {
        until(&self.server, name, move |world| {
            world.instances().find(|instance| instance.name.as_str() == name).map(|instance| instance.id)
        })
        .await
    }

    pub async fn node_of(&self, id: InstanceId) -> NodeId {
        until(&self.server, "a node", move |world| world.instance(id)?.node).await
    }

    pub async fn until_state(&self, id: InstanceId, state: InstanceState) {
        until(&self.server, state.key(), move |world| {
            (world.instance_state(world.instance(id)?) == state).then_some(())
        })
        .await;
    }

    pub async fn report(&self, report: Report) {
        self.server.state.engine().report(report).await.expect("heard");
    }

    pub async fn look<T: Send + 'static>(
        &self,
        id: InstanceId,
        look: impl FnOnce(&World, &Instance) -> T + Send + 'static,
    ) -> T {
        let asked = self.server.state.engine().ask(move |world| world.instance(id).map(|it| look(world, it)));
        asked.await.expect("answered").expect("the instance is there")
    }
}

/// Sends the form for scripts, fields and files in one request, and looks at the page that comes next.
pub async fn send_scripts(browser: &mut Browser, name: &str, parts: &[(&str, Option<&str>, &str)]) -> Page {
    const MARK: &str = "-------------7d1";
    let mut body = String::new();
    for (field, file, text) in parts {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        body.push_str(&format!("--{MARK}\r\nContent-Disposition: form-data; name=\"{field}\"{file}\r\n\r\n{text}\r\n"));
    }
    body.push_str(&format!("--{MARK}--\r\n"));
    let request = Request::post(format!("/w/perception/instances/{name}/scripts"))
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={MARK}"))
        .header("sec-fetch-site", "same-origin");
    let answer = browser.send(request.body(Body::from(body)).expect("a request")).await;
    if answer.status != StatusCode::SEE_OTHER {
        return answer;
    }
    let next = answer.location().to_owned();
    browser.get(&next).await
}

/// Waits for what no revision tells, such as what an agent said a moment ago.
pub async fn comes<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(atelier_testing::PATIENCE, found)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come in time"))
}
