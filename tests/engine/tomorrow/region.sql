alter table event add column region text;
create table remark (event_id uuid primary key, text text not null);
