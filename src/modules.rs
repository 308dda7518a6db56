/// The crates, or modules, whose handlers this program must have.
///
/// The compiler does not load a dependency that no source line names: its subscribers would be missing without a
/// warning. Name every crate that declares events, jobs or subscribers here, once, in the library of the application:
///
/// ```text
/// outbox::modules![orders, inventory, notifications];
/// ```
///
/// A crate that is not in `Cargo.toml` is a compile error at its name, and one that declares nothing is refused by
/// `build()`. Each program and each integration test loads what *it* names, so let them call a function of the library
/// that holds this line.
///
/// Modules of the same crate may stand in the list too:
///
/// ```
/// mod greetings {
///     use outbox::prelude::*;
///
///     #[event("greeting.sent")]
///     pub struct GreetingSent;
/// }
///
/// outbox::modules![greetings];
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! modules {
    () => {
        ::core::compile_error! { "name the crates whose handlers this program must have: `outbox::modules![orders, inventory];`" }
    };
    ($($module:ident),+ $(,)?) => {
        $(
            $crate::__private::__load!($module);
            $crate::__private::inventory::submit! {
                $crate::__private::RequiredModule {
                    name: ::core::stringify!($module),
                    said_in: ::core::module_path!(),
                    place: $crate::__private::Place {
                        package: ::core::env!("CARGO_PKG_NAME"),
                        module_path: ::core::module_path!(),
                        file: ::core::file!(),
                        line: ::core::line!(),
                    },
                }
            }
        )+
    };
}
