-- survey_connections: how many connections this role may have in this database, by the narrowest limit; a superuser by the server's alone.
select case when r.rolsuper then server.most
            else least(server.most - server.reserved, nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)) end
from pg_catalog.pg_roles r, pg_catalog.pg_database d,
     lateral (select current_setting('max_connections')::int as most,
                     current_setting('superuser_reserved_connections')::int
                       + coalesce(current_setting('reserved_connections', true), '0')::int as reserved) server
where r.rolname = session_user and d.datname = current_database()
