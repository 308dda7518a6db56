//! What another service can ask for.

use serde::Deserialize;
use sqlx::PgConnection;

use crate::projects::Project;
use crate::refused::Result;
use crate::{comments, issues};

/// What it asks for: `{"action": "create_issue", "title": ".."}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum Wish {
    /// An issue, with everything that is known of it.
    CreateIssue {
        title: String,
        #[serde(default)]
        description: String,
        comment: Option<String>,
    },
    /// A comment on an issue.
    Comment { issue: i32, body: String },
    /// Another status of an issue.
    SetStatus { issue: i32, status: String },
}

/// Does it, and says what was done.
pub(super) async fn act(tx: &mut PgConnection, project: &Project, wish: Wish) -> Result<String> {
    match wish {
        Wish::CreateIssue { title, description, comment } => {
            let issue = issues::create(tx, project, None, &issues::Draft { title, description }).await?;
            if let Some(body) = comment {
                comments::create(tx, project, issue.number, None, &body).await?;
            }
            Ok(format!("#{} was created", issue.number))
        }
        Wish::Comment { issue, body } => {
            comments::create(tx, project, issue, None, &body).await?;
            Ok(format!("#{issue} has a comment"))
        }
        Wish::SetStatus { issue, status } => {
            issues::set_status(tx, project, issue, &status).await?;
            Ok(format!("#{issue} is now: {status}"))
        }
    }
}
