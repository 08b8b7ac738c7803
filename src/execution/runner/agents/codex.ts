import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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

  launch({ model, sessionId, resumes, prompt }) {
    const flags = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    if (model !== '') flags.push('-m', model);
    if (resumes) flags.push('resume', sessionId);
    // A session that goes on has heard the system prompt.
    const input = promptText(prompt, { withSystemPrompt: !resumes });
    return Promise.resolve({ arguments: [...flags, '-'], input });
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
