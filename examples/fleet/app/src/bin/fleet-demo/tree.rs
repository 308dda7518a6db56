//! A trace, put together from what both services have written down.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use platform::trace::SpanRecord;

/// The spans of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    trace: String,
    spans: Vec<SpanRecord>,
}

impl Tree {
    /// All spans of this trace in these files. A line that is being written just now is left for the next time.
    pub(crate) fn read(files: &[PathBuf], trace: u128) -> anyhow::Result<Self> {
        let trace = format!("{trace:032x}");
        let mut spans = Vec::new();
        for file in files.iter().filter(|file| file.is_file()) {
            let text = std::fs::read_to_string(file)?;
            let lines = text.lines().filter(|line| line.contains(&trace));
            spans.extend(lines.filter_map(|line| serde_json::from_str::<SpanRecord>(line).ok()));
        }
        spans.retain(|span| span.trace == trace);
        spans.sort_by_key(|span| span.began);
        Ok(Self { trace, spans })
    }

    pub(crate) fn trace(&self) -> &str {
        &self.trace
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Spans whose parent is no span of the tree: the request alone, in a trace that is whole.
    pub(crate) fn roots(&self) -> Vec<&SpanRecord> {
        let there: BTreeSet<&str> = self.spans.iter().map(|span| span.span.as_str()).collect();
        self.spans.iter().filter(|span| !there.contains(span.parent.as_str())).collect()
    }

    /// Whether this was done, in this service.
    pub(crate) fn has(&self, service: &str, what: &str) -> bool {
        self.spans.iter().any(|span| span.service == service && what_of(span) == what)
    }

    /// As it is read: who did what below what, when, and for how long.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let Some(began) = self.spans.first().map(|span| span.began) else { return text };
        for root in self.roots() {
            self.write(root, began, "", "", &mut text);
        }
        text
    }

    fn write(&self, span: &SpanRecord, began: u64, lead: &str, below: &str, text: &mut String) {
        let at = millis(span.began.saturating_sub(began));
        let what = format!("{lead}{:<8} {}", span.service, what_of(span));
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {what:<64}{at:>10.1} ms {:>9.1} ms", millis(span.took));
        // In order of their beginning, as all of them are.
        let children: Vec<_> = self.spans.iter().filter(|other| other.parent == span.span).collect();
        for (place, child) in children.iter().enumerate() {
            let is_last = place + 1 == children.len();
            let (branch, trunk) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.write(child, began, &format!("{below}{branch}"), &format!("{below}{trunk}"), text);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people, and far below 2^52")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// `execution billing.charge`, `relay fleet.policy.created.v1`.
fn what_of(span: &SpanRecord) -> String {
    let detail = ["handler", "route", "event", "message", "path"].iter().find_map(|name| span.fields.get(*name));
    match detail {
        Some(detail) => format!("{} {detail}", span.name),
        None => span.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn span(service: &str, name: &str, span: &str, parent: &str, began: u64) -> SpanRecord {
        SpanRecord {
            trace: format!("{:032x}", 7),
            span: span.to_owned(),
            parent: parent.to_owned(),
            service: service.to_owned(),
            name: name.to_owned(),
            fields: BTreeMap::new(),
            began,
            took: 1_500,
        }
    }

    /// What one step set in motion stands below it by when it began, in whichever order and by whichever service it was written down.
    #[test]
    fn what_is_below_a_step_is_in_order_of_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["policy", "billing"].map(|name| folder.path().join(name));
        let write = |file: &PathBuf, spans: &[SpanRecord]| {
            let lines = spans.iter().map(|span| serde_json::to_string(span).unwrap() + "\n");
            std::fs::write(file, lines.collect::<String>()).unwrap();
        };
        let (third, first) = (span("policy", "third", "d", "a", 4_000), span("policy", "first", "b", "a", 2_000));
        write(&files[0], &[third, first, span("policy", "request", "a", "client", 1_000)]);
        write(&files[1], &[span("billing", "second", "c", "a", 3_000)]);
        let text = Tree::read(&files, 7).unwrap().text();
        let order: Vec<_> = ["request", "first", "second", "third"].map(|name| text.find(name).unwrap()).into();
        assert!(order.is_sorted(), "{text}");
    }

    /// Spans of both services make one tree, whose root is the request; one whose parent is lost would be a second root.
    #[test]
    fn spans_of_both_services_make_one_tree() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["policy", "billing", "nothing"].map(|name| folder.path().join(name));
        let lines = |spans: &[SpanRecord]| {
            spans.iter().map(|span| serde_json::to_string(span).unwrap() + "\n").collect::<String>()
        };
        let policy = [span("policy", "publish", "b", "a", 2_000), span("policy", "request", "a", "client", 1_000)];
        std::fs::write(&files[0], lines(&policy)).unwrap();
        let other = SpanRecord { trace: "of another".to_owned(), ..policy[0].clone() };
        let billing = [span("billing", "ingest", "c", "b", 9_000), other];
        std::fs::write(&files[1], lines(&billing) + "{\"trace\":\"half a li").unwrap();
        let tree = Tree::read(&files, 7).unwrap();
        assert_eq!((tree.len(), tree.roots().len()), (3, 1));
        assert!(tree.has("billing", "ingest") && !tree.has("policy", "ingest"));
        let text = tree.text();
        let lines: Vec<_> = text.lines().collect();
        let expected = ["  policy   request ", "  └─ policy   publish ", "     └─ billing  ingest "];
        assert_eq!(lines.len(), expected.len(), "{text}");
        assert!(lines.iter().zip(expected).all(|(line, expected)| line.starts_with(expected)), "{text}");
        assert!(text.ends_with("8.0 ms       1.5 ms\n"), "{text}");
    }
}
