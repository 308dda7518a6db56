//! What one does, the other sees.

use crate::stage::Stage;

/// An issue that one moves, writes about and assigns changes in the other's page without a reload: the board, the audit, the badge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_does_the_other_sees() {
    let stage = Stage::set().await;
    let (ann, bob) = (&stage.ann, &stage.bob);
    stage.settled().await;
    ann.click(".card[data-issue='2'] .on").await;
    bob.see(".column[data-status=doing] .card[data-issue='2']").await;
    bob.read("#trail li", "issue status changed: #2 Paint the fence").await;
    ann.picture("board").await;
    bob.picture("board").await;

    let unread = bob.run("return Number(document.getElementById('badge').textContent || 0)").await.as_i64().unwrap();
    ann.click(".card[data-issue='3'] .open").await;
    ann.write("#edit-title", "Order red roof tiles").await;
    ann.click("#edit-assignee option:nth-child(3)").await;
    ann.picture("issue").await;
    ann.click("#edit button[type=submit]").await;
    bob.read(".card[data-issue='3'] .title", "Order red roof tiles").await;
    bob.read("#badge", &(unread + 1).to_string()).await;
    bob.click("#bell").await;
    bob.read("#entries li", "#3 Order red roof tiles (The old house) is yours now").await;
    bob.picture("news").await;
    bob.click("#list .close").await;
    bob.see("#badge[hidden]").await;

    bob.click(".card[data-issue='3'] .open").await;
    bob.write("#body", "Done, @ann").await;
    bob.click("#say button").await;
    bob.read("#comments li", "Done, @ann").await;
    bob.picture("comment").await;
    ann.read("#trail li", "comment created: #3").await;
    ann.read("#badge", "").await;
    assert!(ann.was_never_reloaded().await && bob.was_never_reloaded().await);

    ann.write("#words", "red").await;
    ann.run("document.getElementById('search').requestSubmit()").await;
    ann.read("#entries li", "Order red roof tiles").await;
    stage.clear().await;
}

/// Whoever has no account sees why, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_token_opens_nothing() {
    let stage = Stage::set().await;
    let ann = &stage.ann;
    ann.click("#leave").await;
    ann.see("#welcome:not([hidden])").await;
    ann.see("#work[hidden]").await;
    ann.write("#token", "wrong").await;
    ann.click("#sign-in button").await;
    ann.read("#turned-away", "This token opens nothing.").await;
    ann.picture("turned-away").await;
    stage.clear().await;
}
