-- inventory: what came in and what went out, by product. Below zero: on order from the supplier.
create schema if not exists inventory;

create table if not exists inventory.stock (
  sku      text   primary key,
  received bigint not null default 0 check (received >= 0),
  taken    bigint not null default 0 check (taken >= 0),
  on_hand  bigint generated always as (received - taken) stored
);
