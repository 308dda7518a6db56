alter table worker add column zone text;
