//! The REST API as programs meet it.

mod clusters;
mod files;
mod jobs;
mod logs;
mod odd;
mod sizes;
mod tokens;

use atelier_domain::access::Role;
use atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName};
use atelier_domain::compute::{JobId, NodeId, Resources};
use atelier_domain::history::Actor;
use atelier_domain::name::EmailAddress;
use atelier_domain::token::{Lifetime, TokenName};
use atelier_domain::world::{AllocationKey, Command, Exit, Order, Report, World};
use atelier_engine::clock;
use atelier_engine::run::{CommandId, NewOrder};
use atelier_engine::store::Author;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;

use crate::client::{Browser, Server};

/// A program with a token.
pub struct Api {
    browser: Browser,
    token: String,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    pub json: Value,
}

impl Answer {
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// A refusal with that status and code, as a whole problem.
    #[track_caller]
    pub fn refuses(self, status: u16, code: &str) -> Self {
        let it = self.is(status);
        assert_eq!(it.header("content-type"), "application/problem+json", "{}", it.text);
        assert_eq!(it.json["code"], code, "{}", it.text);
        assert_eq!(it.json["status"], status);
        assert_eq!(it.json["request"], it.header("x-request-id"));
        for field in ["type", "title", "detail"] {
            assert!(it.json[field].as_str().is_some_and(|text| !text.is_empty()), "{}", it.text);
        }
        it
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The problem with that field.
    #[track_caller]
    pub fn problem(&self, field: &str) -> String {
        let all = self.json["problems"].as_array().cloned().unwrap_or_default();
        let found = all.iter().find(|problem| problem["field"] == field);
        found.unwrap_or_else(|| panic!("no problem with {field}: {}", self.text))["message"].to_string()
    }
}

impl Api {
    pub fn with(server: &Server, token: &str) -> Self {
        Self { browser: server.browser(), token: token.to_owned() }
    }

    /// For somebody with that address, who gets a token.
    pub async fn of(server: &Server, email: &str) -> Self {
        let token = make_token(server, email, 90).await;
        Self::with(server, &token)
    }

    pub async fn owner(server: &Server) -> Self {
        Self::of(server, "ines@example.org").await
    }

    /// For somebody new with that role.
    pub async fn role(server: &Server, name: &str, role: Role) -> Self {
        server.add(name, &[role]).await;
        Self::of(server, &format!("{}@example.org", name.to_lowercase())).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[], Some(body.to_string())).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, &[], Some(body.to_string())).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, &[], Some(body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], None).await
    }

    pub async fn keyed(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &[("idempotency-key", key)], Some(body.to_string())).await
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Option<String>) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        if !self.token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        }
        if body.is_some() && !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        self.raw(request.body(body.map_or_else(Body::empty, Body::from)).expect("a request")).await
    }

    pub async fn raw(&self, request: Request<Body>) -> Answer {
        let page = self.browser.another().send(request).await;
        let json = serde_json::from_str(&page.text).unwrap_or(Value::Null);
        Answer { status: page.status, headers: page.headers, text: page.text, json }
    }
}

/// Makes a token in the store, as the command line does.
pub async fn make_token(server: &Server, email: &str, days: u32) -> String {
    let email = EmailAddress::parse(email).expect("an address");
    let store = server.state.store();
    let account = store.account_by_email(email.as_str()).await.expect("reads").expect("exists");
    let (secret, hash) = atelier_studio::secret::fresh();
    let author = Author { actor: Actor::Console, request: String::new(), why: None };
    let life = Lifetime::parse(&days.to_string()).expect("a life");
    let name = TokenName::parse("a test").expect("a name");
    let mut tx = store.begin(clock::now()).await.expect("begins");
    tx.insert_token(&account.person, &name, life, &hash, &author).await.expect("works").expect("made");
    tx.commit().await.expect("commits");
    secret
}

/// A site with a size of two cores, `cpu-2`.
pub async fn furnish(server: &Server) {
    let engine = server.state.engine();
    let site = SiteName::parse("local").expect("a name");
    let capacity = Resources { cores: 1_000_000, memory: 1 << 30, gpus: 0 };
    engine.report(Report::Site { site: site.clone(), capacity }).await.expect("heard");
    let size = Size {
        name: SizeName::parse("cpu-2").expect("a name"),
        family: Family::parse("general").expect("a name"),
        site,
        shape: Resources::new(2, 4, 0),
        price: Price(120_000),
    };
    let workspace = server.state.workspace_by_slug("perception").expect("exists").id;
    let author = Author { actor: Actor::System, request: String::new(), why: None };
    let command = Command { workspace, user: None, name: "Atelier".into(), order: Order::PutSize(size) };
    let new = NewOrder { id: CommandId::random(), payload: None, author, command };
    engine.order(new).await.expect("put");
}

/// A size and the cluster `pool` with up to so many nodes.
pub async fn with_pool(server: &Server, max: u32) -> Api {
    furnish(server).await;
    let api = Api::owner(server).await;
    let body = serde_json::json!({"name": "pool", "size": "cpu-2", "max": max});
    api.post("/clusters", &body).await.is(201);
    api
}

/// Waits until the engine says so.
pub async fn until<T: Send + 'static>(
    server: &Server,
    what: &str,
    look: impl Fn(&World) -> Option<T> + Clone + Send + 'static,
) -> T {
    let engine = server.state.engine();
    let mut status = engine.watch();
    let comes = async {
        loop {
            status.borrow_and_update();
            let look = look.clone();
            if let Some(found) = engine.ask(move |world| look(world)).await.expect("answers") {
                return found;
            }
            status.changed().await.expect("the engine runs");
        }
    };
    tokio::time::timeout(atelier_testing::PATIENCE, comes)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come in time"))
}

/// Waits until so many requests of the Owner wait for something.
pub async fn until_waiting(server: &Server, count: usize) {
    let owner = server.state.store().account_by_email("ines@example.org").await.expect("reads").expect("is there");
    let wait = async {
        while server.state.tokens().waiting(&owner.person.id) != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(atelier_testing::PATIENCE, wait).await.unwrap_or_else(|_| panic!("no {count} requests wait"));
}

/// Lets every node that is being made come up, and gives the part of the job on its first node.
pub async fn placed(server: &Server, job: JobId) -> AllocationKey {
    until(server, "a node for the job", move |world| {
        let job = world.job(job)?;
        let waits = world.nodes().any(|node| !node.takes_jobs());
        (waits || !job.allocations.is_empty()).then_some(())
    })
    .await;
    let nodes: Vec<NodeId> =
        server.state.engine().ask(|world| world.nodes().map(|node| node.id).collect()).await.expect("answers");
    for node in nodes {
        server.state.engine().report(Report::NodeUp(node)).await.expect("heard");
    }
    until(server, "the job's place", move |world| {
        let job = world.job(job)?;
        let allocation = job.allocations.first()?;
        Some(AllocationKey { job: job.id, attempt: job.attempt, node: allocation.node })
    })
    .await
}

/// Runs a part to its end.
pub async fn run(server: &Server, part: AllocationKey, code: i32) {
    let exit = Exit::Code(code);
    for report in [Report::JobStarted(part), Report::JobExited { part, exit }, Report::JobOff { part, exit }] {
        server.state.engine().report(report).await.expect("heard");
    }
}

/// The id in an answer.
pub fn id_of(answer: &Answer) -> JobId {
    JobId::parse(answer.json["id"].as_str().expect("an id")).expect("an id")
}
