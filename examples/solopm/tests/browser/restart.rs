//! The server dies in the middle.

use std::collections::BTreeSet;

use outbox_testing::eventually;
use reqwest::Client;
use serde_json::json;

use crate::stage::Stage;

/// S1-40, S1-4: the server is killed while it is at work, and started again: what was committed is there once with its row of the audit and
/// everything that follows from it, and what was not is nowhere; both pages say that they are cut off, come back by themselves, read anew,
/// and show the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_in_the_middle_loses_nothing() {
    let mut stage = Stage::set().await;
    let refetches = "return Number(document.body.dataset.refetches)";
    let before = (stage.ann.run(refetches).await.as_i64().unwrap(), stage.bob.run(refetches).await.as_i64().unwrap());
    let busy = tokio::spawn(changes(stage.server.url.clone()));
    eventually("some changes are done", async || {
        let done = stage.sandbox.number("select count(*) from system.event where event_type = 'issue.assigned'").await;
        (done >= 10).then_some(())
    })
    .await;
    stage.server.kill().await;
    let answered = busy.await.unwrap();
    for browser in [&stage.ann, &stage.bob] {
        browser.see("#live[data-state=lost]").await;
    }
    stage.bob.picture("cut-off").await;
    stage.server.start_again().await;
    for (browser, before) in [(&stage.ann, before.0), (&stage.bob, before.1)] {
        browser.see("#live[data-state=on]").await;
        eventually("it reads anew", async || (browser.run(refetches).await.as_i64()? > before).then_some(())).await;
    }
    stage.ann.click(".card[data-issue='4'] .on").await;
    stage.bob.see(".column[data-status=doing] .card[data-issue='4']").await;
    stage.settled().await;

    let committed = stage.sandbox.number("select count(*) from system.event where event_type = 'issue.assigned'").await;
    assert!(
        committed > answered,
        "what was answered is there ({committed} committed, {answered} answered and one of the sample)"
    );
    let orphans = "select count(*) from system.event e full join solopm.audit_log a on a.event_id = e.id
                   where e.id is null or a.event_id is null or a.action_type <> e.event_type";
    assert_eq!(stage.sandbox.number(orphans).await, 0, "audit exactly once");
    let untold = "select count(*) from system.event e where e.event_type = 'issue.assigned'
                  and (select count(*) from solopm.notifications n where n.event_id = e.id) <> 1";
    assert_eq!(stage.sandbox.number(untold).await, 0, "each is told once");
    let told = stage.sandbox.number("select count(*) from solopm.notifications where delivery = 'instant'").await;
    let mails = stage.post.received();
    let ids: BTreeSet<_> = mails.iter().map(|mail| mail.header("Message-ID").unwrap()).collect();
    assert_eq!(i64::try_from(ids.len()).unwrap(), told, "each mail has left; one that left twice has one id");
    let shown = "return [...document.querySelectorAll('.card')].map(card => card.dataset.issue + card.closest('.column').dataset.status).join()";
    eventually("both show the same", async || (stage.ann.run(shown).await == stage.bob.run(shown).await).then_some(()))
        .await;
    assert!(stage.ann.was_never_reloaded().await && stage.bob.was_never_reloaded().await);
    stage.bob.picture("back").await;
    stage.clear().await;
}

/// Assigns an issue to bob and cem in turns, until nobody answers. Says how many were answered.
async fn changes(server: String) -> i64 {
    let client = Client::new();
    let mut answered = 0;
    loop {
        for user in [2, 3] {
            let url = format!("{server}/api/projects/1/issues/5/assignee");
            let request = client.put(url).bearer_auth("ann").json(&json!({ "user": user }));
            match request.send().await {
                Ok(answer) if answer.status().is_success() => answered += 1,
                Ok(answer) => panic!("{}", answer.status()),
                Err(_) => return answered,
            }
        }
    }
}
