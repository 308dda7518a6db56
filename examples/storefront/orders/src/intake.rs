//! Reads a file of orders: JSON, one order a line.
//!
//! The whole file is judged before anything of it is taken, so a file is taken or refused, never half taken.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use chrono::Datelike;

use crate::object::Object;
use crate::order::{Line, Order};

/// Most pieces of one line.
const MAX_QUANTITY: u32 = 1_000_000;
/// Most lines of one order; with [`MAX_QUANTITY`] this keeps an order's revenue within 64 bits.
const MAX_LINES: usize = 1_000;
/// Longest text, in characters.
const MAX_TEXT: usize = 200;

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The good lines, in their order.
    pub orders: Vec<Order>,
    /// The bad ones, in their order.
    pub bad_lines: Vec<BadLine>,
}

/// A line that is no order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1, as editors do.
    pub number: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.reason)
    }
}

/// What to do with a file that has bad lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBadLine {
    /// Take nothing at all.
    #[default]
    Refuse,
    /// Take the rest.
    Skip,
}

/// Neither `refuse` nor `skip`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `refuse` nor `skip`")]
pub struct UnknownChoice(String);

impl FromStr for OnBadLine {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "skip" => Ok(Self::Skip),
            other => Err(UnknownChoice(other.to_owned())),
        }
    }
}

impl fmt::Display for OnBadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
        })
    }
}

/// Why nothing of a file is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It has bad lines, and they are not to be skipped.
    #[error("{} cannot be read, so nothing was taken; mend the file, or leave them out with `--on-bad-line skip`", counted(*.0))]
    BadLines(usize),
    /// It holds no order.
    #[error("there is no order to take")]
    Empty,
}

fn counted(lines: usize) -> String {
    if lines == 1 { "one line".to_owned() } else { format!("{lines} lines") }
}

impl Reading {
    /// The orders to take, if any are to be taken.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn accept(self, on_bad_line: OnBadLine) -> Result<Vec<Order>, Refused> {
        match on_bad_line {
            OnBadLine::Refuse if !self.bad_lines.is_empty() => Err(Refused::BadLines(self.bad_lines.len())),
            _ if self.orders.is_empty() => Err(Refused::Empty),
            _ => Ok(self.orders),
        }
    }
}

/// Reads a file of orders. Empty lines are no lines; fields that nobody asks for are left alone.
#[must_use]
pub fn read_orders(file: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let mut first_seen = HashMap::new();
    let file = file.strip_prefix("\u{feff}".as_bytes()).unwrap_or(file);
    for (before, text) in file.split(|byte| *byte == b'\n').enumerate() {
        let number = before + 1;
        if text.trim_ascii().is_empty() {
            continue;
        }
        match read_order(text).and_then(|order| once(&mut first_seen, number, order)) {
            Ok(order) => reading.orders.push(order),
            Err(reason) => reading.bad_lines.push(BadLine { number, reason: shortened(&reason) }),
        }
    }
    reading
}

fn once(first_seen: &mut HashMap<String, usize>, number: usize, order: Order) -> Result<Order, String> {
    if let Some(first) = first_seen.get(&order.id) {
        return Err(format!("order `{}` is already on line {first}", order.id));
    }
    first_seen.insert(order.id.clone(), number);
    Ok(order)
}

fn read_order(text: &[u8]) -> Result<Order, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let Object(order) = serde_path_to_error::deserialize(&mut reader).map_err(|error| explained(&error))?;
    reader.end().map_err(|error| format!("no JSON: {}", without_position(&error)))?;
    check(&order)?;
    Ok(order)
}

/// `lines[2].quantity: invalid value: integer `-3`, expected u32`
fn explained(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (path, what) = (error.path().to_string(), without_position(error.inner()));
    match path.as_str() {
        _ if !error.inner().is_data() => format!("no JSON: {what}"),
        "." => what,
        path => format!("`{path}`: {what}"),
    }
}

/// serde's "line 1" would be taken for a line of the file.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(what) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

