#!/usr/bin/env bash
# What takes too long for every change, some six hours on two cores: the sections
# of tools/test.sh that it does not run by itself (--help), behind those that they
# build on. The last line is the count over everything.
exec "$(dirname "$0")/test.sh" tidy unit cuda emulation more-cuda mutants more-operators more-plans faults sanitizers
