//! A future that runs to its end also when nobody waits for it any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Polled where it is awaited; only when it is dropped in the middle does a task of its own take it over.
///
/// Its result is dropped then. Without a runtime, or when that ends, it is dropped as it is.
pub(crate) struct ToTheEnd<F>(Option<Pin<Box<F>>>)
where
    F: Future<Output: Send> + Send + 'static;

impl<F: Future<Output: Send> + Send + 'static> ToTheEnd<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for ToTheEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Out of its place while it is polled, so that one that panics is not polled again.
        let Some(mut future) = self.0.take() else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(future);
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for ToTheEnd<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{Notify, oneshot};

    use super::*;

    #[tokio::test]
    async fn it_ends_where_it_is_awaited_or_in_a_task_of_its_own() {
        assert_eq!(ToTheEnd::new(async { 7 }).await, 7);
        let (go, (ended, end)) = (Arc::new(Notify::new()), oneshot::channel());
        let waits = Arc::clone(&go);
        let future = ToTheEnd::new(async move {
            waits.notified().await;
            ended.send("to the end")
        });
        tokio::select! {
            biased;
            _ = future => panic!("it waits"),
            () = std::future::ready(()) => {}
        }
        go.notify_one();
        assert_eq!(end.await, Ok("to the end"));
    }
}
