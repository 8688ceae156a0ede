//! How many connections are served at once. Who comes when all are in use waits in line until one ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tower::Service;

/// Makes the service of each connection once there is room for it. The server accepts nobody else until this
/// is ready, so further connections stay in the queue of the operating system.
pub struct Limited<Make> {
    make: Make,
    room: Arc<Semaphore>,
    waiting: Option<Waiting>,
    next: Option<OwnedSemaphorePermit>,
}

type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl<Make> Limited<Make> {
    /// Serves at most `most` connections at once with what `make` makes.
    pub fn new(make: Make, most: u32) -> Self {
        let room = Arc::new(Semaphore::new(usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS)));
        Self { make, room, waiting: None, next: None }
    }
}

impl<Make, Target, Inner> Service<Target> for Limited<Make>
where
    Make: Service<Target, Response = Inner, Error = Infallible, Future: Send + 'static>,
{
    type Response = Held<Inner>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Held<Inner>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        while self.next.is_none() {
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(Arc::clone(&self.room).acquire_owned()));
            match waiting.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                // Nobody closes it.
                Poll::Ready(permit) => {
                    self.next = permit.ok();
                    self.waiting = None;
                }
            }
        }
        self.make.poll_ready(context)
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let room = self.next.take().map(Arc::new);
        let inner = self.make.call(target);
        Box::pin(async move { Ok(Held { inner: inner.await?, _room: room }) })
    }
}

/// The service of one connection; it and its clones hold the room until the connection ends.
#[derive(Clone)]
pub struct Held<Inner> {
    inner: Inner,
    _room: Option<Arc<OwnedSemaphorePermit>>,
}

impl<Inner: Service<Request>, Request> Service<Request> for Held<Inner> {
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use super::*;

    #[derive(Clone)]
    struct Echo;

    impl Service<u32> for Echo {
        type Response = u32;
        type Error = Infallible;
        type Future = Ready<Result<u32, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: u32) -> Self::Future {
            ready(Ok(request))
        }
    }

    #[tokio::test]
    async fn who_comes_when_all_are_in_use_waits_until_one_ends() {
        let make = tower::service_fn(|_: ()| ready(Ok::<_, Infallible>(Echo)));
        let mut limited = Limited::new(make, 2);
        let mut served = Vec::new();
        for number in 0..2 {
            std::future::poll_fn(|context| limited.poll_ready(context)).await.expect("ready");
            let mut connection = limited.call(()).await.expect("made");
            assert_eq!(connection.call(number).await, Ok(number));
            served.push(connection);
        }
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(limited.poll_ready(&mut context).is_pending(), "both are in use");
        let clone = served[0].clone();
        served.remove(0);
        assert!(limited.poll_ready(&mut context).is_pending(), "a clone still answers on the first");
        drop(clone);
        assert!(limited.poll_ready(&mut context).is_ready());
    }
}
