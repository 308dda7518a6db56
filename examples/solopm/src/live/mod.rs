//! The live stream of a project, for the pages of its members.
//!
//! It is best effort, and says where it is not: a page that hears `refetch` reads anew what it shows. Whether its user still
//! belongs to the project is asked for each frame.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use outbox_axum::{Frame, LastEventId, Sse};

use crate::app::App;
use crate::events::ProjectExported;
use crate::projects::{Member, is_member};
use crate::refused::Result;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/projects/{project}/live", get(live))
}

async fn live(member: Member, State(app): State<App>, last: LastEventId) -> Result<Sse> {
    let (user, project, pool) = (member.user.id, member.project.id, app.pool().clone());
    let stream = app
        .outbox
        .live()
        .events(["*"])
        .tenant(project.to_string())
        .filter(|event| event.name != ProjectExported::NAME)
        .resume(last.as_deref())
        .subscribe()?;
    let may_see = move |_| {
        let pool = pool.clone();
        async move { is_member(&pool, user, project).await }
    };
    Ok(Sse::new(stream).check(may_see).map(|event| Some(Frame::of(event).message())))
}
