//! People and a project to begin with, for the demonstration and the tests in browsers.

use outbox::prelude::*;
use serde::Serialize;
use sqlx::PgConnection;

use crate::context;
use crate::ids::{ProjectId, UserId};
use crate::issues::{self, Place};
use crate::projects::{self, Project, Role};
use crate::refused::Result;
use crate::users::{self, Draft, EmailMode};

/// What there is now.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// The project.
    pub project: ProjectId,
    /// Each user's name, which is the token too, and what they prefer.
    pub people: Vec<(UserId, String)>,
}

/// ann, whose project it is, runs the server; bob hears of things at once, cem once a night.
const PEOPLE: [(&str, &str, EmailMode, bool); 3] = [
    ("ann", "Ann Abt", EmailMode::Instant, true),
    ("bob", "Bob Berg", EmailMode::Instant, false),
    ("cem", "Cem Cakir", EmailMode::DailyDigest, false),
];

const ISSUES: [(&str, &str, &str); 7] = [
    ("The front door sticks", "It does since the rain. @bob has a plane.", "doing"),
    ("Paint the fence", "Larch, two coats.", "todo"),
    ("Order roof tiles", "", "todo"),
    ("Sweep the chimney", "Before the first frost.", "todo"),
    ("Mend the gutter", "", "doing"),
    ("Survey the attic", "", "done"),
    ("Find a carpenter", "", "done"),
];

/// Whether there is nobody yet.
///
/// # Errors
/// When the database does.
pub async fn is_wanted(outbox: &Outbox) -> Result<bool> {
    Ok(sqlx::query_scalar("select not exists (select from solopm.users)").fetch_one(outbox.pool()).await?)
}

/// Writes it, all in one transaction.
///
/// # Errors
/// When it is there already, or the database refuses.
pub async fn write(outbox: &Outbox) -> Result<Sample> {
    let mut tx = outbox.begin().await?;
    let people = outbox.scope(people(&mut tx)).await?;
    let ann = people[0].0;
    let project = outbox.scope_with(context::of_user(ann), project(&mut tx, ann, &people)).await?;
    tx.commit().await?;
    Ok(Sample { project: project.id, people })
}

async fn people(tx: &mut PgConnection) -> Result<Vec<(UserId, String)>> {
    let mut people = Vec::new();
    for (username, name, email_mode, admin) in PEOPLE {
        let email = format!("{username}@example.com");
        let draft = Draft { username: username.to_owned(), name: name.to_owned(), email, email_mode, admin };
        let user = users::create(tx, &draft).await?;
        users::give_token(tx, user.id, username).await?;
        people.push((user.id, username.to_owned()));
    }
    Ok(people)
}

async fn project(tx: &mut PgConnection, ann: UserId, people: &[(UserId, String)]) -> Result<Project> {
    let text =
        projects::Text { title: "The old house".to_owned(), description: "Everything that is to do.".to_owned() };
    let project = projects::create(tx, ann, &text).await?;
    for (user, _) in &people[1..] {
        projects::add_member(tx, &project, *user, Role::Member).await?;
    }
    for (title, description, status) in ISSUES {
        let draft = issues::Draft { title: title.to_owned(), description: description.to_owned() };
        let issue = issues::create(tx, &project, Some(ann), &draft).await?;
        issues::set_status(tx, &project, issue.number, status).await?;
    }
    issues::assign(tx, &project, 1, people[1].0).await?;
    issues::move_to(tx, &project, 3, Place { rank: 1, epic_id: None, parent_id: None }).await?;
    Ok(project)
}
