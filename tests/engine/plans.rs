//! How the engine's statements read their tables when there are a million jobs, whatever the planner knows of them.
//!
//! `cargo test --test engine plans:: -- --nocapture` prints the plans.

#![allow(clippy::print_stdout, reason = "the plans, for whoever asks with --nocapture")]

mod plan;
pub mod tables;

use outbox_testing::Sandbox;

use self::plan::Plan;
use self::tables::{CLAIM, DEAD, LIVE, Lane};

/// A statement, what it is run with, and how far it may go.
struct Case {
    name: &'static str,
    /// Its file.
    step: &'static str,
    arguments: String,
    /// Most rows of `job_live` that it may read by an index.
    live: u64,
    /// How often it may read `job_live` from end to end.
    scans: u64,
    /// Most rows that it may sort or hash, and answer.
    rows: u64,
}

const fn case(name: &'static str, step: &'static str, arguments: String, live: u64, rows: u64) -> Case {
    Case { name, step, arguments, live, scans: 0, rows }
}

/// A claim of these ranges, a hundred jobs of each at most, whose handlers take the transaction and so have marks.
fn claim(ranges: &[&str], floors: &str) -> String {
    let of = |value: &str| vec![value; ranges.len()].join(",");
    let names = ranges.join(",");
    let numbers = (0..ranges.len()).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    format!(
        "'{LIVE}', gen_random_uuid(), '{{{names}}}', '{{{}}}', '{{{numbers}}}', '{{{}}}', '{{{}}}', 100, true, 500, \
         '{{{names}}}', '{{{names}}}', '{{{}}}', '{{{}}}', 3, {floors}",
        of("1"),
        of("100"),
        of("100"),
        of("0"),
        of("100"),
    )
}

/// Claims of a hundred due jobs, beside nothing and beside what is not due, not of this priority, or of no known version.
const NEIGHBOURS: [&str; 4] = ["plan.alone", "plan.same", "plan.other", "plan.known"];

fn cases() -> Vec<Case> {
    let five = ["plan.a", "plan.b", "plan.c", "plan.d", "plan.e"];
    let minutes = |n: u32| format!("array_fill(extract(epoch from now() - interval '{n} minutes')::float8, '{{20}}')");
    let list = |of: &dyn Fn(u32) -> String| format!("'{{{}}}'", (401..=900).map(of).collect::<Vec<_>>().join(","));
    let each = |value: &str| list(&|_| value.to_owned());
    let outcomes = ["succeeded", "failed", "retry", "snooze", "return"];
    let settle = [
        list(&|n| format!("{n:032x}")),
        each(CLAIM),
        list(&|n| outcomes[n as usize % 5].to_owned()),
        each("1000"),
        each("null"),
        each("boom"),
        each("1"),
    ];
    let dead = format!("array['{DEAD}']::uuid[]");
    // Five hundred are looked for, and each that is picked is claimed by its place.
    let mut cases = vec![
        case("claim a backlog", "claim", claim(&five, "'{}'"), 1_000, 500),
        case("claim from a floor", "claim", claim(&five, &minutes(57)), 1_000, 500),
        case("claim where nothing is", "claim", claim(&["plan.nothing"], "'{}'"), 0, 0),
        case("look", "look", format!("'{{{}}}', '{{1,1,1,1,1}}', 2000", five.join(",")), 5, 20),
        // Each outcome is looked up for both of its ways, and a retry once more for its history.
        case("settle", "settle", settle.join(", "), 1_600, 500),
        case("settle of plain successes", "settle_done", settle[..2].join(", "), 1_100, 500),
        case(
            "settle in the transaction",
            "settle_tx",
            format!("{}, '{CLAIM}', 'plan.a', gen_random_uuid(), '{CLAIM}'", "lpad(to_hex(401), 32, '0')::uuid"),
            1,
            1,
        ),
        case("rescue: mark", "rescue_mark", "20".into(), 0, 20),
        case("recover", "recover", format!("'{LIVE}', null, 20000"), 20_000, 20_000),
        case("survey of jobs", "survey_jobs", "'{}', '{}'".into(), 10 * 10_001, 20),
        case("survey of handlers", "survey_handlers", "'{}'".into(), 0, 20),
        case("failed", "failed", "null, 100, null".into(), 0, 100),
        case("parked", "parked", "null, null, null, 100, 0".into(), 0, 100),
        case("schedule: due", "schedule_due", "'{plan.night}', 100".into(), 0, 100),
        case(
            "schedule: lock",
            "schedule_lock",
            "'plan.night', 'every 1m', 'UTC', '2026-01-01Z', statement_timestamp()".into(),
            0,
            1,
        ),
        case(
            "schedule: take",
            "schedule_take",
            "'plan.night', now() + interval '1 day', array[now()], array[gen_random_uuid()], array['{}'], 1, false"
                .into(),
            0,
            1,
        ),
        case("backfill", "backfill_batch", "'plan.new', 'plan.made', false, 500, 20000".into(), 500, 50_000),
    ];
    // Once for a worker that died, or for one that leaves: no index holds who has a job, because a claim would have to write it. What is
    // found is then looked up by its id.
    cases.extend([
        Case {
            name: "rescue: return",
            step: "rescue_return",
            arguments: format!("{dead}, 3, null"),
            live: 1_500,
            scans: 1,
            rows: 500,
        },
        Case { name: "rescue: held", step: "rescue_held", arguments: dead.clone(), live: 0, scans: 1, rows: 500 },
        Case { name: "bury", step: "bury", arguments: dead, live: 0, scans: 1, rows: 500 },
        Case { name: "unregister", step: "unregister", arguments: format!("'{LIVE}'"), live: 0, scans: 1, rows: 1 },
    ]);
    cases.extend(NEIGHBOURS.map(|range| case(range, "claim", claim(&[range], "'{}'"), 200, 100)));
    cases
}

