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

/** Codex, headless: `codex exec`, one process a turn. Facts as of 0.169.0. */
export const codex: AgentCli = {
  command: 'codex',
  installation: 'npm install --global @openai/codex',
  transcriptFormat: 'codex_cli',
  homeVariable: 'CODEX_HOME',
  takesMessages: false,

  prepare(home, environment) {
    const key = environment.CODEX_API_KEY ?? environment.OPENAI_API_KEY;
    return Promise.resolve({ CODEX_HOME: home, ...(key !== undefined && { CODEX_API_KEY: key }) });
  },

  async launch({ home, cwd, model, reasoningLevel, sessionId, resumes, prompt, mcpServers }) {
    const flags = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    if (model !== '') flags.push('-m', model);
    if (reasoningLevel !== undefined) {
      flags.push('-c', `model_reasoning_effort=${JSON.stringify(reasoningLevel)}`);
    }
    if (Object.keys(mcpServers).length > 0) {
      flags.push('--profile', await writeMcpServers({ home, cwd }, mcpServers));
    }
    if (resumes) flags.push('resume', sessionId);
    // A session that goes on has heard the system prompt.
    const input = promptText(prompt, { withSystemPrompt: !resumes });
    return { arguments: [...flags, '-'], input };
  },

  message: (text) => text,

  startReader: (before) => new CodexReader(before),

  async saveSession(place) {
    const file = await findSessionFile(place);
    if (file === undefined) return undefined;
    const entries = parseObjects(await readFile(file, 'utf8'));
    const meta = objectOf(entries[0]?.payload);
    return {
      cwd: place.cwd,
      session_id: place.sessionId,
      codex_version: textOf(meta.cli_version),
      session_start_timestamp: textOf(meta.timestamp),
      entries,
    };
  },

  async restoreSession({ home, cwd, sessionId }, envelope) {
    const startedAt = new Date(textOf(envelope.session_start_timestamp) ?? 0).toISOString();
    const [date = '', time = ''] = startedAt.split(/[T.]/);
    const name = `rollout-${date}T${time.replaceAll(':', '-')}-${sessionId}.jsonl`;
    const file = join(home, 'sessions', ...date.split('-'), name);
    await mkdir(dirname(file), { recursive: true });
    const entries = objectsOf(envelope.entries).map((entry) =>
      entry.type === 'session_meta' ? { ...entry, payload: { ...objectOf(entry.payload), cwd } } : entry,
    );
    await writeFile(file, toLines(entries));
  },
};

/** @returns the profile with the servers, which is laid over whatever configuration the home has */
async function writeMcpServers(
  { home, cwd }: Pick<SessionPlace, 'home' | 'cwd'>,
  servers: Record<string, McpServer>,
): Promise<string> {
  // Strings and arrays of JSON are such of TOML too.
  const table = (values: Record<string, string> = {}): string =>
    `{ ${Object.entries(values)
      .map(([key, value]) => `${JSON.stringify(key)} = ${JSON.stringify(value)}`)
      .join(', ')} }`;
  const sections = Object.entries(servers).map(([name, { url, headers, command, args = [], env }]) =>
    [
      `[mcp_servers.${JSON.stringify(name)}]`,
      ...(url === undefined
        ? [`command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`, `env = ${table(env)}`]
        : [`url = ${JSON.stringify(url)}`, `http_headers = ${table(headers)}`]),
      '',
    ].join('\n'),
  );
  // Named after the workspace: the home may be another run's too.
  const profile = `millwright-${basename(cwd)}`;
  await writeFile(join(home, `${profile}.config.toml`), sections.join('\n'), { mode: 0o600 });
  return profile;
}

/** Below `sessions/YYYY/MM/DD`, by the CLI's own local time. */
async function findSessionFile({ home, sessionId }: SessionPlace): Promise<string | undefined> {
  const sessions = join(home, 'sessions');
  const paths = await readdir(sessions, { recursive: true }).catch(() => []);
  const path = paths.find((each) => basename(each).endsWith(`-${sessionId}.jsonl`));
  return path && join(sessions, path);
}

/** Tokens are counted over the whole session, also over a resumption; the cost is not told. */
class CodexReader implements StreamReader {
  sessionId: string | undefined;
  result: TurnResult | undefined;
  complaint: string | undefined;
  readonly messagesTaken = 0;
  private lastMessage = '';
  private sessionTokens: number;

  constructor(private readonly before: UsageCounters) {
    this.sessionTokens = before.total_tokens;
  }

  get usage(): UsageCounters {
    return { total_tokens: this.sessionTokens - this.before.total_tokens };
  }

  get counters(): UsageCounters {
    return { total_tokens: this.sessionTokens };
  }

  read(line: JsonObject): void {
    switch (line.type) {
      case 'thread.started':
        this.sessionId = textOf(line.thread_id);
        break;
      case 'item.completed': {
        const item = objectOf(line.item);
        if (item.type === 'agent_message') this.lastMessage = textOf(item.text) ?? '';
        break;
      }
      case 'error':
        // "Reconnecting… 2/5" is one of these: only turn.failed ends the turn.
        this.complaint = textOf(line.message);
        break;
      case 'turn.completed': {
        const usage = objectOf(line.usage);
        const tokens = numberOf(usage.input_tokens) + numberOf(usage.output_tokens);
        this.sessionTokens = Math.max(this.sessionTokens, tokens);
        this.result = { success: true, summary: this.lastMessage };
        break;
      }
      case 'turn.failed':
        this.result = {
          success: false,
          summary: textOf(objectOf(line.error).message) ?? this.complaint ?? '',
        };
        break;
    }
  }
}
