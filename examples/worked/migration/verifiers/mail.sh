#!/bin/sh
exec "$(dirname "$0")/has-port" services/mail.ini 2525
