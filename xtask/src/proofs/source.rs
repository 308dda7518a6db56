//! Finds the tests of one source file with their documentation, and the modules that it declares in other files.

use super::tokens::{Token, tokens};

/// A function that a test runner calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// The modules within the file, then the function: `inner::name`.
    pub(super) path: String,
    /// The documentation directly above it.
    pub(super) docs: String,
}

/// `mod name;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// The modules within the file that it is declared in, then its own name.
    pub(super) path: Vec<String>,
    /// `#[path = ".."]`
    pub(super) file: Option<String>,
}

/// What one file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Source {
    /// Its tests.
    pub(super) tests: Vec<Test>,
    /// Its modules in other files.
    pub(super) modules: Vec<Declared>,
}

/// What a pair of braces holds.
#[derive(Debug)]
enum Scope {
    /// Items of a module.
    Module(String),
    /// Items that a macro passes on as they are.
    Transparent,
    /// Anything else: no test in there has a path of its own.
    Closed,
}

/// Reads one file.
pub(super) fn read(text: &str) -> Source {
    let mut reader = Reader::default();
    let tokens = tokens(text);
    let mut at = 0;
    while at < tokens.len() {
        at += reader.step(&tokens[at..]);
    }
    reader.source
}

#[derive(Default)]
struct Reader {
    source: Source,
    scopes: Vec<Scope>,
    docs: Vec<String>,
    attributes: Vec<String>,
    /// `proptest!` has been read, and its brace not yet.
    passing_on: bool,
}

impl Reader {
    /// Takes the next tokens and says how many.
    fn step(&mut self, tokens: &[Token]) -> usize {
        use Token::{Attribute, Doc, Mark, Word};
        match tokens {
            [Doc(text), ..] => self.docs.push(text.clone()),
            [Attribute(text), ..] => self.attributes.push(text.clone()),
            [Word(keyword), Word(name), Mark(';'), ..] if keyword == "mod" => return self.declare(name),
            [Word(keyword), Word(name), Mark('{'), ..] if keyword == "mod" => return self.open(name),
            [Word(keyword), Word(name), ..] if keyword == "fn" => return self.function(name),
            [Word(name), Mark('!'), ..] if name == "proptest" => self.passing_on = true,
            [Mark('{'), ..] => {
                let scope = if self.passing_on { Scope::Transparent } else { Scope::Closed };
                self.scopes.push(scope);
                self.forget();
            }
            [Mark('}'), ..] => {
                self.scopes.pop();
                self.forget();
            }
            [Mark(';'), ..] => self.forget(),
            _ => {}
        }
        1
    }

    fn declare(&mut self, name: &str) -> usize {
        if let Some(mut path) = self.path() {
            path.push(name.to_owned());
            let file = self.attributes.iter().find_map(|attribute| path_of(attribute));
            self.source.modules.push(Declared { path, file });
        }
        self.forget();
        3
    }

    fn open(&mut self, name: &str) -> usize {
        self.scopes.push(Scope::Module(name.to_owned()));
        self.forget();
        3
    }

    fn function(&mut self, name: &str) -> usize {
        if let Some(mut path) = self.path().filter(|_| self.attributes.iter().any(|attribute| marks_test(attribute))) {
            path.push(name.to_owned());
            self.source.tests.push(Test { path: path.join("::"), docs: self.docs.join("\n") });
        }
        self.forget();
        2
    }

    /// Documentation and attributes belong to the next item only.
    fn forget(&mut self) {
        self.docs.clear();
        self.attributes.clear();
        self.passing_on = false;
    }

    /// The modules around this place; `None` inside of anything else.
    fn path(&self) -> Option<Vec<String>> {
        let mut path = Vec::new();
        for scope in &self.scopes {
            match scope {
                Scope::Module(name) => path.push(name.clone()),
                Scope::Transparent => {}
                Scope::Closed => return None,
            }
        }
        Some(path)
    }
}

