//! A test is a program of its own: it has the handlers because it calls the library that names them.

#[test]
fn a_test_that_calls_the_library_has_every_handler() {
    assert_eq!(app::registry().subscribers().len(), 5);
}
