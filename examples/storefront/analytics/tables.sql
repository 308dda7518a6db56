-- analytics: revenue by day and currency.
create schema if not exists analytics;

create table if not exists analytics.daily_revenue (
  day           date    not null,
  currency      text    not null,
  orders        bigint  not null,
  revenue_cents numeric not null,   -- a day has no upper limit, so it has no width either
  primary key (day, currency)
);
