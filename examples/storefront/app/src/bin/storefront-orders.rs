//! Writes orders for the demo, the same for the same seed:
//! `cargo run -p storefront-app --bin storefront-orders > examples/storefront/data/orders.jsonl`.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use chrono::{DateTime, Days, Utc};
use clap::Parser;
use serde_json::{Value, json};
use storefront_app::seeded::Seeded;

/// Number, name and price in cents.
const PRODUCTS: [(&str, &str, u32); 16] = [
    ("T-001", "Green tea, 100 g", 890),
    ("T-002", "Black tea, 250 g", 1_290),
    ("T-003", "Peppermint, 80 g", 545),
    ("T-004", "Chai, 200 g", 1_175),
    ("C-001", "Espresso beans, 1 kg", 2_399),
    ("C-002", "Filter coffee, 500 g", 1_149),
    ("C-003", "Decaf, 500 g", 1_335),
    ("H-001", "Heather honey", 777),
    ("H-002", "Acacia honey", 825),
    ("J-001", "Quince jam", 495),
    ("J-002", "Apricot jam", 465),
    ("B-001", "Oat biscuits", 329),
    ("B-002", "Ginger biscuits", 351),
    ("P-001", "Teapot, 1.2 l", 3_950),
    ("P-002", "Cup", 999),
    ("P-003", "Strainer", 605),
];
const CUSTOMERS: [&str; 12] =
    ["ADLER", "BIRCH", "CEDAR", "DUNES", "EIDER", "FJORD", "GROVE", "HEATH", "ISLET", "JETTY", "KNOLL", "LARCH"];
const DISCOUNTS: [f64; 8] = [0.0, 0.0, 0.0, 0.0, 0.05, 0.1, 0.15, 0.25];
const MINUTES_BETWEEN: u32 = 600;

/// Writes orders, one a line.
#[derive(Debug, Parser)]
struct Arguments {
    /// The same seed writes the same orders.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 300)]
    count: u32,
}

fn main() {
    let arguments = Arguments::parse();
    let mut seeded = Seeded::new(arguments.seed);
    let mut moment = DateTime::UNIX_EPOCH.checked_add_days(Days::new(20_089)).unwrap_or_default();
    for number in 0..arguments.count {
        moment += std::time::Duration::from_secs(60 * u64::from(seeded.below(MINUTES_BETWEEN)));
        println!("{}", order(&mut seeded, number, moment));
    }
}

fn order(seeded: &mut Seeded, number: u32, moment: DateTime<Utc>) -> Value {
    let first = seeded.below(16);
    let count = 1 + seeded.below(4);
    // Five is prime to sixteen, so that no product comes twice.
    let lines: Vec<_> = (0..count).map(|place| line(seeded, (first + 5 * place) % 16)).collect();
    json!({
        "order_id": format!("S-{:05}", 1 + number),
        "placed_at": moment.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        "customer": { "id": seeded.pick(&CUSTOMERS) },
        "currency": "EUR",
        "lines": lines,
    })
}

fn line(seeded: &mut Seeded, product: u32) -> Value {
    let (sku, name, price) = PRODUCTS[usize::try_from(product).unwrap_or(0)];
    json!({
        "sku": sku,
        "product": name,
        "quantity": 1 + seeded.below(12),
        "unit_price_cents": price,
        "discount": seeded.pick(&DISCOUNTS),
    })
}
