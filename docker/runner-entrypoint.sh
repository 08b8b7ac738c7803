#!/bin/sh
# What workers with containers start inside of a run's image: the runner, with a Node.js of its own, which that image need not have.
# It is given the worker's arguments. bash, git and agent CLIs are those of the image; then those that came along.
here=$(cd "$(dirname "$0")" && pwd)
PATH="$PATH:$here/clis/node_modules/.bin:$here/bin"
export PATH
exec "$here/bin/node" "$here/dist/execution/runner/main.js" "$@"
