//! What can happen, in the past tense: the fifty events, a file for each resource.
//!
//! Every event carries what its readers show (titles, numbers, names) as it was at that moment: a consumer that runs a
//! minute later, after a rename or a deletion, still tells it as it was. Who did it, in which project and on whose behalf
//! is the context of the message, see [`context`](crate::context), and no field of any event.

mod attachment;
mod auth;
mod comment;
mod epic;
mod issue;
mod label;
mod link;
mod project;
mod shown;
mod user;
mod webhook;
mod wiki;

pub use attachment::{AttachmentDeleted, AttachmentUploaded};
pub use auth::{AuthLoginFailed, AuthLoginSucceeded, AuthTokenCreated, AuthTokenRevoked};
pub use comment::{CommentCreated, CommentDeleted, CommentResolved, CommentUnresolved, CommentUpdated};
pub use epic::{EpicCreated, EpicDeleted, EpicStatusChanged, EpicUpdated};
pub use issue::{
    IssueAssigned, IssueBlockerAdded, IssueBlockerRemoved, IssueCreated, IssueLabelAdded, IssueLabelRemoved,
    IssueMoved, IssueStatusChanged, IssueUnassigned, IssueUpdated,
};
pub use label::{LabelCreated, LabelDeleted, LabelUpdated};
pub use link::{LinkAdded, LinkRemoved};
pub use project::{
    ProjectCreated, ProjectDeleted, ProjectDependencyAdded, ProjectDependencyRemoved, ProjectExported,
    ProjectMemberAdded, ProjectMemberRemoved, ProjectOwnershipTransferred, ProjectRoleChanged, ProjectStatusChanged,
    ProjectUpdated,
};
pub use shown::ShownIssue;
pub use user::{UserCreated, UserDeleted, UserUpdated};
pub use webhook::{WebhookFailed, WebhookProcessed, WebhookReceived};
pub use wiki::{WikiCreated, WikiDeleted, WikiUpdated};
