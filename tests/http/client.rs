//! A server in process and a browser without a screen: it keeps cookies, follows nothing by itself, and posts
//! forms.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use atelier::islands::Part;
use atelier::router;
use atelier::server::config::{Config, Layers};
use atelier::server::passwords::Passwords;
use atelier::server::state::AppState;
use atelier_domain::access::Role;
use atelier_domain::account::Theme;
use atelier_domain::history::Actor;
use atelier_engine::clock;
use atelier_engine::fleet::Fleet;
use atelier_engine::run::{DiskOptions, Engine, MachineClock, Options};
use atelier_engine::store::{Author, FirstAccount, Missing, NewAccount, Store};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use tower::ServiceExt as _;

/// The password of everybody in these tests.
pub const PASSWORD: &str = "kettle-orbit-violin";

pub struct Server {
    pub state: AppState,
    pub router: Router,
    /// argon2id of [`PASSWORD`], made once.
    hash: String,
    _folder: tempfile::TempDir,
}

/// One recorder for all servers of this process, as the process can have only one.
fn metrics_handle() -> metrics_exporter_prometheus::PrometheusHandle {
    static HANDLE: OnceLock<metrics_exporter_prometheus::PrometheusHandle> = OnceLock::new();
    let install = || metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder().expect("the first");
    HANDLE.get_or_init(install).clone()
}

impl Server {
    /// A server without accounts.
    pub async fn fresh() -> Self {
        Self::with(&[]).await
    }

    /// A server without accounts and with these settings.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut flags: BTreeMap<String, String> = settings.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        flags.insert("data".into(), folder.path().display().to_string());
        let config = Config::parse(&Layers::join(&flags, &BTreeMap::new()).expect("joins")).expect("parses");
        let store =
            Arc::new(Store::open_sqlite(&folder.path().join("atelier.db"), Missing::Make).await.expect("opens"));
        let passwords = Passwords::new().expect("hashes");
        let hash = passwords.hash(PASSWORD.to_owned().into()).await.expect("hashes");
        let metrics = metrics_handle();
        // A small ballast: there are many servers at once.
        let disk = DiskOptions { ballast: 1 << 16, ..DiskOptions::default() };
        let options = Options { disk, ..Options::default() };
        // Nobody carries effects out here: tests say themselves what nodes and agents would report.
        let fleet = Fleet::new(folder.path(), Arc::clone(&store), false);
        let (engine, _ends_with_its_handles) =
            Engine::start(Arc::clone(&store), fleet.clone(), MachineClock::new(), options).await.expect("starts");
        engine.started().await;
        let state = AppState::new(config, store, engine, fleet, passwords, metrics).await.expect("starts");
        let router = router::build(&state);
        Self { state, router, hash, _folder: folder }
    }

    /// A server with the Owner `ines@example.org` in the workspace `perception`.
    pub async fn set_up() -> Self {
        Self::set_up_with(&[]).await
    }

    pub async fn set_up_with(settings: &[(&str, &str)]) -> Self {
        let server = Self::with(settings).await;
        let first = FirstAccount {
            workspace: "Perception".into(),
            name: "Ines Okafor".into(),
            email: "ines@example.org".into(),
            password_hash: server.hash.clone(),
            time_zone: "Europe/Berlin".into(),
        };
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        server.state.store().set_up(&first, &author).await.expect("works").expect("the first");
        server.state.set_up_done().await.expect("reads");
        server
    }

    /// Adds an account with [`PASSWORD`] and gives its id.
    pub async fn add(&self, name: &str, roles: &[Role]) -> String {
        let workspace = self.state.workspace_by_slug("perception").expect("exists");
        let mut tx = self.state.store().begin(clock::now()).await.expect("begins");
        let new = NewAccount {
            workspace: workspace.id,
            email: format!("{}@example.org", name.to_lowercase()),
            name: name.into(),
            password_hash: self.hash.clone(),
            must_change_password: false,
            time_zone: "UTC".into(),
            theme: Theme::System,
            roles: roles.to_vec(),
        };
        let id = tx.insert_account(&new).await.expect("inserts");
        tx.commit().await.expect("commits");
        id.as_str().to_owned()
    }

    /// A browser that nobody is signed in with.
    pub fn browser(&self) -> Browser {
        Browser { router: self.router.clone(), cookies: BTreeMap::new(), address: IpAddr::from([192, 0, 2, 1]) }
    }

    /// A browser in which somebody is signed in.
    pub async fn signed_in(&self, email: &str) -> Browser {
        let mut browser = self.browser();
        let page = browser.post("/sign-in", "sign_in", &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text);
        assert!(page.location().starts_with("/w/perception"), "{}", page.location());
        browser
    }

    pub async fn owner(&self) -> Browser {
        self.signed_in("ines@example.org").await
    }
}

