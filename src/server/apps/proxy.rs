//! Passing a request on to an application, and its answer back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use atelier_engine::fleet::NoStream;
use atelier_studio::instances::commands::VSCODE;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use http_body::{Body as _, Frame, SizeHint};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use crate::server::agent_streams::bare;
use crate::server::apps::access::Access;
use crate::server::apps::activity::is_activity;
use crate::server::apps::connection::AppConnection;
use crate::server::apps::host::Place;
use crate::server::apps::pool::{NoConnection, Way};
use crate::server::apps::typing::Tapped;
use crate::server::apps::visits::AppVisit;
use crate::server::apps::{headers, pages, pool, visits};
use crate::server::request::{client, says};
use crate::server::state::AppState;

/// How long it may take to find out why a connection has to end.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(5);
/// What whoever is cut off hears.
const ENDED: &str = "The right to open this application has ended. Open it from Atelier again.";

pub async fn pass_on(state: &AppState, visit: &Arc<AppVisit>, place: &Place, mut request: Request) -> Response {
    let Some(node) = visit.node else { return pages::not_running(state, place) };
    let way: Way = (node, visit.instance, place.app.clone());
    let upgrade = wanted_upgrade(&request);
    let browser = upgrade.as_ref().and_then(|_| request.extensions_mut().remove::<OnUpgrade>());
    if is_activity(&place.app, request.method(), request.uri().path()) {
        let visitor = (visit.access != Access::Own).then_some(visit.name.as_str());
        state.fleet().board().app_used(visit.instance, visitor);
        state.presence().note(&visit.user, &visit.session, atelier_engine::clock::now());
    }
    let Some(request) = fit(state, request, upgrade.as_ref(), place.app == VSCODE) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let passing = async {
        match (upgrade, browser) {
            (None, _) => answered(state, visit, place, way, request).await,
            (Some(_), Some(browser)) => upgraded(state, visit, place, &way, request, browser).await,
            (Some(_), None) => (StatusCode::BAD_REQUEST, "This connection cannot be upgraded.").into_response(),
        }
    };
    // Also what is still being sent, and what an application takes its time to answer.
    tokio::select! {
        answer = passing => answer,
        () = visit.closed() => {
            let over = visits::why_over(state, visit, place).await;
            (StatusCode::UNAUTHORIZED, over.unwrap_or_else(|| ENDED.to_owned())).into_response()
        }
    }
}

/// What the connection shall become, if the request says so.
fn wanted_upgrade(request: &Request) -> Option<HeaderValue> {
    let says_so = says(request.headers(), header::CONNECTION, "upgrade");
    request.headers().get(header::UPGRADE).filter(|_| says_so).cloned()
}

