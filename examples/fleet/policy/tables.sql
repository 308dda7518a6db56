create schema if not exists policy;

create table if not exists policy.policies (
    id text collate "C" primary key,
    holder text not null,
    premium_cents bigint not null,
    currency text not null,
    term int not null,
    status text not null,
    revision int not null
);

-- No unique constraint: an invoice that was noted twice would be seen.
create table if not exists policy.invoices (
    invoice text not null,
    policy_id text not null,
    cents bigint not null,
    currency text not null
);
