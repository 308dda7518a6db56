delete from billing.policies
where id = $1 and holder = $2 and premium_cents = $3 and currency = $4 and status = $5 and revision = $6
