#!/usr/bin/env node
// `npx millwright`: the command line client. In a fresh clone it installs and builds first, and says so where it does not mix with answers.
import { existsSync } from 'node:fs';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

ensureNode();
const main = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(main)) {
  await ensureDependencies(console.error);
  await ensureBuild(console.error);
}
await import(main);
