// Stands in for an agent CLI, by its first argument: replays a recorded stream, and keeps a session where the CLI keeps its own.
// What the prompt says after "fake:" changes its behaviour. Every start is noted in $HOME/calls.jsonl.
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const [name, ...args] = process.argv.slice(2);
const FIXTURES = new URL('../fixtures/', import.meta.url).pathname;

const KINDS = {
  claude: {
    fixture: 'claude-2.1.328-stream.jsonl',
    recordedId: '11111111-1111-4111-8111-111111111111',
    id: () => after('--session-id') ?? after('--resume'),
    resumes: () => args.includes('--resume'),
    file: (id) =>
      join(
        process.env.CLAUDE_CONFIG_DIR,
        'projects',
        process.cwd().replace(/[^A-Za-z0-9]/g, '-'),
        `${id}.jsonl`,
      ),
    prompt: (input) => JSON.parse(input).message.content,
    mcp: () => after('--mcp-config'),
  },
  codex: {
    fixture: 'codex-0.169.0-exec.jsonl',
    recordedId: '01a1f857-6d58-7753-a607-3adf3959d2fe',
    id: () => after('resume') ?? '01a1f857-6d58-7753-a607-3adf3959d2fe',
    resumes: () => args.includes('resume'),
    file: (id) =>
      join(process.env.CODEX_HOME, 'sessions/2026/11/20', `rollout-2026-11-20T09-40-00-${id}.jsonl`),
    prompt: (input) => input,
    mcp: () => after('--profile') && join(process.env.CODEX_HOME, `${after('--profile')}.config.toml`),
  },
  gemini: {
    fixture: 'gemini-0.61.0-stream.jsonl',
    recordedId: '5c0c0950-a811-40e5-a5ad-ec39cb35e77f',
    id: () => after('--session-id') ?? after('--resume'),
    resumes: () => args.includes('--resume'),
    file: (id) => join(geminiChats(), `session-2026-11-20T09-44-${id.slice(0, 8)}.jsonl`),
    prompt: (input) => input,
    mcp: () => join(process.cwd(), '.gemini/settings.json'),
  },
};

function after(flag) {
  const position = args.indexOf(flag);
  return position === -1 ? undefined : args[position + 1];
}

function geminiChats() {
  const home = join(process.env.GEMINI_CLI_HOME, '.gemini');
  const file = join(home, 'projects.json');
  const projects = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8')).projects
    : { [process.cwd()]: 'here' };
  writeFileSync(file, JSON.stringify({ projects }));
  return join(home, 'tmp', projects[process.cwd()], 'chats');
}

const kind = KINDS[name];
const input = name === 'claude' ? lineReader() : { next: everything };
const prompt = kind.prompt(await input.next());
const id = kind.id();
const file = kind.file(id);
const earlier = kind.resumes() ? readFileSync(file, 'utf8') : '';
const mcpFile = kind.mcp();
const mcp = mcpFile !== undefined && existsSync(mcpFile) ? readFileSync(mcpFile, 'utf8') : '';
const { HOME } = process.env;
appendFileSync(
  join(HOME, 'calls.jsonl'),
  `${JSON.stringify({ name, args, prompt, earlier, mcp, cwd: process.cwd(), environment: process.env, pid: process.pid })}\n`,
);

const told = /fake:(\S+)/.exec(prompt)?.[1];
mkdirSync(join(file, '..'), { recursive: true });
if (earlier === '')
  writeFileSync(
    file,
    `${JSON.stringify({ type: 'session_meta', payload: { id, timestamp: '2026-11-20T09:40:00.000Z', cwd: process.cwd() } })}\n`,
  );
appendFileSync(file, `${JSON.stringify({ type: 'said', prompt })}\n`);
writeFileSync('made-by-agent.txt', prompt);

const lines = readFileSync(join(FIXTURES, kind.fixture), 'utf8')
  .replaceAll(kind.recordedId, id)
  .trimEnd()
  .split('\n');
switch (told) {
  case 'hang':
    await hang();
    break;
  case 'die':
    print(lines.slice(0, -1));
    console.error('out of luck');
    process.exit(3);
    break;
  case 'leak':
    console.log(
      JSON.stringify({ type: 'system', subtype: 'note', text: `the key is ${process.env.DEPLOY_KEY}` }),
    );
    print(lines);
    break;
  case 'noise':
    process.stdout.write('[not json] noise\r\n\r\n');
    process.stdout.write(`{"type":"user","padding":"${'x'.repeat(17 * 1024 * 1024)}"}\n`);
    print(lines);
    break;
  case 'listen': {
    // As the CLI does: the message is told again when it is taken, and one result answers both.
    print(lines.slice(0, -1));
    const message = JSON.parse(await input.next()).message.content;
    print([JSON.stringify({ type: 'user', message: { role: 'user', content: message }, isReplay: true })]);
    writeFileSync(join(HOME, 'heard.txt'), message);
    print(lines.slice(-1));
    break;
  }
  case 'pull-request':
    execFileSync('git', ['init', '--quiet', '--initial-branch', 'fix-checkout', 'shop']);
    execFileSync('git', ['-C', 'shop', 'remote', 'add', 'origin', 'https://github.example/acme/shop']);
    print(lines.map((line) => line.replaceAll('fake-ok', 'https://github.example/acme/shop/pull/7')));
    break;
  case 'linger':
    print(lines);
    process.on('SIGTERM', () => undefined);
    await sleep(600_000);
    break;
  default:
    print(lines);
}
process.stdout.end(() => process.exit(0));

function print(some) {
  for (const line of some) process.stdout.write(`${line}\n`);
}

/** Ignores every signal that can be ignored, and leaves a child in a session of its own. */
async function hang() {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  print(lines.slice(0, 1));
  writeFileSync(join(HOME, 'hanging.tmp'), JSON.stringify([process.pid, child.pid]));
  renameSync(join(HOME, 'hanging.tmp'), join(HOME, 'hanging.json'));
  await sleep(600_000);
}

function lineReader() {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  return { next: async () => (await lines.next()).value };
}

async function everything() {
  let text = '';
  for await (const chunk of process.stdin) text += chunk;
  return text;
}
