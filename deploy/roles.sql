-- Two roles for floe: floe_owner migrates, floe_app runs the servers. Run it as a superuser, in the database of floe, before the first
-- `floe migrate` and once more after it: psql DATABASE --file roles.sql. It can be run again at any time.
-- Then set passwords: alter role floe_owner password '…'; alter role floe_app password '…';
--   FLOE_DATABASE_MIGRATION_URL=postgres://floe_owner:…@db/floe   for `floe migrate` and `floe audit prune`
--   DATABASE_URL=postgres://floe_app:…@db/floe                    for the servers, with FLOE_MIGRATE=off

do $$
begin
  if not exists (select from pg_roles where rolname = 'floe_owner') then create role floe_owner login; end if;
  if not exists (select from pg_roles where rolname = 'floe_app') then create role floe_app login; end if;
  execute format('grant create, temporary on database %I to floe_owner', current_database());
  execute format('grant temporary on database %I to floe_app', current_database());
end $$;

-- The owner may change what belongs to the servers, not the other way round.
grant floe_app to floe_owner;

create schema if not exists drizzle authorization floe_owner;
grant usage on schema drizzle to floe_app;
alter default privileges for role floe_owner in schema drizzle grant select on tables to floe_app;
grant select on all tables in schema drizzle to floe_app;

revoke create on schema public from public;
grant usage, create on schema public to floe_owner;
-- Servers make a part of usage_events for each month.
grant usage, create on schema public to floe_app;
alter default privileges for role floe_owner in schema public grant select, insert, update, delete on tables to floe_app;
alter default privileges for role floe_owner in schema public grant usage, select on sequences to floe_app;

-- What a database without these roles has is handed over.
do $$
declare
  found record;
begin
  for found in
    select c.relname, c.relkind from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relowner not in ('floe_owner'::regrole, 'floe_app'::regrole)
  loop
    execute format('alter table public.%I owner to floe_owner', found.relname);
  end loop;
  for found in
    select p.oid::regprocedure as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.proowner not in ('floe_owner'::regrole, 'floe_app'::regrole)
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  loop
    execute format('alter routine %s owner to floe_owner', found.name);
  end loop;
  for found in
    select c.relname from pg_class c
    where c.relnamespace = 'drizzle'::regnamespace and c.relkind = 'r' and c.relowner <> 'floe_owner'::regrole
  loop
    execute format('alter table drizzle.%I owner to floe_owner', found.relname);
  end loop;
  -- Servers attach and drop parts of usage_events, and begin a new epoch of events after a restore.
  for found in
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and (c.relname = 'events' or c.relname like 'usage\_events%')
  loop
    execute format('alter table public.%I owner to floe_app', found.relname);
  end loop;
end $$;
grant select, insert, update, delete on all tables in schema public to floe_app;
grant usage, select on all sequences in schema public to floe_app;

-- The audit log and its seals can only be added to.
do $$
declare
  name text;
begin
  foreach name in array array['audit_log', 'audit_seals', 'audit_sealed'] loop
    if to_regclass('public.' || name) is not null then
      execute format('revoke update, delete, truncate, references, trigger on public.%I from floe_app', name);
    end if;
  end loop;
end $$;
