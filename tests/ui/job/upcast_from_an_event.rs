use outbox::prelude::*;

#[event("mail.send")]
struct MailSent;

#[job("mail.send", version = 2, upcast_from = MailSent)]
struct SendMail;

impl From<MailSent> for SendMail {
    fn from(_: MailSent) -> Self {
        Self
    }
}

fn main() {}
