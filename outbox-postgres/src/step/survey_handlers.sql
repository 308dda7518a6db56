-- survey_handlers: handlers that the catalogue has active and that neither this binary nor any living worker declares.
-- $1 own names text[]
select s.handler, s.source from :schema.subscription s
where s.retired_at is null and s.kind not in ('in_transaction', 'job')
  and s.handler <> all($1::text[])
  and not exists (select from :schema.worker w where w.dead_at is null and w.expires_at > now() 
                  and exists (select from unnest(w.ranges) r where split_part(r, '@', 1) = s.handler))
order by s.handler
