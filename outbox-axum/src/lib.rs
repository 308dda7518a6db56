//! Live streams of `outbox` as [server-sent events] of axum.
//!
//! ```no_run
//! use axum::extract::{Path, State};
//! use axum::response::{IntoResponse, Response};
//! use outbox_axum::{LastEventId, Sse};
//! use outbox::Outbox;
//! # async fn is_member(_project: &str) -> Result<bool, std::io::Error> { Ok(true) }
//!
//! /// `GET /projects/{project}/live`
//! async fn live(State(outbox): State<Outbox>, Path(project): Path<String>, last: LastEventId) -> Response {
//!     let stream = outbox.live().events(["issue.*"]).tenant(&project).resume(last.as_deref()).subscribe();
//!     match stream {
//!         // Asked for every frame: somebody who is no member any more sees no more.
//!         Ok(stream) => Sse::new(stream)
//!             .check(move |_envelope| {
//!                 let project = project.clone();
//!                 async move { is_member(&project).await }
//!             })
//!             .into_response(),
//!         Err(error) => (axum::http::StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
//!     }
//! }
//! # let _: axum::Router<Outbox> = axum::Router::new().route("/projects/{project}/live", axum::routing::get(live));
//! ```
//!
//! In the page, `refetch` is the one place where what is shown is read: it comes at the beginning, and wherever something may be missing.
//!
//! ```js
//! const source = new EventSource(`/projects/${project}/live`);
//! source.addEventListener("refetch", load);
//! source.addEventListener("issue.updated", (event) => apply(JSON.parse(event.data)));
//! ```
//!
//! [server-sent events]: https://html.spec.whatwg.org/multipage/server-sent-events.html

mod frame;
mod last_event_id;
mod sse;

pub use self::frame::Frame;
pub use self::last_event_id::LastEventId;
pub use self::sse::Sse;
