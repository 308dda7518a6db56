//! Profiles: what they change, what wins over them, and what is refused.

use std::time::Duration;

use outbox::{BuildError, OutboxBuilder, Profile, SettingFault};
use outbox_testing::fault::Proxy;

use crate::floor::{Do, Floor, Worker, ask, ask_many};
use crate::linkage::only_events;
use crate::proxy;
use crate::support::{NOBODY_LISTENS, Shop, skipped_behind_a_pooler};

/// Claims that brought something, for so many quick jobs.
async fn claims_for(jobs: usize, tuned: impl FnOnce(OutboxBuilder) -> OutboxBuilder) -> i64 {
    let floor = Floor::new().await;
    let outbox = tuned(floor.outbox(&["desk.note"])).build().await.unwrap();
    ask_many(&outbox, jobs, [Do::Succeed]).await;
    // Each claim has its id on the rows that it brings, so a trigger of the test's own can count them.
    floor
        .sandbox
        .execute(
            "create table :schema.claimed (claim_id uuid primary key);
             create function :schema.note_claim() returns trigger language plpgsql as
             $$ begin insert into :schema.claimed values (new.claim_id) on conflict do nothing; return new; end $$;
             create trigger note_claim after update on :schema.job_live
             for each row when (new.claim_id is not null) execute function :schema.note_claim()",
        )
        .await;
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    floor.sandbox.number("select count(*) from :schema.claimed").await
}

/// For low latency a claim brings only what starts at once, by default up to a hundred jobs, for high throughput up to five hundred.
#[tokio::test]
async fn a_profile_decides_how_many_jobs_a_claim_brings() {
    let claims = claims_for(120, |outbox| outbox.profile(Profile::low_latency())).await;
    assert!(claims >= 8, "there are sixteen slots, and {claims} claims brought 120 jobs");
    let claims = claims_for(400, |outbox| outbox.profile(Profile::default())).await;
    assert!(claims >= 4, "{claims} claims for 400 jobs");
    let claims = claims_for(1_200, |outbox| outbox.profile(Profile::high_throughput())).await;
    assert!((3..12).contains(&claims), "{claims} claims for 1,200 jobs");
}

/// What is said for itself wins over the profile, whichever was said first.
#[tokio::test]
async fn a_single_setting_wins_over_the_profile() {
    for (which, claims) in [
        ("behind", claims_for(200, |outbox| outbox.profile(Profile::high_throughput()).batch(20)).await),
        ("before", claims_for(200, |outbox| outbox.batch(20).profile(Profile::high_throughput())).await),
    ] {
        assert!(claims >= 10, "said {which} the profile: {claims} claims for 200 jobs");
    }
    let error = Shop::new()
        .await
        .bare(only_events())
        .batch(0)
        .poll_interval(Duration::ZERO)
        .profile(Profile::high_throughput())
        .build()
        .await
        .unwrap_err();
    let BuildError::Settings(faults) = error else { panic!("{error}") };
    assert_eq!(faults, [SettingFault::PollInterval(Duration::ZERO), SettingFault::Zero("batch")]);
}

/// Two profiles contradict each other, and neither wins in silence; the same one twice says nothing new.
#[tokio::test]
async fn two_profiles_are_refused() {
    let shop = Shop::new().await;
    let twice = shop.bare(only_events()).profile(Profile::low_latency()).profile(Profile::low_latency());
    twice.build().await.unwrap();
    let error = shop
        .bare(only_events())
        .profile(Profile::low_latency())
        .profile(Profile::high_throughput())
        .build()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`.profile` is said twice and differently"), "{error}");
}

async fn wakes_of_many_commits(profile: Profile) -> (u64, Duration) {
    let floor = Floor::new().await;
    let proxy: Proxy = proxy::start().await;
    let publisher = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).profile(profile).build().await.unwrap();
    let worker = Worker::start(floor.outbox(&["desk.note"]).build().await.unwrap());
    let begun = std::time::Instant::now();
    for n in 0..200 {
        ask(&publisher, &format!("n{n}"), []).await;
    }
    floor.until_settled().await;
    worker.stop().await;
    (proxy.all().count("wake"), begun.elapsed())
}

/// For high throughput a NOTIFY stands for fifty milliseconds of commits.
#[tokio::test]
async fn a_profile_decides_how_many_commits_a_notification_stands_for() {
    if skipped_behind_a_pooler(NOBODY_LISTENS) {
        return;
    }
    let (wakes, within) = wakes_of_many_commits(Profile::high_throughput()).await;
    let most = u64::try_from(within.as_millis()).unwrap() / 50 + 1;
    assert!((1..=most).contains(&wakes), "{wakes} within {within:?}");
}
