-- Migrations that do not exist, this and the three beside it: what a later release may add, for the tests of how today's binary takes it. Each wants, for
-- a moment, a table for itself that workers and publishers write to all the time, and none wants two.
alter table job add column weight int not null default 1;
