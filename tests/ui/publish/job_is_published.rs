use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

async fn check_out(tx: &mut sqlx::PgConnection) -> HandlerResult {
    SendEmail.publish(tx).await?;
    Ok(())
}

fn main() {}
