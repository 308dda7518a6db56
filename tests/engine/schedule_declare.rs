//! What a release says of its schedules, and what another release, or another binary, says.

use outbox::{BuildError, Cadence, CatchUp, Fault, Overlap, Schedule, SubscriberDescriptor};
use outbox_testing::{Logs, eventually};

use crate::floor::Worker;
use crate::linkage::{linking, of_job, on, scheduled};
use crate::schedule::{ages, by, jobs, minutely, outbox, overdue};
use crate::sql::{text, texts};
use crate::support::Shop;

const fn daily(name: &'static str, line: &'static str) -> SubscriberDescriptor {
    scheduled(name, by(Cadence::Cron { line, zone: "Europe/Paris" }))
}

async fn next_local(shop: &Shop, name: &str) -> String {
    text(&shop.sandbox, &format!("select to_char(next_tick at time zone 'Europe/Paris', 'HH24:MI') from :schema.schedule where name = '{name}'")).await
}

/// S0-39, S1-57: a build declares each schedule with all that it is made of and its first tick, which lies ahead and on the clocks of its
/// zone; a second start writes nothing.
#[tokio::test]
async fn a_schedule_is_declared_once() {
    let shop = Shop::new().await;
    let all = || [daily("night.scan", "30 2 * * *"), minutely("night.pulse", CatchUp::All(7), Overlap::Allow)];
    let built = outbox(&shop, all()).name("first").build().await.unwrap();
    let said = built.schedules().all().await.unwrap();
    let [pulse, scan] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((pulse.name.as_str(), pulse.cadence.as_str(), pulse.zone.as_str()), ("night.pulse", "every 1m", "UTC"));
    assert_eq!((pulse.catch_up, pulse.overlaps), (Some(CatchUp::All(7)), true));
    assert_eq!(
        (scan.name.as_str(), scan.cadence.as_str(), scan.zone.as_str()),
        ("night.scan", "30 2 * * *", "Europe/Paris")
    );
    assert_eq!((scan.catch_up, scan.overlaps, scan.declared_by.as_str()), (Some(CatchUp::Latest), false, "first"));
    assert!(said.iter().all(|one| one.next_tick > Some(one.now) && one.last_tick.is_none() && one.paused_at.is_none()));
    let stamps = "select xmin::text || ' ' || name from :schema.schedule order by name";
    let before = texts(&shop.sandbox, stamps).await;
    outbox(&shop, all()).name("second").build().await.unwrap();
    assert_eq!(texts(&shop.sandbox, stamps).await, before, "a second start writes nothing");
    assert_eq!(shop.sandbox.number("select count(*) from :schema.job").await, 0);
}

/// Schedules of another binary are left alone: neither fired, though long due, nor changed, nor removed. A binary that runs other modules
/// only takes no tick of these.
#[tokio::test]
async fn schedules_of_another_binary_are_left_alone() {
    let shop = Shop::new().await;
    let theirs = || minutely("theirs.pulse", CatchUp::All(10), Overlap::Allow);
    let ours = || minutely("ours.pulse", CatchUp::Latest, Overlap::Allow);
    outbox(&shop, [theirs()]).name("theirs").build().await.unwrap();
    overdue(&shop, "theirs.pulse", "9 minutes").await;
    let row = "select to_jsonb(s)::text from :schema.schedule s where name = 'theirs.pulse'";
    let before = text(&shop.sandbox, row).await;
    let alone = Worker::start(outbox(&shop, [ours()]).build().await.unwrap());
    let module = Worker::start(outbox(&shop, [ours(), theirs()]).modules(["ours"]).build().await.unwrap());
    overdue(&shop, "ours.pulse", "0 minutes").await;
    ages(&shop, "ours.pulse").await;
    assert_eq!((jobs(&shop, "theirs.pulse").await, text(&shop.sandbox, row).await), (0, before));
    alone.stop().await;
    module.stop().await;
}

