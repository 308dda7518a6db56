-- Tables from which retention takes a little each day, out of very many rows: by default a fifth of them has to be dead before autovacuum
-- comes, which is weeks of what went, and as much space that new rows cannot use. job_live has settings of its own since 0003; what only
-- grows and is dropped (event, job_succeeded) and what stays small (worker, subscription) need none.
-- Takes no lock that anybody who reads or writes would meet.
alter table inbox       set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
alter table publish_key set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
alter table attempt     set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
alter table job_failed  set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

insert into migration (version, name, compatible_from) values (13, '0013_autovacuum', 8);
