// `npm start`: installs and builds what is missing or out of date, then runs the service in this process.
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { whenParentIsGone } from './lib/tools.mjs';

ensureNode();
if (process.env.npm_lifecycle_event !== undefined) {
  whenParentIsGone(() => process.kill(process.pid, 'SIGTERM'));
}
await ensureDependencies(console.log);
await ensureBuild(console.log);
await import('../dist/main.js');
