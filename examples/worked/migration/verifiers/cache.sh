#!/bin/sh
exec "$(dirname "$0")/has-port" services/cache.ini 6379
