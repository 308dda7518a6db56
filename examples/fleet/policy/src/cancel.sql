update policy.policies
set status = 'cancelled', revision = revision + 1
where id = $1 and revision = $2 and status = 'active'
returning id, holder, premium_cents, currency, status, revision
