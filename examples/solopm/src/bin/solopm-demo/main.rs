//! Everything that SoloPM needs, in one program: a database, a mail server, a receiver of webhooks, an index, and the server.
//!
//! `cargo xtask solopm` builds and runs it. Ctrl-C ends it, and nothing of it stays.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod database;
mod receiver;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use outbox_testing::server::Server as Postgres;
use outbox_webhooks::NewEndpoint;
use solopm::mail::PostOffice;
use solopm::sample;
use solopm::server::{Server, Settings, migrate};
use solopm::webhooks::{Reach, webhooks};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio_util::sync::CancellationToken;

use crate::database::Database;
use crate::receiver::Receiver;

/// Starts SoloPM with everything that it needs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where it listens; port 0 for any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let postgres = Postgres::obtain()?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let database = Database::create(postgres.url()).await?;
        let ended = on(&database, arguments).await;
        database.drop().await?;
        ended
    })
}

/// On a database of its own, until Ctrl-C.
async fn on(database: &Database, arguments: &Arguments) -> anyhow::Result<()> {
    let pool = PgPoolOptions::new().max_connections(24).connect(&database.url()).await?;
    migrate(&pool).await?;
    let post = PostOffice::open().await?;
    let index = tempfile::tempdir()?;
    let settings = Settings {
        listen: arguments.listen,
        mail: post.address(),
        index: index.path().to_owned(),
        webhooks: Reach::Anywhere,
    };
    let server = Server::open(pool.clone(), &settings, |outbox| outbox.name("solopm")).await?;
    let sample = sample::write(server.outbox()).await?;
    let receiver = receiver(&pool, &sample.project.to_string()).await?;
    println!("\nSoloPM: http://{}\n", server.address()?);
    println!("Sign in as `ann` (runs the server), `bob` or `cem` (one mail a night): the name is the token.");
    println!("Open it in two browsers and move an issue in one of them. Mail and webhooks that leave are told here.");
    println!("Ctrl-C ends it.\n");
    let telling = tokio::spawn(tell_of_mail(post.watch()));
    let shutdown = CancellationToken::new();
    let asked = shutdown.clone();
    tokio::spawn(async move {
        outbox::shutdown_signal().await;
        asked.cancel();
    });
    let ended = server.run(shutdown).await;
    telling.abort();
    drop(receiver);
    pool.close().await;
    ended
}

/// A receiver of everything that happens in a project.
async fn receiver(pool: &PgPool, project: &str) -> anyhow::Result<Receiver> {
    let receiver = Receiver::open().await?;
    let webhooks = webhooks(pool.clone(), Reach::Anywhere)?;
    let endpoint = NewEndpoint::new(project, receiver.url()).description("the demonstration's receiver");
    let created = webhooks.create(&mut *pool.acquire().await?, endpoint).await.context("the endpoint")?;
    receiver.believe(created.secret);
    Ok(receiver)
}

async fn tell_of_mail(mut mails: tokio::sync::watch::Receiver<Vec<solopm::mail::Received>>) {
    let mut told = 0;
    while mails.changed().await.is_ok() {
        for mail in &mails.borrow_and_update()[told..] {
            println!("mail to {}: {}", mail.to.join(", "), mail.header("Subject").unwrap_or_default());
            told += 1;
        }
    }
}
