// `npm run test:harnesses`: drives the real agent CLIs through the service, against a fake model on the loopback. They are installed from
// npm into a cache outside of the repository (HARNESS_CACHE, by default ~/.cache/millwright/agent-clis), about 900 MB the first time.
// Arguments are Jest's: `npm run test:harnesses -- -t codex`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { runNode, stopWithParent } from './lib/tools.mjs';

/** The versions that the adapters are written for. */
const CLIS = [
  { command: 'claude', name: '@anthropic-ai/claude-code', version: '2.1.328' },
  { command: 'codex', name: '@openai/codex', version: '0.169.0' },
  { command: 'gemini', name: '@google/gemini-cli', version: '0.61.0' },
];

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
stopWithParent();

const cache = process.env.HARNESS_CACHE || join(homedir(), '.cache/millwright/agent-clis');
const directories = CLIS.map(({ command, name, version }) => install(command, name, version));
const { code } = await runNode(
  [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--config=test/harnesses/jest.config.mjs',
    '--runInBand',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', env: { MILLWRIGHT_AGENT_CLIS: directories.join(delimiter) } },
);
process.exit(code);

/** @returns the directory of its command */
function install(command, name, version) {
  const directory = join(cache, `${command}-${version}`);
  const bin = join(directory, 'node_modules/.bin');
  if (!existsSync(join(bin, command))) {
    console.log(`Installing ${name}@${version} into ${directory} …`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
    const flags = ['--save-exact', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, `${name}@${version}`], { cwd: directory, stdio: 'inherit' });
  }
  console.log(`${name} ${version}`);
  return bin;
}
