//! The rules: which event is news for whom. Each is a subscriber with a job of its own, so none waits for another.
//!
//! | what happened | who is told |
//! |---|---|
//! | an issue was reported | who is mentioned in it |
//! | its words changed | who is mentioned now and was not before |
//! | its status changed | who reported it, who works on it |
//! | somebody is to work on it, or not any more | that one |
//! | a comment | who reported the issue, who works on it, who is mentioned |
//! | a comment's words changed | who is mentioned now and was not before |
//! | a wiki page was written or changed | who is mentioned, as above |
//! | somebody joined, left, or may do something else | that one |
//! | a project has another owner | the new one and the former |
//! | a project is gone | who was a member |
//!
//! Never the actor, and nobody of anything else.

use outbox::prelude::*;

use super::audience::Audience;
use crate::events::{
    CommentCreated, CommentUpdated, IssueAssigned, IssueCreated, IssueStatusChanged, IssueUnassigned, IssueUpdated,
    ProjectDeleted, ProjectMemberAdded, ProjectMemberRemoved, ProjectOwnershipTransferred, ProjectRoleChanged,
    WikiCreated, WikiUpdated,
};

#[subscriber(event = "issue.created", name = "notifications.issue_created", backoff = exponential("60s", max = "1h"))]
async fn issue_created(event: IssueCreated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You are mentioned in {}", event.shown);
    Audience::members(&[]).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "issue.updated", name = "notifications.issue_updated", backoff = exponential("60s", max = "1h"))]
async fn issue_updated(event: IssueUpdated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You are mentioned in {}", event.shown);
    Audience::members(&[]).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "issue.status_changed", name = "notifications.issue_status_changed", backoff = exponential("60s", max = "1h"))]
async fn issue_status_changed(event: IssueStatusChanged, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let status = event.changes.get("status").and_then(|change| change.new.as_ref()?.as_str()).unwrap_or("another");
    let headline = format!("{} is now: {status}", event.shown);
    Audience::members(&event.shown.watchers).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "issue.assigned", name = "notifications.issue_assigned", backoff = exponential("60s", max = "1h"))]
async fn issue_assigned(event: IssueAssigned, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("{} is yours now", event.shown);
    Audience::members(&[event.assignee]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "issue.unassigned", name = "notifications.issue_unassigned", backoff = exponential("60s", max = "1h"))]
async fn issue_unassigned(event: IssueUnassigned, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("{} is not yours any more", event.shown);
    Audience::members(&[event.assignee]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "comment.created", name = "notifications.comment_created", backoff = exponential("60s", max = "1h"))]
async fn comment_created(event: CommentCreated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("New comment on {}", event.shown);
    Audience::members(&event.shown.watchers).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "comment.updated", name = "notifications.comment_updated", backoff = exponential("60s", max = "1h"))]
async fn comment_updated(event: CommentUpdated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You are mentioned in a comment on {}", event.shown);
    Audience::members(&[]).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "wiki.created", name = "notifications.wiki_created", backoff = exponential("60s", max = "1h"))]
async fn wiki_created(event: WikiCreated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You are mentioned on the page {} ({})", event.page_title, event.project_title);
    Audience::members(&[]).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "wiki.updated", name = "notifications.wiki_updated", backoff = exponential("60s", max = "1h"))]
async fn wiki_updated(event: WikiUpdated, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You are mentioned on the page {} ({})", event.page_title, event.project_title);
    Audience::members(&[]).mentioned(&event.mentions).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "project.member_added", name = "notifications.member_added", backoff = exponential("60s", max = "1h"))]
async fn member_added(event: ProjectMemberAdded, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You belong to {} now, as {}", event.project_title, event.role);
    Audience::members(&[event.user]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "project.member_removed", name = "notifications.member_removed", backoff = exponential("60s", max = "1h"))]
async fn member_removed(event: ProjectMemberRemoved, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("You do not belong to {} any more", event.project_title);
    Audience::anyone(&[event.user]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "project.role_changed", name = "notifications.role_changed", backoff = exponential("60s", max = "1h"))]
async fn role_changed(event: ProjectRoleChanged, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let role = event.changes.get("role").and_then(|change| change.new.as_ref()?.as_str()).unwrap_or("another");
    let headline = format!("In {} you are {role} now", event.project_title);
    Audience::members(&[event.user]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "project.ownership_transferred", name = "notifications.ownership_transferred", backoff = exponential("60s", max = "1h"))]
async fn ownership_transferred(
    event: ProjectOwnershipTransferred,
    envelope: Envelope,
    mut tx: Tx<'_>,
) -> HandlerResult {
    let headline = format!("{} has another owner", event.project_title);
    Audience::members(&[event.from, event.to]).told(&mut tx, &envelope, &headline).await
}

#[subscriber(event = "project.deleted", name = "notifications.project_deleted", backoff = exponential("60s", max = "1h"))]
async fn project_deleted(event: ProjectDeleted, envelope: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    let headline = format!("{} is gone", event.project_title);
    Audience::anyone(&event.members).told(&mut tx, &envelope, &headline).await
}
