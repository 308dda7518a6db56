//! What a read costs: by the ids that it looks at, and not by how many events there are.

use outbox_testing::Sandbox;

use crate::plans::tables::Lane;

const LIVE: &str = include_str!("../../../outbox-postgres/src/step/live.sql");

/// Beside two hundred thousand events, a read looks at those of its margin by the primary key, once, and reads those that are new once
/// more; a sweep looks at twenty thousand at most. Neither reads a table from end to end, whether it was planned while there were a few,
/// or behind an `analyze`.
#[tokio::test]
async fn a_read_looks_at_its_margin_and_no_further() {
    // A database of its own: it waits until nobody else reads there.
    let sandbox = Sandbox::database().await;
    let fill = |from: u32, count: u32| {
        format!(
            "insert into :schema.event (id, event_type, event_version, subject_type, payload)
             select (left(:schema.ulid_floor(clock_timestamp() - n * interval '10 ms')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid,
                    'work.asked', 1, 'work', '{{\"n\": 1}}' from generate_series({from}, {}) n",
            from + count - 1
        )
    };
    sandbox.execute(&fill(1, 500)).await;
    let mut kept = Lane::open(&sandbox, true).await;
    kept.prepare("live", LIVE).await;
    let near = ":schema.ulid_floor(clock_timestamp() - interval '10 s')";
    let far = ":schema.ulid_floor(clock_timestamp() - interval '1 hour')";
    let nothing_new =
        format!("pg_current_snapshot()::text, null, {near}, {near}, '{{}}', '{{}}', 20000, 2000, 8388608");
    let all_new = format!("'1:1:', null, {near}, {near}, '{{}}', '{{}}', 20000, 2000, 8388608");
    let sweep = format!(
        "pg_current_snapshot()::text, pg_current_snapshot()::text, {near}, {far}, '{{}}', '{{}}', 20000, 2000, 8388608"
    );
    for _ in 0..2 {
        kept.explain(&format!("execute live({nothing_new})")).await;
    }
    sandbox.execute(&fill(10_000, 200_000)).await;
    for analysed in [false, true] {
        if analysed {
            sandbox.execute("analyze :schema.event").await;
        }
        let mut fresh = Lane::open(&sandbox, true).await;
        fresh.prepare("live", LIVE).await;
        for lane in [&mut kept, &mut fresh] {
            // Of these, what was published in ten seconds: none any more, or some of the first five hundred.
            for (arguments, most) in [(&nothing_new, 600), (&all_new, 1_200), (&sweep, 20_000)] {
                let plan = lane.explain(&format!("execute live({arguments})")).await;
                assert_eq!(plan.whole("event"), 0, "{plan}");
                assert!(plan.read("event") <= most, "{} rows of {most}\n{plan}", plan.read("event"));
                assert!(plan.pages() <= 4 * most + 200, "{} pages\n{plan}", plan.pages());
            }
        }
    }
}
