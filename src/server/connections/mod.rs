//! Connections: how many there are, whose, and how long they may be quiet.
//!
//! The service of a connection and the connection itself share a [`Place`]. The service notes requests there,
//! and whoever finds out who is asking says so ([`Place::known`]); the connection ends when its place was
//! given to somebody else, or when it has been quiet for too long.

mod quiet;
mod seats;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use axum_server::accept::Accept;
use futures::task::AtomicWaker;
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tower::Service;

pub use quiet::Quiet;
pub use seats::Limits;
use seats::{SeatId, Seats};

/// How long a connection may be quiet.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the first packet to the end of the first request's head, TLS included.
    pub first_request: Duration,
    /// Without a request under way, at least; at most twice as long.
    pub idle: Duration,
}

pub const PATIENCE: Patience = Patience { first_request: Duration::from_secs(20), idle: Duration::from_secs(60) };

/// All places, for every port of the server together.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Mutex<Books>>);

#[derive(Debug)]
struct Books {
    seats: Seats,
    places: std::collections::HashMap<SeatId, Weak<Place>>,
}

impl Gate {
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Books { seats: Seats::new(limits), places: std::collections::HashMap::new() })))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection its place. Whoever has to make room for it ends.
    pub fn enter(&self, from: SocketAddr) -> Arc<Place> {
        let mut books = self.books();
        let (seat, gone) = books.seats.enter(from.ip());
        let place = Arc::new(Place {
            seat,
            gate: self.clone(),
            requests: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            is_known: AtomicBool::new(false),
            is_upgraded: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        });
        metrics::gauge!("atelier_connections").increment(1);
        books.places.insert(seat, Arc::downgrade(&place));
        let gone: Vec<Arc<Place>> =
            gone.iter().filter_map(|seat| books.places.remove(seat).and_then(|place| place.upgrade())).collect();
        drop(books);
        if !gone.is_empty() {
            metrics::counter!("atelier_connections_sent_away_total").increment(gone.len() as u64);
        }
        // Not under the lock: the last to hold a place gives it back.
        gone.iter().for_each(|place| place.end());
        place
    }
}

/// What is known of one connection. Handlers find it among a request's extensions.
#[derive(Debug)]
pub struct Place {
    seat: SeatId,
    gate: Gate,
    requests: AtomicU64,
    /// Requests that are being answered.
    busy: AtomicUsize,
    is_known: AtomicBool,
    /// It has become something else, such as a WebSocket, whose own rules count.
    is_upgraded: AtomicBool,
    /// Somebody else has its place.
    is_over: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

impl Place {
    /// It is known who asks: this connection makes room for nobody any more.
    pub fn known(&self, person: &str) {
        if !self.is_known.load(Ordering::Relaxed) && self.gate.books().seats.known(self.seat, person) {
            self.is_known.store(true, Ordering::Relaxed);
        }
    }

    /// It is an agent, which holds as many connections as it needs.
    pub fn known_agent(&self) {
        self.known(&format!("agent {}", self.seat));
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.reader.wake();
        self.writer.wake();
    }

    fn used(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.is_known.load(Ordering::Relaxed) {
            self.gate.books().seats.used(self.seat);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        metrics::gauge!("atelier_connections").decrement(1);
        let mut books = self.gate.books();
        books.seats.leave(self.seat);
        books.places.remove(&self.seat);
    }
}

/// Notes on a request's connection who asks.
pub fn known(request: &axum::extract::Request, person: &str) {
    if let Some(place) = request.extensions().get::<Arc<Place>>() {
        place.known(person);
    }
}

/// Makes the service of each connection, with its place.
pub struct Placed<Make> {
    make: Make,
    gate: Gate,
}

impl<Make> Placed<Make> {
    pub const fn new(make: Make, gate: Gate) -> Self {
        Self { make, gate }
    }
}

impl<Make, Inner> Service<SocketAddr> for Placed<Make>
where
    Make: Service<SocketAddr, Response = Inner, Error = Infallible, Future: Send + 'static>,
{
    type Response = Held<Inner>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Held<Inner>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.make.poll_ready(context)
    }

    fn call(&mut self, from: SocketAddr) -> Self::Future {
        let (place, inner) = (self.gate.enter(from), self.make.call(from));
        Box::pin(async move { Ok(Held { inner: inner.await?, place }) })
    }
}

/// The service of one connection.
#[derive(Clone)]
pub struct Held<Inner> {
    inner: Inner,
    place: Arc<Place>,
}

impl<Inner> Service<Request<Incoming>> for Held<Inner>
where
    Inner: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send + 'static>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        self.place.used();
        let busy = Busy::new(&self.place);
        request.extensions_mut().insert(Arc::clone(&self.place));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                busy.0.is_upgraded.store(true, Ordering::Release);
            }
            Ok(answer.map(|body| Body::new(Answering { body, _busy: busy })))
        })
    }
}

/// A request that is being answered.
struct Busy(Arc<Place>);

impl Busy {
    fn new(place: &Arc<Place>) -> Self {
        place.busy.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(place))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An answer on its way: the request is under way until it is over.
struct Answering {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Answering {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// Lets a connection in: small pieces (a line of a log, a revision) leave at once, and it ends by the rules
/// of its place.
#[derive(Clone, Copy, Debug)]
pub struct Watched;

impl<Inner> Accept<TcpStream, Held<Inner>> for Watched {
    type Stream = Quiet<TcpStream>;
    type Service = Held<Inner>;
    type Future = std::future::Ready<std::io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: TcpStream, service: Held<Inner>) -> Self::Future {
        let ready = stream.set_nodelay(true);
        let stream = Quiet::new(stream, Arc::clone(&service.place), PATIENCE);
        std::future::ready(ready.map(|()| (stream, service)))
    }
}
