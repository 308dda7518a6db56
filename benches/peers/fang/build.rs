fn main() -> anyhow::Result<()> {
    carried::tell("FANG_MIGRATION", "fang", "postgres_migrations/migrations/2022-08-20-151615_create_fang_tasks/up.sql")
}
