delete from solopm.tokens where revoked_at < $1 - interval '30 days'
