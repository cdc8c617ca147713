#!/bin/sh
exec "$(dirname "$0")/has-port" services/database.ini 5432
