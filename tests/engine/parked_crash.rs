//! Effects that must not be had twice, and workers that die, or freeze, in the middle of them.

use outbox::Answer;
use outbox_testing::Sandbox;
use outbox_testing::fault::{self, Point, Proxy};

use crate::floor::{Do, Floor, ask};
use crate::process::{Process, command, command_to};

/// S2-72: a worker is killed in the middle of a call that says `unknown = park`. A node that does not even link the handler parks its job in place of a retry;
/// nobody calls again until the owner has answered that it did not take effect.
#[tokio::test]
async fn a_kill_in_the_middle_is_parked_by_any_node() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let first = Process::start(&floor, &["bank.pay"]).await;
    first.until("began bank.pay a").await;
    let stranger = floor.worker(&["shelf.fill"]).await;
    first.signal("KILL");
    let job = floor.until("bank.pay", event, "failed").await;
    assert_eq!((job.reason.as_deref(), job.attempts, job.crashes), (Some("unknown"), 1, 1));
    let why = "its worker died while it ran: whether its effect took place is not known";
    assert_eq!(job.last_error.as_deref(), Some(why));
    let second = floor.worker(&["bank.pay"]).await;
    ask(&outbox, "b", []).await;
    floor.until_begun("bank.pay", "b", 1).await;
    assert_eq!(floor.stage.executions("bank.pay", "a"), 0, "it is not begun again");
    second.outbox.parked().resolve(job.id, Answer::DidNot).await.unwrap();
    floor.until_begun("bank.pay", "a", 1).await;
    let job = floor.job("bank.pay", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.crashes), ("running", 1, 0), "a new life");
    second.stop().await;
    stranger.stop().await;
}

/// S2-72: a worker dies behind the call, before what it came to is written: the effect is there and nobody knows it. Its owner says so,
/// and the job has succeeded without a second call.
#[tokio::test]
async fn an_outcome_that_was_not_written_is_parked() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let event = ask(&outbox, "a", []).await;
    let proxy = Proxy::start(&Sandbox::server_url().await).unwrap();
    let unwritten = proxy.hold_at(Point::before("settle"));
    let first = fault::Process::spawn(&mut command_to(&proxy.url(), &floor, &["bank.pay"])).unwrap();
    first.until("ended bank.pay a").await;
    unwritten.until_reached().await;
    first.kill().unwrap();
    let second = floor.worker(&["bank.pay"]).await;
    let job = floor.until("bank.pay", event, "failed").await;
    assert_eq!(job.reason.as_deref(), Some("unknown"));
    second.outbox.parked().resolve(job.id, Answer::TookEffect).await.unwrap();
    let job = floor.job("bank.pay", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("succeeded", Some("confirmed")));
    assert_eq!((first.heard("began bank.pay a"), floor.stage.executions("bank.pay", "a")), (1, 0));
    second.stop().await;
}

/// S2-72: a worker is frozen in the middle of a call for longer than its lease: the job is parked, and when the worker goes on, what it comes
/// to is refused as any late word is, so that the owner's answer stays the only one that counts.
#[tokio::test]
async fn a_worker_that_was_frozen_changes_nothing_any_more() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["bank.pay"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Slow(2_500)]).await;
    let first = fault::Process::spawn(&mut command(&floor, &["bank.pay"]).await).unwrap();
    first.until("began bank.pay a").await;
    first.freeze().unwrap();
    let stranger = floor.worker(&["shelf.fill"]).await;
    floor.until("bank.pay", event, "failed").await;
    first.thaw().unwrap();
    first.until("ended bank.pay a").await;
    // It has begun anew, and goes on with what is due.
    ask(&outbox, "b", []).await;
    first.until("ended bank.pay b").await;
    let job = floor.job("bank.pay", event).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("unknown")));
    assert_eq!(first.heard("began bank.pay a"), 1);
    stranger.stop().await;
}
