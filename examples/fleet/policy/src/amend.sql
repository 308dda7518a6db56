update policy.policies
set premium_cents = $3, currency = $4, revision = revision + 1
where id = $1 and revision = $2 and status = 'active'
returning id, holder, premium_cents, currency, status, revision
