//! Which ages there may be.

use outbox::{BuildError, Retention};
use outbox_testing::Sandbox;

use super::{event, prune, week};
use crate::sql::refusal;
use crate::support::Shop;

/// An age that is not safe is refused, by `build()` with all of them at once and by the database, whoever asks.
#[tokio::test]
async fn an_age_that_is_not_safe_is_refused() {
    let shop = Shop::new().await;
    let unsafe_ages = Retention::default().succeeded(0).events(0).failed(0).keys(0);
    let refused = shop.outbox(&["notifications.confirm"]).retention(unsafe_ages).build().await.unwrap_err();
    assert!(matches!(&refused, BuildError::Settings(faults) if faults.len() == 4), "{refused}");
    assert!(refused.to_string().contains("`.retention(..)`: `succeeded(0)` is not safe"), "{refused}");
    for (chore, age) in [
        ("succeeded", "0 days"),
        ("succeeded", "23 hours"),
        ("events", "6 days"),
        ("failed", "6 days"),
        ("attempts", "6 days"),
        ("inbox", "6 days"),
        ("publish_keys", "-1 days"),
    ] {
        let code = refusal(&shop.sandbox, &format!("select :schema.prune_{chore}('{age}')")).await;
        assert_eq!(code, "22023", "{chore} {age}");
        let code = refusal(&shop.sandbox, &format!("select :schema.prune_{chore}(null)")).await;
        assert_eq!(code, "22023", "{chore} null");
    }
}

/// An age beyond the calendar's beginning takes nothing away.
#[tokio::test]
async fn a_very_long_age_takes_nothing() {
    let sandbox = Sandbox::new().await;
    week(&sandbox, 9).await;
    event(&sandbox, "63 days", "old").await;
    for age in ["36500 days", "200000 days"] {
        assert_eq!(prune(&sandbox, "events", age).await, (0, 0, 0), "{age}");
    }
}
