//! What is done at certain times.

use serde_json::json;
use solopm::users::EmailMode;

use crate::house::House;

/// S1-57: the digest is due every night and the cull every day, on the clocks of one named zone, whatever the server's and the machine's are.
#[tokio::test]
async fn digest_and_cull_are_due_once_a_day() {
    let house = House::open().await;
    let root = house.admin().await;
    let due = root.get("/api/admin/schedules").await;
    let shown: Vec<_> = due.as_array().unwrap().iter().map(|one| (one["name"].clone(), one["zone"].clone())).collect();
    let zone = json!("Europe/Berlin");
    assert!(shown.contains(&(json!("notifications.daily_digest"), zone.clone())), "{due}");
    assert!(shown.contains(&(json!("retention.cull"), zone)), "{due}");
    let at = "select name || ' ' || to_char(next_tick at time zone 'Europe/Berlin', 'HH24:MI') from system.schedule
              where name in ('notifications.daily_digest', 'retention.cull') order by name";
    assert_eq!(house.texts(at).await, ["notifications.daily_digest 02:00", "retention.cull 03:30"]);
    let within = "select count(*) from system.schedule where next_tick between now() and now() + interval '25 hours'
                  and name in ('notifications.daily_digest', 'retention.cull')";
    assert_eq!(house.number(within).await, 2);
}

/// S1-58, S1-59: the next one is there from the start and does not depend on the last: one that has died is followed by the next all the same,
/// on the same day too; and however many servers start, a tick has one job.
#[tokio::test]
async fn a_dead_digest_does_not_end_the_schedule() {
    let house = House::open().await;
    let ann = house.person_with("ann", EmailMode::DailyDigest, false).await;
    let bob = house.person("bob").await;
    bob.project("House", &[&ann]).await;
    house.drain().await;
    let missed =
        "update system.schedule set next_tick = next_tick - interval '1 day' where name = 'notifications.daily_digest'";
    house.execute("alter table solopm.notifications rename column delivery to elsewhere").await;
    house.outbox.schedules().run_now("notifications.daily_digest").await.unwrap();
    house.execute("update system.job_live set max_attempts = 1").await;
    house.drain().await;
    assert_eq!(house.jobs().await.of("notifications.daily_digest").failed(), 1);
    house.execute("alter table solopm.notifications rename column elsewhere to delivery").await;
    house.execute(missed).await;
    let (second, _) = house.second().await;
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(second.run(stop.clone()));
    house
        .until(
            "the tick has run",
            "select count(*) from system.job_succeeded where job_type = 'notifications.daily_digest'",
            1,
        )
        .await;
    house
        .until(
            "and its mail has left",
            "select count(*) from system.job_succeeded where job_type = 'notifications.send_digest'",
            1,
        )
        .await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let (third, _) = house.second().await;
    drop(third);
    assert_eq!(house.jobs().await.of("notifications.daily_digest").len(), 2, "the dead one, and one for the tick");
    let ahead = "select count(*) from system.schedule where next_tick > now() and name = 'notifications.daily_digest'";
    assert_eq!(house.number(ahead).await, 1);
    assert_eq!(house.mails(), [("ann@example.com".to_owned(), "1 news".to_owned())]);
}