/// A release with another line: from now on its line counts, for whoever takes the ticks, an older release beside it too. A tick that is
/// due already stays due, and is run once.
#[tokio::test]
async fn a_changed_line_counts_for_every_release_beside() {
    let shop = Shop::new().await;
    let old = Worker::start(outbox(&shop, [daily("night.scan", "0 3 * * *")]).build().await.unwrap());
    assert_eq!(next_local(&shop, "night.scan").await, "03:00");
    let new = outbox(&shop, [daily("night.scan", "0 4 * * *")]).build().await.unwrap();
    assert_eq!(next_local(&shop, "night.scan").await, "04:00");
    // Only the older release runs; it goes by what the newer has said.
    overdue(&shop, "night.scan", "0 minutes").await;
    ages(&shop, "night.scan").await;
    assert_eq!((jobs(&shop, "night.scan").await, next_local(&shop, "night.scan").await), (1, "04:00".to_owned()));
    old.stop().await;
    // Nobody was there when it was due, and then the line changed once more.
    overdue(&shop, "night.scan", "5 minutes").await;
    let due = text(&shop.sandbox, "select next_tick::text from :schema.schedule").await;
    let newest = outbox(&shop, [daily("night.scan", "30 5 * * *")]).build().await.unwrap();
    assert_eq!(text(&shop.sandbox, "select next_tick::text from :schema.schedule").await, due, "what is due stays due");
    let newest = Worker::start(newest);
    ages(&shop, "night.scan").await;
    assert_eq!((jobs(&shop, "night.scan").await, next_local(&shop, "night.scan").await), (2, "05:30".to_owned()));
    drop(new);
    newest.stop().await;
}

/// Policies are part of what is declared: they change without touching the tick that is due next.
#[tokio::test]
async fn a_changed_policy_leaves_the_next_tick() {
    let shop = Shop::new().await;
    outbox(&shop, [minutely("night.pulse", CatchUp::Latest, Overlap::Skip)]).build().await.unwrap();
    let next = text(&shop.sandbox, "select next_tick::text from :schema.schedule").await;
    outbox(&shop, [minutely("night.pulse", CatchUp::All(5), Overlap::Allow)]).build().await.unwrap();
    let now =
        "select next_tick::text || ' ' || catch_up || ' ' || catch_up_most || ' ' || overlap from :schema.schedule";
    assert_eq!(text(&shop.sandbox, now).await, format!("{next} all 5 allow"));
}

/// A renamed schedule goes on where it stood, paused or not, under its new name, also for the ids of its ticks; an old binary in a rolling
/// deploy does not bring the old name back. A job that was stored under the old name still counts as its unended run.
#[tokio::test]
async fn a_renamed_schedule_goes_on_where_it_stood() {
    let shop = Shop::new().await;
    let before = || minutely("night.old", CatchUp::Latest, Overlap::Skip);
    let renamed =
        || SubscriberDescriptor { aliases: &["night.old"], ..minutely("night.new", CatchUp::Latest, Overlap::Skip) };
    let old = outbox(&shop, [before()]).build().await.unwrap();
    old.schedules().run_now("night.old").await.unwrap();
    old.schedules().pause("night.old").await.unwrap();
    let row = "select next_tick::text || seed || paused_at || passed_over from :schema.schedule";
    let stood = text(&shop.sandbox, row).await;
    let new = outbox(&shop, [renamed()]).build().await.unwrap();
    outbox(&shop, [before()]).build().await.unwrap();
    assert_eq!(texts(&shop.sandbox, "select name from :schema.schedule").await, ["night.new"]);
    assert_eq!(text(&shop.sandbox, row).await, stood);
    let busy = new.schedules().run_now("night.new").await.unwrap_err().to_string();
    assert!(busy.contains("a run of `night.new` has not ended"), "{busy}");
    assert_eq!(new.drain().await.unwrap().executions, 1);
    new.schedules().run_now("night.new").await.unwrap();
}

