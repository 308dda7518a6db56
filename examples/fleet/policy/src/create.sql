insert into policy.policies (id, holder, premium_cents, currency, term, status, revision)
values ($1, $2, $3, $4, $5, 'active', 1)
on conflict do nothing
