#!/bin/sh
exec "$(dirname "$0")/has-port" services/queue.ini 5672