/// What the types do not say.
fn check(order: &Order) -> Result<(), String> {
    check_text("order_id", &order.id)?;
    check_text("customer.id", &order.customer.id)?;
    if order.currency.len() != 3 || !order.currency.bytes().all(|letter| letter.is_ascii_uppercase()) {
        return Err("`currency` has to be three capital letters, as `USD`".to_owned());
    }
    // PostgreSQL's times do not go back as far as chrono's.
    if !(1..=9999).contains(&order.placed_at.year()) {
        return Err("`placed_at` has to lie in the years 1 to 9999".to_owned());
    }
    if order.lines.is_empty() || order.lines.len() > MAX_LINES {
        return Err(format!("an order has 1 to {MAX_LINES} lines, and this one has {}", order.lines.len()));
    }
    order.lines.iter().enumerate().try_for_each(|(place, line)| check_line(place, line))
}

fn check_line(place: usize, line: &Line) -> Result<(), String> {
    check_text(&format!("lines[{place}].sku"), &line.sku)?;
    check_text(&format!("lines[{place}].product"), &line.product)?;
    if !(1..=MAX_QUANTITY).contains(&line.quantity) {
        return Err(format!("`lines[{place}].quantity` has to be 1 to {MAX_QUANTITY}, not {}", line.quantity));
    }
    Ok(())
}

fn check_text(name: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err(format!("`{name}` is empty"));
    }
    // Among them U+0000, which PostgreSQL does not store.
    if text.chars().any(char::is_control) {
        return Err(format!("`{name}` holds a control character"));
    }
    if text.chars().count() > MAX_TEXT {
        return Err(format!("`{name}` is longer than {MAX_TEXT} characters"));
    }
    Ok(())
}

