//! A worker that dies in the middle of sending.

use std::process::Stdio;

use outbox_testing::eventually;
use tokio::process::{Child, Command};

use storefront_testing::{Shop, an_order, place};

const CONFIRMATION: &str = "notifications.send_order_confirmation";

/// The worker program on this shop, ended with SIGKILL when it is dropped.
fn worker(shop: &Shop, name: &str, mail_latency: &str) -> Child {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_storefront-worker"));
    worker.args(["--name", name, "--lease", "2000", "--mail-latency", mail_latency, "--until-input-ends"]);
    worker.env("DATABASE_URL", shop.url()).stdin(Stdio::piped()).stdout(Stdio::null());
    worker.kill_on_drop(true).spawn().expect("the worker starts")
}

/// S0-43: a worker that is killed behind the letter and before the commit: its job alone runs again, and no second
/// confirmation is sent.
#[tokio::test]
async fn a_kill_while_sending_repeats_that_job_alone() {
    let shop = Shop::open().await;
    place(&shop.outbox().await, &an_order("10248")).await;

    // The provider has the letter and takes a minute to say so.
    let mut dying = worker(&shop, "dying", "60000");
    let sending = "select (select count(*) from notifications.postbox) +
                          (select count(*) from system.job where status = 'succeeded')";
    eventually("the letter is out and the others are done", async || (shop.number(sending).await == 5).then_some(()))
        .await;
    assert_eq!(shop.status_of(CONFIRMATION).await, "running");
    dying.kill().await.unwrap();
    assert_eq!(shop.number("select count(*) from notifications.sent_confirmation").await, 0, "the mark died with it");

    let _next = worker(&shop, "next", "0");
    eventually("the confirmation is done", async || (shop.status_of(CONFIRMATION).await == "succeeded").then_some(()))
        .await;
    for (handler, status, attempts) in shop.jobs().await {
        let expected = if handler == CONFIRMATION { 2 } else { 1 };
        assert_eq!((status.as_str(), attempts), ("succeeded", expected), "{handler}");
    }
    assert_eq!(shop.number("select count(*) from system.event").await, 1, "nothing is fanned out again");
    assert_eq!(shop.number("select count(*) from notifications.sent_confirmation").await, 1);
    assert_eq!(shop.number("select count(*) from notifications.postbox").await, 1, "one letter");
    assert_eq!(shop.number("select sum(requests)::bigint from notifications.postbox").await, 2, "asked for twice");
}
