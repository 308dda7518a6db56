//! Search: what is in an index beside the database, and how it stays as the rows are.
//!
//! [`route`] maps an event to the document that it concerns and enqueues a [`SearchSync`] in the event's own transaction;
//! [`search_sync`] has the index hold that document as its row is *now*, whatever the event said.

mod current;
mod http;
mod index;
mod rebuild;
mod route;
mod sync;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ProjectId;

pub(crate) use http::routes;
pub use index::{SearchError, SearchIndex};
pub use rebuild::rebuild;
pub use route::{SearchSync, route};
pub use sync::search_sync;

/// Which index a document is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    /// Projects.
    Projects,
    /// Epics.
    Epics,
    /// Issues.
    Issues,
    /// Comments.
    Comments,
    /// Pages of wikis.
    Pages,
}

/// Which document: `issues/12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DocId {
    /// Its index.
    pub index: Shelf,
    /// The row's id.
    pub id: i64,
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = match self.index {
            Shelf::Projects => "projects",
            Shelf::Epics => "epics",
            Shelf::Issues => "issues",
            Shelf::Comments => "comments",
            Shelf::Pages => "pages",
        };
        write!(f, "{index}/{}", self.id)
    }
}

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Which one.
    pub id: DocId,
    /// Its project, whose members may find it.
    pub project: ProjectId,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Which one, as `issues/12`.
    pub id: String,
    /// Its project.
    pub project: ProjectId,
    /// Its title.
    pub title: String,
}
