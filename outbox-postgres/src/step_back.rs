//! A task's turn goes to those behind it.

use std::future::poll_fn;
use std::task::Poll;

/// Lets what is ready have its turn, and stands behind it in the runtime's queue.
///
/// Tokio's `yield_now` stands nowhere until its thread has nothing else to do: a handler that blocks this thread in the meantime would hold
/// it up, where from the queue another thread takes it.
pub(crate) async fn step_back() {
    let mut back = false;
    poll_fn(|context| {
        if std::mem::replace(&mut back, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