/// S0-13: a schedule whose name another handler, another schedule or a job has is refused by the build, as any handler is.
#[tokio::test]
async fn a_name_that_is_taken_is_refused() {
    let shop = Shop::new().await;
    let refused = async |handlers: Vec<SubscriberDescriptor>| match outbox(&shop, handlers).build().await {
        Err(BuildError::Wiring(faults)) => faults,
        other => panic!("{other:?}"),
    };
    let elsewhere = |one: SubscriberDescriptor| SubscriberDescriptor { place: crate::linkage::at(77), ..one };
    let pulse = || minutely("night.pulse", CatchUp::Latest, Overlap::Skip);
    for other in [elsewhere(pulse()), elsewhere(on("night.pulse", "order.placed"))] {
        let faults = refused(vec![pulse(), other]).await;
        assert!(matches!(faults.as_slice(), [Fault::DuplicateSubscriber { name: "night.pulse", .. }]), "{faults:?}");
    }
    let aliased = SubscriberDescriptor { aliases: &["night.old"], ..pulse() };
    let faults = refused(vec![aliased, elsewhere(minutely("night.old", CatchUp::Latest, Overlap::Skip))]).await;
    assert!(matches!(faults.as_slice(), [Fault::DuplicateSubscriber { name: "night.old", .. }]), "{faults:?}");
    // `mail.send` is a job of this test binary, handled elsewhere.
    let faults = refused(vec![minutely("mail.send", CatchUp::Latest, Overlap::Skip)]).await;
    assert!(matches!(faults.as_slice(), [Fault::ScheduleIsAJob { name: "mail.send", .. }]), "{faults:?}");
    assert!(faults[0].to_string().contains("a schedule and a job are both named `mail.send`"));
    assert!(linking([of_job("mail.send")]).faults(&outbox_core::TypeMap::default()).is_empty());
}

/// Many processes that start at once declare it once.
#[tokio::test]
async fn twenty_starts_at_once_declare_it_once() {
    let shop = Shop::new().await;
    let starts = (0..20).map(|n| {
        let builder =
            outbox(&shop, [minutely("night.pulse", CatchUp::Latest, Overlap::Skip), daily("night.scan", "0 3 * * *")]);
        tokio::spawn(
            async move { builder.name(format!("p{n}")).build().await.map(drop).map_err(|error| error.to_string()) },
        )
    });
    for start in starts.collect::<Vec<_>>() {
        assert_eq!(start.await.unwrap(), Ok(()));
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.schedule").await, 2);
}

/// What a later release has declared, and this one cannot read, it leaves to others and says so once; its other schedules go on.
#[tokio::test]
async fn what_a_later_release_has_declared_is_left_to_it() {
    let shop = Shop::new().await;
    let all = || {
        [
            minutely("night.later", CatchUp::Latest, Overlap::Skip),
            minutely("night.pulse", CatchUp::Latest, Overlap::Skip),
        ]
    };
    let logs = Logs::warnings();
    let built = outbox(&shop, all()).build().await.unwrap();
    for name in ["night.later", "night.pulse"] {
        overdue(&shop, name, "0 minutes").await;
    }
    shop.sandbox.execute("update :schema.schedule set cadence = 'at sunrise' where name = 'night.later'").await;
    let worker = Worker::start(built);
    ages(&shop, "night.pulse").await;
    eventually("it says so", async || logs.lines().iter().any(|line| line.contains("cannot read it")).then_some(()))
        .await;
    worker.stop().await;
    let said = logs.lines().iter().filter(|line| line.contains("cannot read it")).count();
    assert_eq!((said, jobs(&shop, "night.later").await), (1, 0));
}

/// The registry prints schedules behind the events.
#[test]
fn the_registry_prints_its_schedules() {
    let schedule = Schedule {
        cadence: Cadence::Cron { line: "0 3 * * *", zone: "Europe/Paris" },
        catch_up: CatchUp::Skip,
        overlap: Overlap::Skip,
    };
    let printed =
        linking([scheduled("night.scan", schedule), minutely("night.pulse", CatchUp::Skip, Overlap::Skip)]).to_string();
    assert!(printed.ends_with("every 1m -> night.pulse\n0 3 * * * (Europe/Paris) -> night.scan\n"), "{printed}");
}
