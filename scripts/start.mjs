// `npm start`: installs and builds what is missing or out of date, then runs the service in this process.
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';

const PARENT_POLL_MS = 500;

ensureNode();
if (process.env.npm_lifecycle_event !== undefined) followParent();
await ensureDependencies(console.log);
await ensureBuild(console.log);
await import('../dist/main.js');

/** npm that is told to stop dies at once and leaves its script running, which then holds the port and the database. */
function followParent() {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_POLL_MS);
  watch.unref();
}
