create schema if not exists billing;

-- The projection: policies as billing knows them, from what it was told.
create table if not exists billing.policies (
    id text collate "C" primary key,
    holder text not null,
    premium_cents bigint not null,
    currency text not null,
    status text not null,
    revision int not null
);

-- What was charged. No unique constraint: a charge that was made twice would be seen.
create table if not exists billing.ledger (
    policy_id text not null,
    cents bigint not null,
    currency text not null,
    event_id uuid not null,
    charged_at timestamptz not null default now()
);