pub struct Browser {
    router: Router,
    pub cookies: BTreeMap<String, String>,
    pub address: IpAddr,
}

#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Page {
    pub fn location(&self) -> &str {
        self.header("location")
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    #[track_caller]
    pub fn shows(&self, part: &str) -> &Self {
        assert!(self.text.contains(part), "the page ({}) lacks {part:?}:\n{}", self.status, self.text);
        self
    }

    #[track_caller]
    pub fn hides(&self, part: &str) -> &Self {
        assert!(!self.text.contains(part), "the page shows {part:?}");
        self
    }
}

impl Browser {
    /// Another one at the same address, without cookies.
    pub fn another(&self) -> Self {
        Self { router: self.router.clone(), cookies: BTreeMap::new(), address: self.address }
    }

    pub async fn get(&mut self, path: &str) -> Page {
        let request = Request::get(path).header(header::ACCEPT, "text/html,application/xhtml+xml");
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// Posts a form of the page `from` to a server function, as a browser without script does.
    pub async fn post(&mut self, from: &str, function: &str, fields: &[(&str, &str)]) -> Page {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(format!("/fn/{function}"))
            .header(header::ACCEPT, "text/html,application/xhtml+xml")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::HOST, "localhost:3000")
            .header(header::ORIGIN, "http://localhost:3000")
            .header("sec-fetch-site", "same-origin")
            .header(header::REFERER, format!("http://localhost:3000{from}"));
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Posts a form and looks at the page that comes next.
    pub async fn submit(&mut self, from: &str, function: &str, fields: &[(&str, &str)]) -> Page {
        let answer = self.post(from, function, fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        let next = answer.location().to_owned();
        self.get(&next).await
    }

    /// Calls a server function as a script does.
    pub async fn call(&mut self, function: &str, fields: &[(&str, &str)]) -> Page {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(format!("/fn/{function}"))
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Asks a server function that changes nothing, such as `check_name?name=x`, as a script does. The text
    /// is the piece of HTML that it answers with, or its refusal.
    pub async fn ask(&mut self, question: &str) -> Page {
        let request = Request::get(format!("/fn/{question}")).header(header::ACCEPT, "application/json");
        let mut page = self.send(request.body(Body::empty()).expect("a request")).await;
        if page.status.is_success() {
            page.text = serde_json::from_str::<Part>(&page.text).expect("a part of a page").html;
        }
        page
    }

    pub async fn send(&mut self, request: Request<Body>) -> Page {
        let response = self.raw(request).await;
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, 10_000_000).await.expect("a body");
        // Leptos' marks between two pieces of text, which nobody sees.
        let text = String::from_utf8_lossy(&bytes).replace("<!>", "");
        Page { status: head.status, headers: head.headers, text }
    }

    /// Sends a request and keeps its cookies, but leaves the body as it comes.
    pub async fn raw(&mut self, mut request: Request<Body>) -> Response<Body> {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request.headers_mut().insert(header::COOKIE, cookies.join("; ").parse().expect("a header"));
        }
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(self.address, 4_000)));
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let text = cookie.to_str().expect("text");
            let (name, rest) = text.split_once('=').expect("a cookie");
            let value = rest.split(';').next().unwrap_or_default();
            if text.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        response
    }
}