/// The request as an application gets it; none if its address is no path.
fn fit(state: &AppState, request: Request, upgrade: Option<&HeaderValue>, is_listened_to: bool) -> Option<Request> {
    let (mut parts, body) = request.into_parts();
    let host = crate::server::apps::host::of(&parts.uri, &parts.headers).to_owned();
    let address = client(&parts.extensions, &parts.headers, &state.config().trusted_proxies);
    headers::drop_one_hop(&mut parts.headers);
    headers::for_app(&mut parts.headers, address, &host, state.config().is_secure());
    if is_listened_to {
        // What is compressed cannot be read as it passes by.
        parts.headers.remove(header::SEC_WEBSOCKET_EXTENSIONS);
    }
    if let Some(protocol) = upgrade {
        parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        parts.headers.insert(header::UPGRADE, protocol.clone());
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse::<Uri>().ok()?;
    parts.version = axum::http::Version::HTTP_11;
    parts.extensions.clear();
    Some(Request::from_parts(parts, body))
}

async fn answered(state: &AppState, visit: &Arc<AppVisit>, place: &Place, way: Way, mut request: Request) -> Response {
    // One that waited may have been closed just now; what was not sent is sent over a new one.
    while let Some(mut connection) = state.app_pool().take(&way) {
        match connection.send(request).await {
            Ok(answer) => return back(visit, answer, Some(Own { state: state.clone(), way, connection })),
            Err(mut error) => match error.take_message() {
                Some(unsent) => request = unsent,
                None => return broken(state, visit, place, &error.into_error()).await,
            },
        }
    }
    let mut connection = match pool::connection(state.fleet(), &way).await {
        Ok(connection) => connection,
        Err(NoConnection::Stream(why)) => return unreachable(state, visit, place, &why).await,
        Err(NoConnection::Http(error)) => return broken(state, visit, place, &error).await,
    };
    match connection.send(request).await {
        Ok(answer) => back(visit, answer, Some(Own { state: state.clone(), way, connection })),
        Err(error) => broken(state, visit, place, &error.into_error()).await,
    }
}

/// It cannot be reached: because nobody may be there any more, or whatever else it is.
async fn unreachable(state: &AppState, visit: &AppVisit, place: &Place, why: &NoStream) -> Response {
    let over = visits::why_over(state, visit, place).await;
    pages::unreachable(state, place, &over.unwrap_or_else(|| why.to_string()))
}

async fn broken(state: &AppState, visit: &AppVisit, place: &Place, error: &hyper::Error) -> Response {
    if let Some(why) = visits::why_over(state, visit, place).await {
        return pages::unreachable(state, place, &why);
    }
    tracing::info!(%place, %error, "an application did not answer");
    let text = format!("{} ended the connection without an answer: {error}. Try again; its log says more.", place.app);
    (StatusCode::BAD_GATEWAY, text).into_response()
}

/// The answer for the browser.
fn back(visit: &Arc<AppVisit>, answer: hyper::Response<hyper::body::Incoming>, own: Option<Own>) -> Response {
    let (mut parts, body) = answer.into_parts();
    headers::drop_one_hop(&mut parts.headers);
    headers::from_app(&mut parts.headers);
    // Also a short answer can take its time.
    let closed: Option<Closed> = (!body.is_end_stream()).then(|| Box::pin(visit.closed()) as Closed);
    Response::from_parts(parts, Body::new(Passing { body, closed, own }))
}

type Closed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection that its answer moves along; afterwards it waits in the pool for the next request.
struct Own {
    state: AppState,
    way: Way,
    connection: AppConnection,
}

/// An answer on its way. Ends when its visit closes; when it is over, its connection is free again.
struct Passing {
    body: hyper::body::Incoming,
    closed: Option<Closed>,
    /// Nothing if the connection has a task of its own, or is free again.
    own: Option<Own>,
}

impl http_body::Body for Passing {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Some(closed) = &mut self.closed
            && closed.as_mut().poll(context).is_ready()
        {
            self.own = None;
            return Poll::Ready(Some(Err(std::io::Error::other("the right to see this has ended"))));
        }
        let Self { body, own, .. } = &mut *self;
        let frame = match own {
            Some(own) => own.connection.poll_frame(body, context),
            None => Pin::new(&mut *body).poll_frame(context),
        };
        let is_over = matches!(frame, Poll::Ready(None)) || (frame.is_ready() && body.is_end_stream());
        if is_over {
            self.release();
        }
        frame.map(|frame| frame.map(|frame| frame.map_err(std::io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Passing {
    /// The answer is over: its connection waits for the next request, if the application keeps it open.
    fn release(&mut self) {
        if let Some(Own { state, way, mut connection }) = self.own.take()
            && connection.is_ready()
        {
            state.app_pool().give(way, connection);
        }
    }
}

impl Drop for Passing {
    /// An answer without a body is never read.
    fn drop(&mut self) {
        if self.body.is_end_stream() {
            self.release();
        }
    }
}

/// A connection that becomes something else, as a WebSocket: bytes both ways until one end or the visit
/// closes.
async fn upgraded(
    state: &AppState,
    visit: &Arc<AppVisit>,
    place: &Place,
    way: &Way,
    request: Request,
    browser: OnUpgrade,
) -> Response {
    let mut connection = match pool::connect(state.fleet(), way).await {
        Ok(connection) => connection,
        Err(NoConnection::Stream(why)) => return unreachable(state, visit, place, &why).await,
        Err(NoConnection::Http(error)) => return broken(state, visit, place, &error).await,
    };
    let mut answer = match connection.send_request(request).await {
        Ok(answer) => answer,
        Err(error) => return broken(state, visit, place, &error).await,
    };
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return back(visit, answer, None);
    }
    let application = hyper::upgrade::on(&mut answer);
    let is_socket =
        answer.headers().get(header::UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let closed = visit.closed();
    let words = last_words(state.clone(), Arc::clone(visit), place.clone(), is_socket);
    let listened = (place.app == VSCODE).then(|| (state.clone(), Arc::clone(visit)));
    let joined = async move {
        let (Ok(browser), Ok(application)) = tokio::join!(browser, application) else { return };
        let application = match application.downcast::<TokioIo<atelier_pipe::Wire>>() {
            Ok(parts) => parts.io.into_inner().with_early(&parts.read_buf),
            Err(upgraded) => atelier_pipe::Wire::other(TokioIo::new(upgraded)),
        };
        let browser = match listened {
            None => bare(browser),
            Some((state, visit)) => Tapped::wire(bare(browser), move || {
                state.fleet().board().editor_used(visit.instance);
                state.presence().note(&visit.user, &visit.session, atelier_engine::clock::now());
            }),
        };
        let _ = atelier_pipe::join_until(browser, application, closed, words).await;
    };
    tokio::spawn(joined);
    let (mut parts, _) = answer.into_parts();
    let (protocol, accept) =
        (parts.headers.remove(header::UPGRADE), parts.headers.remove(header::SEC_WEBSOCKET_ACCEPT));
    headers::drop_one_hop(&mut parts.headers);
    headers::from_app(&mut parts.headers);
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    for (name, value) in [(header::UPGRADE, protocol), (header::SEC_WEBSOCKET_ACCEPT, accept)] {
        if let Some(value) = value {
            parts.headers.insert(name, value);
        }
    }
    Response::from_parts(parts, Body::empty())
}

/// What a browser hears that has to go, if it can hear anything.
async fn last_words(state: AppState, visit: Arc<AppVisit>, place: Place, is_socket: bool) -> Vec<u8> {
    /// What a server says whose rules do not allow more (RFC 6455).
    const NOT_ALLOWED: u16 = 1008;
    if !is_socket {
        return Vec::new();
    }
    let why = tokio::time::timeout(LAST_WORDS, visits::why_over(&state, &visit, &place)).await.ok().flatten();
    match why {
        Some(why) => atelier_pipe::close_frame(NOT_ALLOWED, &why),
        // Only the server goes away. Applications connect again by themselves after a connection that broke;
        // one that was closed in order counts as over for some of them (JupyterLab's kernels).
        None => Vec::new(),
    }
}