/// Functions, whose statements no plan shows, and most pages that they may touch.
fn functions() -> Vec<(&'static str, u64)> {
    vec![
        ("select :schema.cancel(lpad(to_hex(1000), 32, '0')::uuid, 'why')", 1_000),
        // Nothing of it waits, and nothing of what waits is its own.
        ("select :schema.schedule_is_busy('plan.night')", 1_000),
        ("select :schema.schedule_is_busy('plan.same')", 1_000),
        ("select :schema.redrive(lpad(to_hex(3000001), 32, '0')::uuid)", 1_000),
    ]
}

async fn prepare(lane: &mut Lane) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/outbox-postgres/src/step");
    for step in cases().iter().map(|case| case.step).collect::<std::collections::BTreeSet<_>>() {
        let text = std::fs::read_to_string(format!("{folder}/{step}.sql")).unwrap();
        lane.prepare(step, &text).await;
    }
}

async fn run(lane: &mut Lane, case: &Case) -> Plan {
    lane.explain(&format!("execute {}({})", case.step, case.arguments)).await
}

/// What is wrong with a plan.
fn faults(case: &Case, plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    let mut bound = |what: &str, is: u64, most: u64| {
        if is > most {
            faults.push(format!("{is} {what}, {most} at most"));
        }
    };
    let whole = plan.whole("job_live");
    bound("scans of the whole of job_live", whole, case.scans);
    // A scan reads all of them, and who they belong to is not its matter.
    let scanned = if case.scans > 0 { 1_001_000 } else { 0 };
    bound("rows of job_live read", plan.read("job_live"), case.live + scanned);
    // Where processes share a scan, the server tells a rounded mean.
    bound("rows sorted or hashed", plan.gathered(), case.rows.max(500) + 5);
    bound("rows answered", plan.answered(), case.rows);
    // A scan of all live jobs is some 35,000; nothing touches more than that and what it writes.
    bound("pages touched", plan.pages(), 60_000);
    faults
}

