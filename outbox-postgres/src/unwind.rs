//! A handler's panic is its own: it reaches neither the engine nor a publisher.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// The outcome of a call, or the message of its panic. Calling is inside too: the first poll is not the first code to run.
pub(crate) async fn catch_panic<F: Future + Unpin>(call: impl FnOnce() -> F) -> Result<F::Output, String> {
    // Everything that the call can have left half done is dropped with it: the delivery is used for nothing else.
    let future = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(panic.as_ref()))?;
    let mut future = Caught(Some(future));
    poll_fn(move |context| {
        match catch_unwind(AssertUnwindSafe(|| future.0.as_mut().map(|it| Pin::new(it).poll(context)))) {
            Ok(None | Some(Poll::Pending)) => Poll::Pending,
            Ok(Some(Poll::Ready(output))) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(message(panic.as_ref()))),
        }
    })
    .await
}

/// A future whose destructors may panic, which must not reach the engine.
struct Caught<F>(Option<F>);

impl<F> Drop for Caught<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(future))) {
            tracing::error!(error = message(panic.as_ref()), "a destructor of a handler panicked");
        }
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(a panic without a text)").to_owned()
}
