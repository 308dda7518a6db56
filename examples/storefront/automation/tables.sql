-- automation: which products are bought together, and which carts were left behind.
create schema if not exists automation;

create table if not exists automation.cross_sell (
  sku      text   not null,
  with_sku text   not null,
  orders   bigint not null,
  primary key (sku, with_sku)
);

create table if not exists automation.cart (
  customer_id  text        not null,
  abandoned_at timestamptz not null,
  resolved_by  text,                 -- the order that made it good
  primary key (customer_id, abandoned_at)
);
