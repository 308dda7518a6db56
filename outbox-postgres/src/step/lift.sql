-- lift: behind in-transaction subscribers: the caller's own limit again.
-- $1 the limit as it was   $2 the number of the transaction that was bounded
-- Answer: whether this still is that transaction. One that a subscriber ended has another number, or none.
select set_config('statement_timeout', $1::text, true) as set,
       coalesce(pg_current_xact_id_if_assigned()::text = $2::text, false) as same
