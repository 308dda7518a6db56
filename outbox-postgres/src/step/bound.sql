-- bound: before in-transaction subscribers run: the server ends each of their statements after a time, so that one that waits for a
-- lock does not wait on behind the end of its subscriber. A shorter limit of the caller's own stays.
-- $1 milliseconds
-- Answer: the caller's own limit, to be set again, and the transaction's number, which is the same behind them.
with own as materialized (select current_setting('statement_timeout') as text)
select o.text as own, pg_current_xact_id()::text as transaction,
       case when extract(epoch from o.text::interval) * 1000 between 1 and $1::bigint then o.text
            else set_config('statement_timeout', $1::text, true) end as set
from own o
