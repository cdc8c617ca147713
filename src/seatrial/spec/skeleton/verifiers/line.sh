#!/bin/sh
if [ -f summary.txt ] && [ "$(cat summary.txt)" = '5 guests, from Ada to Mary' ]; then
    echo pass >&3
else
    echo fail >&3
fi
