//! What `#[job]` registers, and the handler of a job.

use outbox::prelude::*;
use outbox_core::{Outcome, Registry, Source, TypeMap, Versions};

use crate::support::{handler, run};

/// Send one mail.
#[job("notifications.send_email", version = 3)]
struct SendEmail {
    to: String,
}

#[subscriber(job = "notifications.send_email", aliases("mail.send"))]
async fn send_email(email: SendEmail, key: IdempotencyKey) -> HandlerResult {
    if key.as_str() != "01ARZ3NDEKTSV4RRFFQ69G5FAV:mail.send" {
        Err("the key is made of the oldest name")?;
    }
    if email.to.is_empty() {
        Err(Failure::discard("nobody to send it to"))?;
    }
    Ok(())
}

#[test]
fn a_job_is_registered_under_its_name_and_version() {
    let registry = Registry::linked();
    let job = registry.jobs().iter().find(|job| job.name == SendEmail::NAME).expect("a registered job");
    assert_eq!((job.name, job.version), ("notifications.send_email", 3));
    assert_eq!((job.rust_type)(), std::any::type_name::<SendEmail>());
    assert_eq!(<SendEmail as outbox_core::Message>::KIND, outbox_core::Kind::Job);
}

/// S2-5: a command has one owner, so its handler is stored under the job's own name.
#[test]
fn a_handler_of_a_job_has_the_jobs_name() {
    let handler = handler("notifications.send_email");
    assert_eq!(handler.source, Source::Job("notifications.send_email"));
    assert_eq!(handler.versions, Versions::Only(&[3]));
    assert_eq!(handler.original_name(), "mail.send");
    assert_eq!(handler.module(), "notifications");
}

#[tokio::test]
async fn a_job_is_decoded_and_handled() {
    let state = TypeMap::default();
    assert_eq!(run("notifications.send_email", r#"{"to":"ann@example.org"}"#, &state).await, Outcome::Done);
    let Outcome::Failed { error, .. } = run("notifications.send_email", r#"{"to":""}"#, &state).await else {
        panic!("the handler returned an error");
    };
    assert_eq!(error, "nobody to send it to");
}
