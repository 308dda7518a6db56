//! What can happen to pages and pictures.

use outbox::prelude::*;

/// A page can be seen by everybody.
#[event("content.published")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentPublished {
    /// Which page.
    #[subject]
    pub content_id: String,
    /// Where it is, as `/sale`.
    pub path: String,
}

/// A picture or film was brought into all its sizes.
#[event("asset.processed")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetProcessed {
    /// Which one.
    #[subject]
    pub asset_id: String,
    /// Where they lie.
    pub renditions: Vec<String>,
}
