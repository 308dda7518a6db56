//! The points that the engine's statements are.

use std::path::Path;

/// Every statement of the engine begins with a comment that names it as its file is named, so that a point can be set at it.
#[test]
fn each_statement_is_named_as_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../outbox-postgres/src/step");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            let name = match path.file_stem().unwrap().to_str().unwrap() {
                // One step with two statements: a point at `settle` means both.
                "settle_done" => "settle",
                name => name,
            };
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(&format!("-- {name}: ")), "{}: begin it with `-- {name}: ..`", path.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "the statements are not where they were");
}
