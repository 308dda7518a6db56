insert into billing.policies (id, holder, premium_cents, currency, status, revision)
values ($1, $2, $3, $4, $5, $6)
on conflict (id) do update
set holder = excluded.holder, premium_cents = excluded.premium_cents, currency = excluded.currency,
    status = excluded.status, revision = excluded.revision
where policies.revision < excluded.revision
