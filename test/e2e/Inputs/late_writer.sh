#!/bin/bash
# late_writer.sh FILE PIPE COMMAND...: runs a command that reads PIPE, which is made here. FILE is
# written into the pipe only after the command has said that it waits.
set -eu
file=$1 pipe=$2
shift 2
mkfifo "$pipe"
"$@" 2> "$pipe.said" &
until grep -q "note: waiting for $pipe" "$pipe.said"; do
  kill -0 $! # it gave up
  sleep 0.05
done
cat "$file" > "$pipe"
wait $!
