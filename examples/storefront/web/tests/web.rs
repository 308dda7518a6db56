//! The web role as a process: it links `orders` alone.

use std::process::{Output, Stdio};

use storefront_testing::{SUBSCRIBERS, Shop, an_order_line};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Runs the program to its end with this input.
async fn web(shop: &Shop, arguments: &[&str], input: &str) -> Output {
    let mut web = Command::new(env!("CARGO_BIN_EXE_storefront-web"));
    web.args(["--orders", "-"]).args(arguments).env("DATABASE_URL", shop.url());
    web.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut web = web.spawn().expect("the program starts");
    let mut pipe = web.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).await.expect("it reads its input");
    drop(pipe);
    web.wait_with_output().await.expect("it ends")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// S0-15: a program that links no subscriber still writes a job for every one, as soon as a worker has declared them.
#[tokio::test]
async fn it_fans_out_to_subscribers_that_it_does_not_link() {
    let shop = Shop::open().await;
    drop(shop.outbox().await);
    let output = web(&shop, &[], &an_order_line("1")).await;
    assert!(output.status.success(), "{}", said(&output));
    let handlers: Vec<_> = shop.jobs().await.into_iter().map(|(handler, _, _)| handler).collect();
    assert_eq!(handlers, SUBSCRIBERS);
}

/// S0-11: where nobody listens yet, the event is stored all the same, with no job. A subscriber receives what is published
/// from its first declaration on; what came before is for a replay.
#[tokio::test]
async fn without_subscribers_the_event_is_stored() {
    let shop = Shop::open().await;
    let output = web(&shop, &[], &an_order_line("1")).await;
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(shop.number("select count(*) from system.event").await, 1);
    assert_eq!(shop.jobs().await, []);
}

/// A request that is repeated, and a whole file that is taken again, publish nothing twice.
#[tokio::test]
async fn a_file_that_is_taken_again_publishes_nothing_twice() {
    let shop = Shop::open().await;
    drop(shop.outbox().await);
    let file = [an_order_line("1"), an_order_line("2")].join("\n");
    web(&shop, &[], &file).await;
    let again = web(&shop, &[], &file).await;
    assert_eq!(String::from_utf8_lossy(&again.stdout), "0 orders placed, 2 were placed already\n");
    assert_eq!(shop.jobs().await.len(), 10);
}

/// A file with a bad line is refused whole, with the line's number, or taken without it where that is asked for.
#[tokio::test]
async fn a_bad_line_is_refused_or_skipped() {
    let shop = Shop::open().await;
    let file = [an_order_line("1"), an_order_line("2").replace("12", "-12"), an_order_line("1")].join("\n");
    let refused = web(&shop, &[], &file).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("line 2: `lines[0].quantity`: invalid value: integer `-12`"), "{}", said(&refused));
    assert!(said(&refused).contains("line 3: order `1` is already on line 1"), "{}", said(&refused));
    assert_eq!(shop.number("select count(*) from orders.order").await, 0);
    let skipped = web(&shop, &["--on-bad-line", "skip"], &file).await;
    assert!(skipped.status.success(), "{}", said(&skipped));
    assert_eq!(shop.number("select count(*) from system.event").await, 1);
}
