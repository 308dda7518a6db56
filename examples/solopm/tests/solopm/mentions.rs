//! Who is mentioned is read by the server, and an edit is news to those alone who were not mentioned before.

use serde_json::json;

use crate::house::House;

/// S1-7: the payload has the user names, read by the server from the text as it is: no mail addresses, no code; an edit has the new ones
/// alone, and tells nobody twice.
#[tokio::test]
async fn an_edit_tells_only_whom_it_mentions_anew() {
    let house = House::open().await;
    let (ann, bob, cem) = (house.person("ann").await, house.person("bob").await, house.person("cem").await);
    let project = ann.project("House", &[&bob, &cem]).await;
    house.drain().await;
    house.execute("delete from solopm.notifications").await;
    let issue = ann.issue(&project, "The door sticks").await;
    let first = "@bob, and `@cem`, and cem@example.com\n\n    @cem\n";
    let comment = ann.post(&format!("{issue}/comments"), json!({ "body": first, "mentions": ["cem"] })).await;
    let path = format!("{issue}/comments/{comment}");
    ann.put(&path, json!({ "body": "@bob, please, and @cem" })).await;
    ann.put(&path, json!({ "body": "@bob and @cem, please" })).await;
    let mentions = "select payload->>'mentions' from system.event where event_type like 'comment.%' order by id";
    assert_eq!(house.texts(mentions).await, [r#"["bob"]"#, r#"["cem"]"#, "[]"]);
    house.drain().await;
    let told = [
        "bob: New comment on #1 The door sticks (House)",
        "cem: You are mentioned in a comment on #1 The door sticks (House)",
    ];
    assert_eq!(house.told().await, told);
}

/// A name that nobody has, or that somebody outside of the project has, tells nobody.
#[tokio::test]
async fn mentions_reach_members_only() {
    let house = House::open().await;
    let (ann, _eve) = (house.person("ann").await, house.person("eve").await);
    let project = ann.project("House", &[]).await;
    ann.post(&format!("{project}/issues"), json!({ "title": "x", "description": "@eve @nobody @ann" })).await;
    house.drain().await;
    assert_eq!(house.told().await, Vec::<String>::new());
}
