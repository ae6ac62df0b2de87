#!/bin/sh
# Makes a database user for MLflow, who is no superuser, and the two databases. The PostgreSQL image runs it once,
# when the volume is new.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\getenv password MLFLOW_DATABASE_PASSWORD
CREATE ROLE mlflow LOGIN PASSWORD :'password';
CREATE DATABASE mlflow OWNER mlflow;
CREATE DATABASE mlflow_auth OWNER mlflow;
REVOKE CONNECT ON DATABASE mlflow, mlflow_auth FROM PUBLIC;
SQL