/// What claim, settle and schedule send; their lanes have settings of their own.
const BY_INDEX: [&str; 6] = ["claim", "settle", "settle_done", "schedule_due", "schedule_lock", "schedule_take"];

/// The statements of these lanes, or those of the others. Answers what is wrong, and how many pages each touched.
async fn check(when: &str, lane: &mut Lane, by_index: bool) -> (Vec<String>, Vec<(&'static str, u64)>) {
    let (mut wrong, mut pages) = (Vec::new(), Vec::new());
    for case in cases().into_iter().filter(|case| BY_INDEX.contains(&case.step) == by_index) {
        let plan = run(lane, &case).await;
        println!("\n{when}, {}: {} pages\n{plan}", case.name, plan.pages());
        wrong.extend(faults(&case, &plan).into_iter().map(|fault| format!("{when}, {}: {fault}\n{plan}", case.name)));
        if case.step == "claim" {
            let used = plan.indexes("job_live");
            if used.iter().any(|index| !["job_live_claim", "job_live_pkey"].contains(index))
                || !used.contains("job_live_claim")
            {
                wrong.push(format!("{when}, {}: used {used:?}\n{plan}", case.name));
            }
            // What reads all of them at once looks as cheap while there are none, and its plan would stay.
            let (probes, jobs) = (plan.times("inbox"), plan.answered());
            if probes != jobs {
                wrong.push(format!("{when}, {}: {probes} looks for the marks of {jobs} jobs\n{plan}", case.name));
            }
        }
        pages.push((case.name, plan.pages()));
    }
    for (function, most) in functions().into_iter().filter(|_| !by_index) {
        let plan = lane.explain(function).await;
        if plan.pages() > most {
            wrong.push(format!("{when}, {function}: {} pages, {most} at most", plan.pages()));
        }
    }
    (wrong, pages)
}

/// With a million jobs, each statement reads by the index that is meant for it no more rows than it is to take, whether the tables were
/// analysed, never analysed, or filled behind a plan that was made while they were empty. A claim looks once for the mark of each job. The jobs of a dead worker are looked for in one
/// scan, once. And a claim touches as many pages beside a million jobs that are not its own as beside none.
#[tokio::test]
async fn every_statement_reads_what_it_takes_at_a_million_jobs() {
    // A database of its own: its long transactions would keep the dead rows of other tests.
    let sandbox = Sandbox::database().await;
    tables::few(&sandbox).await;
    // A lane keeps its statements, and the server the plans of claim and settle.
    let mut kept = Lane::open(&sandbox, true).await;
    prepare(&mut kept).await;
    let (mut wrong, few) = check("a few jobs", &mut kept, true).await;
    tables::many(&sandbox).await;
    let (faults, touched) = check("a plan from before", &mut kept, true).await;
    wrong.extend(faults);
    let mut pages = vec![("a plan from before", touched)];
    for (when, analyse) in [("never analysed", false), ("analysed", true)] {
        if analyse {
            sandbox
                .execute(
                    "analyze :schema.job_live, :schema.event, :schema.job_succeeded, :schema.job_failed, :schema.inbox",
                )
                .await;
        }
        for by_index in [true, false] {
            let mut lane = Lane::open(&sandbox, by_index).await;
            prepare(&mut lane).await;
            let (faults, touched) = check(when, &mut lane, by_index).await;
            wrong.extend(faults);
            if by_index {
                pages.push((when, touched));
            }
        }
    }
    for (when, touched) in &pages {
        let of = |pages: &[(&str, u64)], name: &str| pages.iter().find(|(one, _)| *one == name).unwrap().1;
        let alone = of(touched, "plan.alone");
        println!(
            "\n{when}: pages of a claim of a hundred jobs, alone {alone}, with a few jobs in all {}",
            of(&few, "plan.alone")
        );
        for beside in NEIGHBOURS {
            let here = of(touched, beside);
            println!("  {beside} {here}");
            if here * 10 > alone * 12 {
                wrong.push(format!("{when}: a claim of {beside} touched {here} pages, and {alone} where it is alone"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
