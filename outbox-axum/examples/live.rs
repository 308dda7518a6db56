//! What changes in one browser is seen in all others, by those who may see it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use outbox::Outbox;
use outbox_axum::{LastEventId, Sse};
use sqlx::PgPool;

/// `GET /projects/{project}/live`: the issues of a project, as they change.
async fn live(State(outbox): State<Outbox>, Path(project): Path<String>, last: LastEventId) -> Result<Sse, StatusCode> {
    let stream = outbox.live().events(["issue.*"]).tenant(&project).resume(last.as_deref()).subscribe();
    let stream = stream.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    // Asked for every frame: who is no member any more sees no more.
    Ok(Sse::new(stream).check(move |_event| is_member(outbox.pool().clone(), project.clone())))
}

async fn is_member(pool: PgPool, project: String) -> Result<bool, sqlx::Error> {
    let user = "ann"; // of the request's session
    let member = sqlx::query_scalar("select exists (select from member where project = $1 and name = $2)");
    member.bind(project).bind(user).fetch_one(&pool).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = PgPool::connect(&std::env::var("DATABASE_URL")?).await?;
    outbox::migrate(&pool).await?;
    let outbox = Outbox::builder(pool).build().await?;
    let streams = outbox.live();
    let shutdown = async move {
        outbox::shutdown_signal().await;
        streams.close(); // or the server would wait for them; `outbox.run(..)` closes them by itself
    };
    let router = axum::Router::new().route("/projects/{project}/live", axum::routing::get(live)).with_state(outbox);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await?;
    Ok(())
}
