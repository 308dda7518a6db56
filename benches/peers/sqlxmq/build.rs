fn main() -> anyhow::Result<()> {
    carried::tell("SQLXMQ_MIGRATIONS", "sqlxmq", "migrations")
}
