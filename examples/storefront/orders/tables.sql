-- orders: what customers bought. The source of truth for everybody else.
create schema if not exists orders;

create table if not exists orders.order (
  id          text        primary key,
  customer_id text        not null,
  placed_at   timestamptz not null,
  currency    text        not null,
  status      text        not null default 'draft' check (status in ('draft', 'paid', 'fulfilled', 'cancelled', 'refunded'))
);

create table if not exists orders.line (
  order_id              text   not null references orders.order,
  number                int    not null,
  sku                   text   not null,
  product               text   not null,
  quantity              int    not null check (quantity > 0),
  unit_price_cents      bigint not null check (unit_price_cents >= 0),
  discount_basis_points int    not null check (discount_basis_points between 0 and 10000),
  primary key (order_id, number)
);
