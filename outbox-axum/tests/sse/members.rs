//! Who may see an event is asked for each frame.

use outbox_testing::eventually;

use crate::client::Client;
use crate::project::{App, Server};

/// S1-41: an event is sent to the connected members of its project and to nobody else. Who stops being a member sees nothing more
/// on the connection that he has, and who becomes one does.
#[tokio::test]
async fn members_alone_see_an_event_for_as_long_as_they_are() {
    let app = App::new().await;
    let server = Server::start(&app);
    for (project, name) in [("p1", "ann"), ("p1", "bob"), ("p2", "carl")] {
        app.join(project, name).await;
    }
    let mut clients = Vec::new();
    for name in ["ann", "bob", "carl"] {
        let mut client = Client::get(server.address, &format!("/live?member={name}"), b"").await;
        assert_eq!(client.refetch().await, "started");
        clients.push(client);
    }
    let [ann, bob, carl] = &mut clients[..] else { panic!() };
    let asked = async |times: usize| {
        let all = ["ann", "bob", "carl"];
        eventually("all were asked for", async || all.iter().all(|name| app.checks(name) >= times).then_some(())).await;
    };
    let first = app.update("p1", 1, "both see it").await;
    for member in [&mut *ann, &mut *bob] {
        assert!(member.event().await.id().starts_with(&first.to_string()));
    }
    asked(1).await;
    app.leave("p1", "bob").await;
    let second = app.update("p1", 2, "ann alone sees it").await;
    assert!(ann.event().await.id().starts_with(&second.to_string()));
    asked(2).await;
    app.join("p1", "carl").await;
    let third = app.update("p1", 3, "ann and carl see it").await;
    for member in [&mut *ann, &mut *carl] {
        assert!(member.event().await.id().starts_with(&third.to_string()));
    }
    asked(3).await;
    // And bob has seen nothing of either when he sees this one.
    app.join("p1", "bob").await;
    let fourth = app.update("p1", 4, "all see it").await;
    for member in [ann, bob, carl] {
        assert!(member.event().await.id().starts_with(&fourth.to_string()));
    }
}

/// S1-41: a stream of one project has nothing of others in it, not even to be asked about.
#[tokio::test]
async fn a_stream_of_one_project_is_not_asked_about_others() {
    let app = App::new().await;
    let server = Server::start(&app);
    app.join("p1", "ann").await;
    let mut ann = Client::get(server.address, "/live?project=p1&member=ann", b"").await;
    assert_eq!(ann.refetch().await, "started");
    for n in 0..10 {
        app.update("p2", n, "elsewhere").await;
    }
    let here = app.update("p1", 1, "here").await;
    assert!(ann.event().await.id().starts_with(&here.to_string()));
    assert_eq!(app.checks("ann"), 1);
}

/// S1-39: a check that has no answer delays its own client alone, and not for ever.
#[tokio::test]
async fn a_check_that_hangs_delays_its_client_alone() {
    let app = App::new().await;
    let server = Server::start(&app);
    app.join("p1", "ann").await;
    let mut stuck = Client::get(server.address, "/live?member=stuck", b"").await;
    let mut ann = Client::get(server.address, "/live?member=ann", b"").await;
    for client in [&mut stuck, &mut ann] {
        assert_eq!(client.refetch().await, "started");
    }
    for n in 0..20 {
        let seen = app.update("p1", n, "news").await;
        assert!(ann.event().await.id().starts_with(&seen.to_string()));
    }
    assert!(app.checks("stuck") < 20, "each of these takes five seconds");
    assert_eq!(stuck.refetch().await, "unchecked");
}

/// S1-41: where it cannot be said whether a client may see an event it is not sent, and the client is told to read anew, which asks
/// again.
#[tokio::test]
async fn what_cannot_be_checked_is_not_sent() {
    let app = App::new().await;
    let server = Server::start(&app);
    app.join("p1", "ann").await;
    let mut ann = Client::get(server.address, "/live?member=ann", b"").await;
    assert_eq!(ann.refetch().await, "started");
    app.sandbox.execute("alter table :schema.member rename to away").await;
    app.update("p1", 1, "unchecked").await;
    assert_eq!(ann.refetch().await, "unchecked");
    app.sandbox.execute("alter table :schema.away rename to member").await;
    let seen = app.update("p1", 2, "checked").await;
    assert!(ann.event().await.id().starts_with(&seen.to_string()));
}
