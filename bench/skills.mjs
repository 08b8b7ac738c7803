/**
 * How long `GET /v1/agent` takes over a local repository with 200 SKILL.md files, 10 of them malformed: the first time, from the
 * cache, and refreshed. Prints milliseconds. Needs a build (`npm run build`) and git.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SKILLS = 200;
const MALFORMED = 10;
const CACHED_CALLS = 200;
const REFRESHES = 10;
const KEY = 'wk-bench-admin-key-0123456789abcdefghi';

const root = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
const service = await start();
try {
  const query = 'repo=bench/skills&include_malformed_skills=true';
  const first = await measure(query);
  const cached = [];
  for (let call = 0; call < CACHED_CALLS; call++) cached.push((await measure(query)).ms);
  const refreshed = [];
  for (let call = 0; call < REFRESHES; call++) refreshed.push((await measure(`${query}&refresh=true`)).ms);
  console.log(`skills ${first.skills}, malformed ${first.malformed}, answer ${first.bytes} bytes`);
  console.log(`first      ${first.ms.toFixed(1)} ms`);
  console.log(`cached     ${summary(cached)}`);
  console.log(`refreshed  ${summary(refreshed)}`);
  service.kill('SIGTERM');
  await new Promise((resolve) => service.once('exit', resolve));
} finally {
  service.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

async function measure(query) {
  const begin = performance.now();
  const response = await fetch(`${service.url}/v1/agent?${query}`, {
    headers: { Authorization: `Bearer ${KEY}` },
  });
  const text = await response.text();
  const ms = performance.now() - begin;
  if (response.status !== 200) throw new Error(text);
  const variants = JSON.parse(text).agents.flatMap((agent) => agent.variants);
  const malformed = variants.filter((variant) => variant.error !== undefined).length;
  return { ms, skills: variants.length, malformed, bytes: Buffer.byteLength(text) };
}

function summary(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
  return `median ${at(0.5)} ms, p95 ${at(0.95)} ms, worst ${at(1)} ms of ${times.length}`;
}

async function start() {
  makeRepository();
  const port = await freePort();
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ['dist/main.js'], {
    env: {
      PATH,
      HOME,
      PORT: String(port),
      DATA_DIR: join(root, 'data'),
      BOOTSTRAP_API_KEY: KEY,
      GIT_BASE_URL: pathToFileURL(join(root, 'host')).href,
      API_REQUESTS_PER_MINUTE: '0',
      WORKER_SLOTS: '0',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error('the service ended');
    const answer = await fetch(`${child.url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return child;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function makeRepository() {
  const work = join(root, 'work');
  const bare = join(root, 'host', 'bench', 'skills');
  const git = (...args) => execFileSync('git', args, { stdio: 'ignore' });
  git('init', '-q', '--bare', '-b', 'main', bare);
  git('-C', bare, 'config', 'uploadpack.allowFilter', 'true');
  git('clone', '-q', bare, work);
  for (let index = 0; index < SKILLS; index++) {
    const name = `skill-${index}`;
    const description = index < MALFORMED ? '' : `description: What skill ${index} does and when to use it\n`;
    const directory = join(work, '.agents', 'skills', name);
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, 'SKILL.md'),
      `---\nname: ${name}\n${description}---\n\n# Skill ${index}\n\n${'Do one thing after another.\n'.repeat(150)}`,
    );
  }
  git('-C', work, 'add', '-A');
  git(
    '-C',
    work,
    '-c',
    'user.name=Bench',
    '-c',
    'user.email=bench@example.com',
    'commit',
    '-q',
    '-m',
    'Skills',
  );
  git('-C', work, 'push', '-q', 'origin', 'HEAD:main');
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