/// `test`, `tokio::test(flavor = ..)`, `outbox_testing::test`: the last word of the path says it.
fn marks_test(attribute: &str) -> bool {
    let path = attribute.split(['(', '=', ' ', '\n']).next().unwrap_or_default();
    path.rsplit("::").next() == Some("test")
}

fn path_of(attribute: &str) -> Option<String> {
    let value = attribute.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Declared, read};

    fn found(source: &str) -> Vec<(String, String)> {
        read(source).tests.into_iter().map(|test| (test.path, test.docs.trim().to_owned())).collect()
    }

    fn one(path: &str, docs: &str) -> Vec<(String, String)> {
        vec![(path.to_owned(), docs.to_owned())]
    }

    /// The documentation belongs to the test also when attributes stand between, before or after the mark.
    #[test]
    fn attributes_may_stand_between() {
        let source = "/// Proves S0-1.\n#[cfg(unix)]\n#[tokio::test(flavor = \"multi_thread\")]\n\
                      #[should_panic(expected = \"]\")]\npub(crate) async fn a() {}";
        assert_eq!(found(source), one("a", "Proves S0-1."));
        assert_eq!(found("#[test]\n/// Proves S0-1.\nfn a() {}"), one("a", "Proves S0-1."));
        assert_eq!(found("/// Proves S0-1.\n#[outbox_testing::test]\nasync fn a() {}"), one("a", "Proves S0-1."));
    }

    /// A plain comment above a test is not its documentation.
    #[test]
    fn plain_comments_do_not_count() {
        assert_eq!(found("// S0-1\n/* S0-2 */\n#[test]\nfn a() { /* S0-3 */ }"), one("a", ""));
    }

    /// A function that no runner calls is no test, whatever its documentation says.
    #[test]
    fn other_functions_do_not_count() {
        assert_eq!(
            found("/// S0-1\nfn a() {}\n/// S0-2\n#[cfg(test)]\nfn b() {}\n/// S0-3\n#[test_case]\nfn c() {}"),
            []
        );
        assert_eq!(found("const A: &str = \"/// S0-1\n#[test]\nfn a() {}\";"), []);
    }

    /// Documentation of one item does not reach the next.
    #[test]
    fn documentation_ends_with_its_item() {
        let source = "/// S0-1\nuse a::b;\n/// S0-2\nstruct C { d: u8 }\n/// S0-3\nfn e() {}\n#[test]\nfn f() {}";
        assert_eq!(found(source), one("f", ""));
    }

    /// Modules within the file are part of the path, and end where they end.
    #[test]
    fn nested_modules_are_part_of_the_path() {
        let source =
            "#[cfg(test)] mod a { mod b { #[test] fn c() { if x { '}' } } } #[test] fn d() {} }\n#[test] fn e() {}";
        let paths: Vec<_> = found(source).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a::b::c", "a::d", "e"]);
    }

    /// Tests that `proptest!` passes on count; functions inside of functions and in macros' rules do not.
    #[test]
    fn only_items_of_modules_count() {
        let source = "proptest! { #![config(x)] /// S0-1\n#[test] fn a(b in 0..9) {} }\n\
                      macro_rules! m { () => { #[test] fn c() {} } }\nfn d() { #[test] fn e() {} }";
        assert_eq!(found(source), one("a", "S0-1"));
    }

    /// Modules in other files are found, with the file where one is named.
    #[test]
    fn modules_in_other_files() {
        let source = "mod a;\nmod b { pub mod c; }\n#[path = \"x/y.rs\"]\nmod d;";
        let declared = |path: &[&str], file: Option<&str>| Declared {
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            file: file.map(str::to_owned),
        };
        let expected = [declared(&["a"], None), declared(&["b", "c"], None), declared(&["d"], Some("x/y.rs"))];
        assert_eq!(read(source).modules, expected);
    }
}