/// A reason may quote the line, which may be of any length. Before the quotation stands the place, and behind it what is expected.
fn shortened(reason: &str) -> String {
    const END: usize = 80;
    let clean = || reason.chars().map(|c| if c.is_control() { ' ' } else { c });
    let length = clean().count();
    if length <= MAX_TEXT {
        return clean().collect();
    }
    let beginning = clean().take(MAX_TEXT - END);
    beginning.chain(" .. ".chars()).chain(clean().skip(length - END)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"{"order_id": "1", "placed_at": "1996-07-04T00:00:00Z", "customer": {"id": "VINET", "name": "x"}, "currency": "USD", "extra": [1], "lines": [{"sku": "11", "product": "Queso", "quantity": 12, "unit_price_cents": 1400, "discount": 0.15}]}"#;

    /// What is said of the one line `GOOD`, with `from` replaced.
    fn reason(from: &str, to: &str) -> String {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "`{from}` occurs");
        let mut reading = read_orders(text.as_bytes());
        assert_eq!(reading.orders, []);
        reading.bad_lines.pop().expect("a bad line").reason
    }

    #[test]
    fn a_good_line_is_an_order() {
        let reading = read_orders(format!("\u{feff}{GOOD}\r\n\n  \n").as_bytes());
        assert_eq!(reading.bad_lines, []);
        let [order] = reading.orders.as_slice() else { panic!("one order") };
        assert_eq!((order.id.as_str(), order.units(), order.revenue_cents()), ("1", 12, 14_280));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, expected) in [
            ("12", "0", "`lines[0].quantity` has to be 1 to 1000000, not 0"),
            ("12", "-3", "`lines[0].quantity`: invalid value: integer `-3`, expected u32"),
            ("12", "1.5", "`lines[0].quantity`: invalid type: floating point `1.5`, expected u32"),
            ("12", "99999999999999999999", "`lines[0].quantity`: invalid type: floating point"),
            ("12", "\"12\"", "`lines[0].quantity`: invalid type: string \"12\""),
            ("1400", "99999999999", "`lines[0].unit_price_cents`: invalid value: integer `99999999999`, expected u32"),
            ("1400", "-1", "`lines[0].unit_price_cents`: invalid value"),
            ("0.15", "1.5", "`lines[0].discount`: a discount is a number from 0 to 1"),
            ("0.15", "0.123456", "`lines[0].discount`: a discount is a number from 0 to 1"),
            ("0.15", "\"0.15\"", "`lines[0].discount`: a discount is a number from 0 to 1"),
            ("\"quantity\": 12, ", "", "`lines[0]`: missing field `quantity`"),
            ("\"order_id\": \"1\", ", "", "missing field `order_id`"),
            ("\"order_id\": \"1\"", "\"order_id\": \"\"", "`order_id` is empty"),
            ("\"order_id\": \"1\"", "\"order_id\": \"a\\u0000\"", "`order_id` holds a control character"),
            ("\"order_id\": \"1\"", "\"order_id\": \"1\", \"order_id\": \"2\"", "duplicate field `order_id`"),
            ("1996-07-04T00:00:00Z", "yesterday", "`placed_at`: "),
            ("1996-07", "-5000-07", "`placed_at` has to lie in the years 1 to 9999"),
            ("1996-07", "+10000-07", "`placed_at` has to lie in the years 1 to 9999"),
            (
                "{\"id\": \"VINET\", \"name\": \"x\"}",
                "[\"VINET\"]",
                "`customer`: invalid type: sequence, expected struct Customer",
            ),
            ("USD", "Dollars", "`currency` has to be three capital letters"),
            ("{\"order_id\"", "{{\"order_id\"", "no JSON: key must be a string (column 2)"),
            ("0.15}]}", "0.15}]} x", "no JSON: trailing characters"),
            ("0.15}]}", "0.15}]", "no JSON: EOF while parsing an object"),
        ] {
            let said = reason(from, to);
            assert!(said.starts_with(expected), "{to}: {said}");
        }
        let no_lines = r#"{"order_id": "1", "placed_at": "1996-07-04T00:00:00Z", "customer": {"id": "V"}, "currency": "USD", "lines": []}"#;
        let said = read_orders(no_lines.as_bytes()).bad_lines[0].to_string();
        assert_eq!(said, "line 1: an order has 1 to 1000 lines, and this one has 0");
    }

    /// A row whose fields are told apart by their places only is no order.
    #[test]
    fn an_array_is_no_order() {
        let array = r#"["1", "1996-07-04T00:00:00Z", {"id": "V"}, "USD", []]"#;
        let said = read_orders(array.as_bytes()).bad_lines[0].to_string();
        assert_eq!(said, "line 1: invalid type: sequence, expected struct Order (column 0)");
        let line = r#"{"sku": "11", "product": "Queso", "quantity": 12, "unit_price_cents": 1400, "discount": 0.15}"#;
        let said = reason(line, r#"["11", "Queso", 12, 1400, 0.15]"#);
        assert!(said.starts_with("`lines[0]`: invalid type: sequence, expected struct Line (column "), "{said}");
    }

    #[test]
    fn an_order_counts_once() {
        let file = format!("{GOOD}\n\nno order\n{GOOD}\n");
        let reading = read_orders(file.as_bytes());
        let said: Vec<_> = reading.bad_lines.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["line 3: no JSON: expected ident (column 2)", "line 4: order `1` is already on line 1"]);
        assert_eq!(reading.orders.len(), 1);
    }

    #[test]
    fn a_file_is_taken_or_refused() {
        let mixed = || read_orders(format!("{GOOD}\nno order\n").as_bytes());
        assert_eq!(mixed().accept(OnBadLine::Refuse), Err(Refused::BadLines(1)));
        assert_eq!(mixed().accept(OnBadLine::Skip).map(|orders| orders.len()), Ok(1));
        assert_eq!(read_orders(b"no order").accept(OnBadLine::Skip), Err(Refused::Empty));
        assert_eq!(read_orders(b"\n").accept(OnBadLine::Refuse), Err(Refused::Empty));
    }

    #[test]
    fn a_reason_is_short_however_long_the_line_is() {
        let said = reason("12", &format!("\"{}\"", "x".repeat(10_000)));
        assert!(said.chars().count() <= MAX_TEXT + 4, "{said}");
        assert!(said.starts_with("`lines[0].quantity`: invalid type: string \"xxx"), "{said}");
        assert!(said.contains("xxx\", expected u32 (column 10"), "{said}");
    }

    use serde_json::{Value, json};

    fn order(id: &str) -> String {
        GOOD.replacen("\"1\"", &json!(id).to_string(), 1)
    }

    /// One line of a file.
    #[derive(Debug, Clone)]
    enum Written {
        Good,
        Blank(String),
        Bad(Vec<u8>),
    }

    fn lines() -> impl Strategy<Value = Vec<Written>> {
        let bytes = prop::collection::vec(any::<u8>().prop_filter("no end of the line", |byte| *byte != b'\n'), 0..40);
        // `x` begins no JSON, and is no blank.
        let junk = bytes.prop_map(|bytes| Written::Bad([b"x", bytes.as_slice()].concat()));
        let cut = (1..GOOD.len()).prop_map(|end| Written::Bad(GOOD.as_bytes()[..end].to_vec()));
        let blank = "[ \t\r]{0,3}".prop_map(Written::Blank);
        prop::collection::vec(prop_oneof![Just(Written::Good), blank, junk, cut], 0..12)
    }

    /// JSON that may stand where another value is expected.
    fn odd_values() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (0..2_000_000_u32).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (0..30_000_u32).prop_map(|points| json!(f64::from(points) / 20_000.0)),
            "[A-Z]{2,4}|\\PC{0,3}|.{195,205}".prop_map(Value::from),
            "(-?[0-9]{1,5}|\\+12345)-0[1-9]-1[0-9]T10:00:00(Z|\\+02:00)".prop_map(Value::from),
            prop::collection::vec(any::<u32>(), 0..4).prop_map(Value::from),
            Just(json!({})),
            Just(json!({"id": "x", "more": []})),
            Just(json!([["11", "Queso", 12, 1400, 0.15]])),
        ]
    }

    const PLACES: [&str; 10] = [
        "/order_id",
        "/placed_at",
        "/customer",
        "/customer/id",
        "/currency",
        "/lines/0",
        "/lines/0/sku",
        "/lines/0/quantity",
        "/lines/0/unit_price_cents",
        "/lines/0/discount",
    ];

    /// The language, said again by hand over JSON that is read already.
    fn is_order_by_the_book(order: &Value) -> bool {
        let is_text = |value: &Value| {
            value.as_str().is_some_and(|text| {
                !text.trim().is_empty() && !text.contains(char::is_control) && text.chars().count() <= 200
            })
        };
        let is_moment = |value: &Value| {
            let moment = value.as_str().and_then(|text| text.parse::<chrono::DateTime<chrono::Utc>>().ok());
            moment.is_some_and(|moment| (1..=9999).contains(&moment.year()))
        };
        let is_currency = |value: &Value| {
            value
                .as_str()
                .is_some_and(|text| text.len() == 3 && text.chars().all(|c| "ABCDEFGHIJKLMNOPQRSTUVWXYZ".contains(c)))
        };
        let is_number = |value: &Value, from: u64, to: u64| value.as_u64().is_some_and(|n| (from..=to).contains(&n));
        let is_discount = |value: &Value| {
            // Four places at most: ten thousand times it is whole, said with the text as it is written.
            let text = if value.is_number() { value.to_string() } else { String::new() };
            (0..=10_000_u32).any(|points| text.parse::<f64>() == Ok(f64::from(points) / 10_000.0))
        };
        let is_line = |line: &Value| {
            line.is_object()
                && is_text(&line["sku"])
                && is_text(&line["product"])
                && is_number(&line["quantity"], 1, 1_000_000)
                && is_number(&line["unit_price_cents"], 0, u64::from(u32::MAX))
                && is_discount(&line["discount"])
        };
        is_text(&order["order_id"])
            && is_moment(&order["placed_at"])
            && order["customer"].is_object()
            && is_text(&order["customer"]["id"])
            && is_currency(&order["currency"])
            && order["lines"].as_array().is_some_and(|lines| !lines.is_empty() && lines.iter().all(is_line))
    }

    proptest! {
        /// A good line stays good whatever stands beside it, and each bad one is named by its number and, where it is no JSON, its column.
        #[test]
        fn lines_are_judged_by_themselves(lines in lines(), with_mark in any::<bool>(), ending in "\r?\n") {
            let (mut file, mut good, mut bad) = (Vec::new(), Vec::new(), Vec::new());
            if with_mark {
                file.extend_from_slice("\u{feff}".as_bytes());
            }
            for (at, line) in lines.iter().enumerate() {
                match line {
                    Written::Good => {
                        good.push(at.to_string());
                        file.extend_from_slice(order(&at.to_string()).as_bytes());
                    }
                    Written::Blank(blank) => file.extend_from_slice(blank.as_bytes()),
                    Written::Bad(bytes) => {
                        bad.push((at + 1, bytes.len()));
                        file.extend_from_slice(bytes);
                    }
                }
                file.extend_from_slice(ending.as_bytes());
            }
            let reading = read_orders(&file);
            prop_assert_eq!(reading.orders.iter().map(|order| order.id.clone()).collect::<Vec<_>>(), good);
            prop_assert_eq!(reading.bad_lines.iter().map(|bad| bad.number).collect::<Vec<_>>(), bad.iter().map(|(number, _)| *number).collect::<Vec<_>>());
            for (line, (_, length)) in reading.bad_lines.iter().zip(&bad) {
                let column = line.reason.rsplit_once("(column ").and_then(|(_, rest)| rest.strip_suffix(')')?.parse::<usize>().ok());
                prop_assert!(line.reason.starts_with("no JSON: ") && column.is_some_and(|column| column <= length + 1), "{}", line);
            }
        }

        /// Exactly the orders are taken, and what is said of another names the place.
        #[test]
        fn exactly_the_orders_are_taken(place in 0..PLACES.len(), odd in odd_values()) {
            let mut written: Value = serde_json::from_str(GOOD).expect("JSON");
            *written.pointer_mut(PLACES[place]).expect("it is there") = odd;
            let reading = read_orders(written.to_string().as_bytes());
            prop_assert_eq!(reading.orders.len() == 1, is_order_by_the_book(&written), "{} {:?}", written, reading.bad_lines);
            if let Some(bad) = reading.bad_lines.first() {
                let named = PLACES[place][1..].replace("/0", "[0]").replace('/', ".");
                prop_assert!(bad.reason.starts_with(&format!("`{named}")), "{}: {}", named, bad);
            }
        }

        /// Totals are exact for every order that is taken, up to the largest.
        #[test]
        fn totals_never_overflow(kinds in prop::collection::vec((1..=MAX_QUANTITY, any::<u32>(), 0..=10_000_u16), 1..4), largest in any::<bool>(), count in 1..=MAX_LINES) {
            let kinds = if largest { vec![(MAX_QUANTITY, u32::MAX, 0)] } else { kinds };
            let line = |(quantity, unit_price_cents, points)| Line {
                sku: "1".into(),
                product: "x".into(),
                quantity,
                unit_price_cents,
                discount: crate::money::Discount::from_basis_points(points).expect("in range"),
            };
            let mut order = read_orders(GOOD.as_bytes()).orders.remove(0);
            order.lines = kinds.iter().copied().cycle().take(count).map(line).collect();
            prop_assert_eq!(check(&order), Ok(()));
            let exact = |(quantity, price, points): (u32, u32, u16)| {
                (i128::from(quantity) * i128::from(price) * i128::from(10_000 - points) * 2 + 10_000).div_euclid(20_000)
            };
            let sum: i128 = kinds.iter().copied().cycle().take(count).map(exact).sum();
            prop_assert_eq!(i128::from(order.revenue_cents()), sum);
            let units: u128 = kinds.iter().cycle().take(count).map(|(quantity, ..)| u128::from(*quantity)).sum();
            prop_assert_eq!(u128::from(order.units()), units);
        }

        /// Whatever the bytes are, every line is judged: no panic, and nothing is dropped in silence.
        #[test]
        fn any_bytes_are_judged(file in proptest::collection::vec(any::<u8>(), 0..400)) {
            let reading = read_orders(&file);
            let file = file.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&file);
            let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            prop_assert_eq!(reading.orders.len() + reading.bad_lines.len(), lines.count());
        }

        /// A good line with one byte changed, taken out or put in is an order or a bad line.
        #[test]
        fn a_damaged_line_is_judged(at in 0..GOOD.len(), byte in any::<u8>(), way in 0..3_u8) {
            let mut line = GOOD.as_bytes().to_vec();
            match way {
                0 => line[at] = byte,
                1 => drop(line.remove(at)),
                _ => line.insert(at, byte),
            }
            let _ = read_orders(&line).accept(OnBadLine::Refuse);
        }
    }
}
