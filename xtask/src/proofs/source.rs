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
    use std::path::Path;

    use proptest::prelude::*;

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

    /// The tests of a file as a parser of the whole language finds them.
    fn by_the_grammar(items: &[syn::Item], within: &str, found: &mut Vec<(String, String)>) {
        for item in items {
            match item {
                syn::Item::Mod(module) => {
                    let items = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                    by_the_grammar(items, &format!("{within}{}::", module.ident), found);
                }
                syn::Item::Fn(function) if function.attrs.iter().any(marks) => {
                    let docs: Vec<_> = function.attrs.iter().filter_map(documentation).collect();
                    found.push((format!("{within}{}", function.sig.ident), docs.join("\n")));
                }
                syn::Item::Macro(call)
                    if call.mac.path.segments.last().is_some_and(|name| name.ident == "proptest") =>
                {
                    let functions = call.mac.parse_body_with(|input: syn::parse::ParseStream<'_>| {
                        input.call(syn::Attribute::parse_inner)?;
                        let mut functions = Vec::new();
                        while !input.is_empty() {
                            let attributes = input.call(syn::Attribute::parse_outer)?;
                            input.parse::<syn::Token![fn]>()?;
                            let name: syn::Ident = input.parse()?;
                            let parameters;
                            syn::parenthesized!(parameters in input);
                            parameters.parse::<proc_macro2::TokenStream>()?;
                            input.parse::<syn::Block>()?;
                            functions.push((attributes, name));
                        }
                        Ok(functions)
                    });
                    for (attributes, name) in functions.expect("functions") {
                        let docs: Vec<_> = attributes.iter().filter_map(documentation).collect();
                        found.push((format!("{within}{name}"), docs.join("\n")));
                    }
                }
                _ => {}
            }
        }
    }

    fn marks(attribute: &syn::Attribute) -> bool {
        attribute.path().segments.last().is_some_and(|name| name.ident == "test")
    }

    fn documentation(attribute: &syn::Attribute) -> Option<String> {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("doc").then(|| text.value())
    }

    fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    /// Every test of this project is found, with its documentation, and nothing else.
    #[test]
    fn this_project_is_read_as_the_grammar_says() {
        let (mut files, mut tests) = (Vec::new(), 0);
        sources(&crate::workspace::root(), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("text");
            let Ok(parsed) = syn::parse_file(&text) else { continue };
            let mut expected = Vec::new();
            by_the_grammar(&parsed.items, "", &mut expected);
            let found: Vec<_> = read(&text).tests.into_iter().map(|test| (test.path, test.docs)).collect();
            assert_eq!(found, expected, "{}", file.display());
            tests += found.len();
        }
        assert!(tests > 500, "{tests}");
    }

    /// What misleads a reader that does not know what is quoted.
    const DECOYS: [&str; 14] = [
        "// #[test] fn x() {}\n",
        "/* #[test] fn x() { /* } */ */",
        "const A: &str = \"#[test] fn x() {}\\\" }\";",
        "const A: &str = r#\"#[test] fn x() { \"#;",
        "const A: [char; 3] = ['{', '\\'', '\"'];",
        "const A: u8 = b'{';",
        "fn x<'a>(y: &'a str) -> &'a str { #[test] fn z() {} y }",
        "#[doc = r#\"]{\"#] struct X;",
        "#[cfg(test)] mod x { struct Y; }",
        "macro_rules! x { () => { #[test] fn y() {} } }",
        "/// S0-1\nfn x() { let r#mod = 1; }",
        "impl X { #[test] fn y() {} }",
        "#![allow(x)]",
        "struct X { y: [u8; { 1 }] }",
    ];

    proptest! {
        /// Tests are found with their own documentation whatever stands around them.
        #[test]
        fn tests_are_found_among_anything(pieces in proptest::collection::vec((any::<bool>(), 0..DECOYS.len(), 0..3_usize), 0..12)) {
            let (mut source, mut expected) = (String::new(), Vec::new());
            for (at, (is_test, decoy, depth)) in pieces.into_iter().enumerate() {
                if is_test {
                    let wrapped = ["mod m { ", "mod n { "].into_iter().cycle().take(depth).collect::<String>();
                    let test = format!("{wrapped}/// about {at}\n#[should_panic(expected = \"]\")] #[test] fn t{at}() {{}} {}\n", "}".repeat(depth));
                    source.push_str(&test);
                    expected.push((["", "m::", "m::n::"][depth].to_owned() + &format!("t{at}"), format!("about {at}")));
                } else {
                    source += DECOYS[decoy];
                    source.push('\n');
                }
            }
            prop_assert_eq!(found(&source), expected, "{}", source);
        }
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
