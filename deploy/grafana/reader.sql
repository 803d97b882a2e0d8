-- A database user for dashboards: may read the views of docs/reference/tables.md, and nothing else.
-- Run it as the owner of the store (who may make roles), and again after each `pr-monitor db upgrade`:
--   psql -d pr_monitor -f deploy/grafana/reader.sql
--   psql -d pr_monitor -c '\password pr_monitor_reader'

do $$
begin
    if not exists (select from pg_roles where rolname = 'pr_monitor_reader') then
        create role pr_monitor_reader login;
    end if;
end
$$;

alter role pr_monitor_reader set default_transaction_read_only = on;
alter role pr_monitor_reader set statement_timeout = '30s';
alter role pr_monitor_reader set jit = off;  -- to compile such a query takes longer than to run it

grant usage on schema public to pr_monitor_reader;
grant select on
    agreement,
    confusion_matrices,
    latest_estimates,
    latest_evidence,
    monitor_status,
    open_alerts,
    round_results,
    segments,
    waiting_effects,
    waiting_rounds
to pr_monitor_reader;
