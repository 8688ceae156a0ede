//! A connection to an application over which one request after another goes.
//!
//! It has no task of its own: whoever waits for an answer moves it along. A task between the two would have
//! to be woken for each half of each exchange, which takes longer than passing a small answer on.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use atelier_pipe::Wire;
use axum::body::Body;
use hyper::Request;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;

/// A connection and what moves it.
#[derive(Debug)]
pub struct AppConnection {
    sender: SendRequest<Body>,
    /// Nothing once it has ended.
    mover: Option<Box<Connection<TokioIo<Wire>, Body>>>,
}

impl AppConnection {
    /// Greets what answers at the other end.
    pub async fn over(wire: Wire) -> hyper::Result<Self> {
        let (sender, mover) = http1::Builder::new().handshake(TokioIo::new(wire)).await?;
        Ok(Self { sender, mover: Some(Box::new(mover)) })
    }

    /// Reads and writes what can be read and written.
    fn move_on(&mut self, context: &mut Context<'_>) {
        if let Some(mover) = &mut self.mover
            && let Poll::Ready(ended) = Pin::new(mover).poll(context)
        {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection to an application ended");
            }
            self.mover = None;
        }
    }

    /// Whether it takes another request. Looks whether the other end has closed it meanwhile.
    pub fn is_ready(&mut self) -> bool {
        self.move_on(&mut Context::from_waker(Waker::noop()));
        self.mover.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the beginning of its answer. One that was not sent comes back with the
    /// error.
    pub async fn send(
        &mut self,
        request: Request<Body>,
    ) -> Result<hyper::Response<Incoming>, TrySendError<Request<Body>>> {
        let mut answer = std::pin::pin!(self.sender.try_send_request(request));
        let mover = &mut self.mover;
        std::future::poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if let Some(moving) = mover
                && Pin::new(moving).poll(context).is_ready()
            {
                *mover = None;
            }
            answer.as_mut().poll(context)
        })
        .await
    }

    /// The next piece of an answer.
    pub fn poll_frame(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<bytes::Bytes>>>> {
        use http_body::Body as _;
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        self.move_on(context);
        Pin::new(body).poll_frame(context)
    }
}
