-- Every effect of every subscriber, from the tables of the modules. Sums of money are text: they have no upper limit.
select
  (select count(*) from orders.order where status = 'paid') as orders_paid,
  (select count(distinct subject_id) from system.event where event_type = 'order.placed') as orders_published,
  (select count(*) from notifications.sent_confirmation) as confirmations,
  (select count(*) from notifications.postbox) as letters,
  (select count(distinct order_id) from notifications.postbox) as orders_written_to,
  (select coalesce(sum(requests), 0) from notifications.postbox)::bigint as mail_requests,
  (select coalesce(sum(revenue_cents), 0) from analytics.daily_revenue)::text as revenue_cents,
  -- Once more from the source, by decimal arithmetic: numeric rounds half away from zero.
  (select coalesce(sum(round(quantity * unit_price_cents * (1 - discount_basis_points / 10000.0))), 0)
   from orders.line)::text as revenue_of_lines,
  (select coalesce(sum(orders), 0) from automation.cross_sell)::bigint as pairs,
  (select count(*) from automation.cart where resolved_by is not null) as carts_resolved
