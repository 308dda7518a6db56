alter table subscription add column owner text not null default 'nobody';
