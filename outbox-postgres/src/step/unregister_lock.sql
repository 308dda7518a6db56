-- unregister_lock: first of two: waits for a claim in flight, and lets no other begin. $1 id
select from :schema.worker where id = $1::uuid for update
