import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { McpServer } from '../../protocol/harness-support.js';
import type { UsageCounters } from '../../protocol/cli-transcript.js';
import {
  type AgentCli,
  promptText,
  type SessionPlace,
  type StreamReader,
  type TurnResult,
} from './agent-cli.js';
import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  parseObjects,
  textOf,
  toLines,
} from './json-line.js';

const SYSTEM_PROMPT_FILE = 'millwright-system-prompt.md';

/** Claude Code, headless: one process a turn, steered through its standard input. Facts as of 2.1.328. */
export const claude: AgentCli = {
  command: 'claude',
  installation: 'npm install --global @anthropic-ai/claude-code',
  transcriptFormat: 'claude_code_cli',
  homeVariable: 'CLAUDE_CONFIG_DIR',
  takesMessages: true,

  prepare(home) {
    return Promise.resolve({
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Without it the CLI refuses to work unasked as root, which it is in many containers.
      ...(process.getuid?.() === 0 && { IS_SANDBOX: '1' }),
    });
  },

  async launch({ home, cwd, model, reasoningLevel, sessionId, resumes, prompt, mcpServers }) {
    const flags = ['-p', '--verbose', '--input-format', 'stream-json', '--output-format', 'stream-json'];
    flags.push('--replay-user-messages', '--dangerously-skip-permissions');
    flags.push(resumes ? '--resume' : '--session-id', sessionId);
    if (model !== '') flags.push('--model', model);
    if (reasoningLevel !== undefined) flags.push('--effort', reasoningLevel);
    if (prompt.system_prompt !== undefined) {
      const file = join(home, SYSTEM_PROMPT_FILE);
      await writeFile(file, prompt.system_prompt, { mode: 0o600 });
      flags.push('--append-system-prompt-file', file);
    }
    if (Object.keys(mcpServers).length > 0)
      flags.push('--mcp-config', await writeMcpServers(cwd, mcpServers));
    return { arguments: flags, input: this.message(promptText(prompt, { withSystemPrompt: false })) };
  },

  message: (text) => `${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`,

  startReader: (before) => new ClaudeReader(before),

  async saveSession(place) {
    const file = sessionFile(place);
    const entries = await readFile(file, 'utf8').catch(() => undefined);
    if (entries === undefined) return undefined;
    return {
      cwd: place.cwd,
      uuid: place.sessionId,
      entries: parseObjects(entries),
      subagents: await readSubagents(subagentDirectory(file)),
    };
  },

  async restoreSession(place, envelope) {
    const file = sessionFile(place);
    const directory = subagentDirectory(file);
    await mkdir(directory, { recursive: true });
    await writeFile(file, toLines(objectsOf(envelope.entries)));
    for (const [name, entries] of Object.entries(objectOf(envelope.subagents))) {
      // The name comes out of a file that the agent could write to.
      await writeFile(join(directory, `${basename(name)}.jsonl`), toLines(objectsOf(entries)));
    }
  },
};

/** @returns the file, in the workspace: the home may be another run's too */
async function writeMcpServers(cwd: string, servers: Record<string, McpServer>): Promise<string> {
  const entries = Object.entries(servers).map(([name, { url, headers, command, args, env }]) => [
    name,
    url === undefined ? { command, args, env } : { type: 'http', url, headers },
  ]);
  const directory = join(cwd, '.millwright');
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'mcp.json');
  await writeFile(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) as object }), {
    mode: 0o600,
  });
  return file;
}

function sessionFile({ home, cwd, sessionId }: SessionPlace): string {
  return join(home, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`);
}

const subagentDirectory = (file: string): string =>
  join(dirname(file), basename(file, '.jsonl'), 'subagents');

async function readSubagents(directory: string): Promise<Record<string, JsonObject[]>> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.jsonl'));
  const files = names.map(async (name): Promise<[string, JsonObject[]]> => [
    basename(name, '.jsonl'),
    parseObjects(await readFile(join(directory, name), 'utf8')),
  ]);
  return Object.fromEntries(await Promise.all(files));
}

/** Tokens are told for each turn, the cost for the whole session, also over a resumption. */
class ClaudeReader implements StreamReader {
  sessionId: string | undefined;
  result: TurnResult | undefined;
  complaint: string | undefined;
  messagesTaken = 0;
  private tokens = 0;
  private sessionCost: number;

  constructor(private readonly before: UsageCounters) {
    this.sessionCost = before.cost_usd ?? 0;
  }

  get usage(): UsageCounters {
    return {
      total_tokens: this.tokens,
      cost_usd: Math.max(0, this.sessionCost - (this.before.cost_usd ?? 0)),
    };
  }

  get counters(): UsageCounters {
    return { total_tokens: this.before.total_tokens + this.tokens, cost_usd: this.sessionCost };
  }

  read(line: JsonObject): void {
    this.sessionId = textOf(line.session_id) ?? this.sessionId;
    if (line.type === 'user' && line.isReplay === true) this.messagesTaken += 1;
    if (line.type === 'system' && line.subtype === 'api_retry') this.complaint = textOf(line.error);
    if (line.type === 'result') this.end(line);
  }

  private end(line: JsonObject): void {
    const usage = objectOf(line.usage);
    this.tokens +=
      numberOf(usage.input_tokens) +
      numberOf(usage.cache_creation_input_tokens) +
      numberOf(usage.cache_read_input_tokens) +
      numberOf(usage.output_tokens);
    this.sessionCost = Math.max(this.sessionCost, numberOf(line.total_cost_usd));
    // The subtype says "success" of a refused key too: `is_error` alone decides.
    const success = line.is_error === false;
    const errors = Array.isArray(line.errors) ? line.errors.filter((each) => typeof each === 'string') : [];
    const summary = textOf(line.result) || errors.join('\n') || textOf(line.subtype) || '';
    this.result = { success, summary };
  }
}
