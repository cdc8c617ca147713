#!/bin/sh
# Runs in a folder that holds only what `reads` names, and writes its verdict to descriptor 3.
# The expected names stand here, since the agent could have changed the file they came from.
expected='Ada
Dorothy
Grace
Katherine
Mary'
if [ -f seating.txt ] && [ "$(cat seating.txt)" = "$expected" ]; then
    echo pass >&3
else
    echo fail >&3
fi
