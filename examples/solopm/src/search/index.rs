//! The index: a folder, one thread that writes to it, and a reader.

use std::path::Path;
use std::sync::Arc;

use tantivy::collector::TopDocs;
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::query::{BooleanQuery, QueryParser, TermSetQuery};
use tantivy::schema::{Field, INDEXED, STORED, STRING, Schema, TEXT, Value as _};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};
use tokio::sync::{mpsc, oneshot};

use super::{DocId, Document, Hit};
use crate::ids::ProjectId;

/// What the writer gathers in memory between two commits, in bytes: the least that it takes.
const MEMORY: usize = 15_000_000;
/// Most changes of one commit.
const BATCH: usize = 256;

/// Why the index does not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index refuses.
    #[error("the search index refuses")]
    Index(#[source] Arc<TantivyError>),
    /// Another process writes to it, or the thread that did is gone.
    #[error("this process does not write to the search index")]
    NotOurs,
}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> Self {
        Self::Index(Arc::new(error))
    }
}

/// A search index. Cheap to clone.
///
/// One process at a time writes to it. Another that opens it reads, and is not to run the handlers that write: see
/// [`writes`](Self::writes).
#[derive(Clone)]
pub struct SearchIndex {
    index: Index,
    fields: Fields,
    reader: IndexReader,
    orders: Option<mpsc::Sender<Order>>,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    id: Field,
    project: Field,
    title: Field,
    body: Field,
}

/// One change, and who waits for it.
struct Order {
    change: Change,
    done: oneshot::Sender<Result<(), SearchError>>,
}

enum Change {
    Put(Document),
    Remove(DocId),
    RemoveProject(ProjectId),
}

impl SearchIndex {
    /// Opens the index in a folder, or makes it.
    ///
    /// # Errors
    /// When the folder cannot be read or written, or holds something else.
    pub fn open(folder: &Path) -> Result<Self, SearchError> {
        let (schema, fields) = schema();
        let index = Index::open_or_create(MmapDirectory::open(folder).map_err(TantivyError::from)?, schema)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::OnCommitWithDelay).try_into()?;
        let orders = match index.writer_with_num_threads(1, MEMORY) {
            Ok(writer) => Some(writing(writer, IndexReader::clone(&reader), fields)),
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { index, fields, reader, orders })
    }

    /// Whether this process writes to it.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.orders.is_some()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reader.searcher().num_docs() == 0
    }

    /// Holds a document, instead of the one that has its id. Answers when it can be found.
    ///
    /// # Errors
    /// When the index refuses, or this process does not write to it.
    ///
    /// # Cancel safety
    /// Dropped in the middle, it takes place or not.
    pub async fn put(&self, document: Document) -> Result<(), SearchError> {
        self.change(Change::Put(document)).await
    }

    /// Holds that document no more; harmless where it did not.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn remove(&self, id: DocId) -> Result<(), SearchError> {
        self.change(Change::Remove(id)).await
    }

    /// Holds nothing of a project any more.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn remove_project(&self, project: ProjectId) -> Result<(), SearchError> {
        self.change(Change::RemoveProject(project)).await
    }

    async fn change(&self, change: Change) -> Result<(), SearchError> {
        let (done, answer) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or(SearchError::NotOurs)?;
        orders.send(Order { change, done }).await.map_err(|_| SearchError::NotOurs)?;
        answer.await.map_err(|_| SearchError::NotOurs)?
    }

    /// The best documents for these words in these projects, at most `most`. Blocks for as long as it reads.
    ///
    /// # Errors
    /// When the index refuses. Words that make no sense are left out.
    pub fn search(&self, words: &str, projects: &[ProjectId], most: usize) -> Result<Vec<Hit>, SearchError> {
        let Fields { id, project, title, body } = self.fields;
        let parser = QueryParser::for_index(&self.index, vec![title, body]);
        let (matching, _) = parser.parse_query_lenient(words);
        let within = TermSetQuery::new(projects.iter().map(|one| Term::from_field_i64(project, one.0)));
        let query = BooleanQuery::intersection(vec![matching, Box::new(within)]);
        let searcher = self.reader.searcher();
        let found = searcher.search(&query, &TopDocs::with_limit(most).order_by_score())?;
        let hit = |address| {
            let document: TantivyDocument = searcher.doc(address)?;
            let text =
                |field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
            let project = document.get_first(project).and_then(|value| value.as_i64()).unwrap_or_default();
            Ok(Hit { id: text(id), project: ProjectId(project), title: text(title) })
        };
        found.into_iter().map(|(_, address)| hit(address)).collect()
    }
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("writes", &self.writes()).finish_non_exhaustive()
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let fields = Fields {
        id: schema.add_text_field("id", STRING | STORED),
        project: schema.add_i64_field("project", INDEXED | STORED),
        title: schema.add_text_field("title", TEXT | STORED),
        body: schema.add_text_field("body", TEXT),
    };
    (schema.build(), fields)
}

/// A thread that writes. A commit takes its time, so each takes along whatever has come meanwhile; who asked is answered
/// behind it.
fn writing(mut writer: IndexWriter, reader: IndexReader, fields: Fields) -> mpsc::Sender<Order> {
    let (orders, mut coming) = mpsc::channel(BATCH);
    std::thread::spawn(move || {
        let mut waiting = Vec::with_capacity(BATCH);
        while let Some(order) = coming.blocking_recv() {
            waiting.push(order);
            while waiting.len() < BATCH
                && let Ok(order) = coming.try_recv()
            {
                waiting.push(order);
            }
            let written = written(&mut writer, &reader, fields, &waiting).map_err(SearchError::from);
            for order in waiting.drain(..) {
                // Nobody waits any more where a handler was cancelled.
                let _ = order.done.send(written.clone());
            }
        }
    });
    orders
}

/// All of it, or nothing.
fn written(
    writer: &mut IndexWriter,
    reader: &IndexReader,
    fields: Fields,
    orders: &[Order],
) -> Result<(), TantivyError> {
    let applied = orders.iter().try_for_each(|order| apply(writer, fields, &order.change));
    match applied.and_then(|()| writer.commit()) {
        Ok(_) => reader.reload(),
        Err(error) => writer.rollback().and(Err(error)),
    }
}

fn apply(writer: &IndexWriter, fields: Fields, change: &Change) -> Result<(), TantivyError> {
    let by_id = |id: DocId| Term::from_field_text(fields.id, &id.to_string());
    match change {
        Change::Remove(id) => drop(writer.delete_term(by_id(*id))),
        Change::RemoveProject(project) => drop(writer.delete_term(Term::from_field_i64(fields.project, project.0))),
        Change::Put(document) => {
            writer.delete_term(by_id(document.id));
            let mut fresh = TantivyDocument::default();
            fresh.add_text(fields.id, document.id.to_string());
            fresh.add_i64(fields.project, document.project.0);
            fresh.add_text(fields.title, &document.title);
            fresh.add_text(fields.body, &document.body);
            writer.add_document(fresh)?;
        }
    }
    Ok(())
}
