#!/bin/sh
exec "$(dirname "$0")/has-port" services/web.ini 8080
