import { existsSync } from 'node:fs';
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
  parseObject,
  parseObjects,
  textOf,
  toLines,
} from './json-line.js';

/** Gemini CLI, headless: one process a turn. Facts as of 0.61.0. */
export const gemini: AgentCli = {
  command: 'gemini',
  installation: 'npm install --global @google/gemini-cli',
  transcriptFormat: 'gemini_cli',
  homeVariable: 'GEMINI_CLI_HOME',
  takesMessages: false,

  async prepare(home, environment) {
    const vertex = environment.GOOGLE_GENAI_USE_VERTEXAI === 'true';
    const selectedType = vertex ? 'vertex-ai' : 'gemini-api-key';
    // Without a choice of credentials it ends with "Invalid auth method selected".
    await writeNew(join(home, '.gemini/settings.json'), { security: { auth: { selectedType } } });
    return {
      GEMINI_CLI_HOME: home,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      // It would start itself a second time for more memory, and the first one ignores signals.
      GEMINI_CLI_NO_RELAUNCH: 'true',
    };
  },

  async launch({ cwd, model, sessionId, resumes, prompt, mcpServers }) {
    const flags = ['-o', 'stream-json', '--yolo', resumes ? '--resume' : '--session-id', sessionId];
    if (model !== '') flags.push('-m', model);
    if (Object.keys(mcpServers).length > 0) await writeMcpServers(cwd, mcpServers);
    // A session that goes on has heard the system prompt.
    return { arguments: flags, input: promptText(prompt, { withSystemPrompt: !resumes }) };
  },

  message: (text) => text,

  startReader: () => new GeminiReader(),

  async saveSession(place) {
    const directory = await chatDirectory(place);
    const mark = place.sessionId.slice(0, 8);
    const names = (await readdir(directory).catch(() => [])).filter((name) =>
      name.endsWith(`-${mark}.jsonl`),
    );
    if (names.length === 0) return undefined;
    const chats = names.map(async (name) => [
      name,
      parseObjects(await readFile(join(directory, name), 'utf8')),
    ]);
    const { cwd, sessionId } = place;
    return { cwd, session_id: sessionId, chats: Object.fromEntries(await Promise.all(chats)) as object };
  },

  async restoreSession(place, envelope) {
    const directory = await chatDirectory(place);
    await mkdir(directory, { recursive: true });
    for (const [name, entries] of Object.entries(objectOf(envelope.chats))) {
      // The name comes out of a file that the agent could write to.
      await writeFile(join(directory, basename(name)), toLines(objectsOf(entries)));
    }
  },
};

/**
 * The CLI gives each working directory a short name, remembers it in `projects.json`, and keeps the sessions below that. This one is
 * remembered for it beforehand, so that a session of another place can wait there.
 */
async function chatDirectory({ home, cwd }: SessionPlace): Promise<string> {
  const file = join(home, '.gemini/projects.json');
  const known = parseObject(await readFile(file, 'utf8').catch(() => '')) ?? {};
  const projects = objectOf(known.projects);
  let name = textOf(projects[cwd]);
  if (name === undefined) {
    name = basename(cwd)
      .toLowerCase()
      .replace(/[^a-z0-9-]/g, '-');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify({ ...known, projects: { ...projects, [cwd]: name } }));
  }
  return join(home, '.gemini/tmp', name, 'chats');
}

/** What is there already stays. */
/** Into the settings of the workspace, which are laid over those of the home: that may be another run's too. */
async function writeMcpServers(cwd: string, servers: Record<string, McpServer>): Promise<void> {
  const file = join(cwd, '.gemini/settings.json');
  const settings = parseObject(await readFile(file, 'utf8').catch(() => '{}')) ?? {};
  const entries = Object.entries(servers).map(([name, { url, headers, command, args, env }]) => [
    name,
    url === undefined ? { command, args, env } : { httpUrl: url, headers },
  ]);
  const mcpServers = { ...objectOf(settings.mcpServers), ...(Object.fromEntries(entries) as object) };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ ...settings, mcpServers }), { mode: 0o600 });
}

async function writeNew(file: string, content: object): Promise<void> {
  if (existsSync(file)) return;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(content));
}

/** Tokens are told for each process; the cost is not told. */
class GeminiReader implements StreamReader {
  sessionId: string | undefined;
  result: TurnResult | undefined;
  complaint: string | undefined;
  readonly messagesTaken = 0;
  private answer = '';
  private tokens = 0;

  get usage(): UsageCounters {
    return { total_tokens: this.tokens };
  }

  /** Nothing goes on over a resumption. */
  get counters(): UsageCounters {
    return { total_tokens: 0 };
  }

  read(line: JsonObject): void {
    switch (line.type) {
      case 'init':
        this.sessionId = textOf(line.session_id);
        break;
      case 'message':
        if (line.role === 'assistant') this.answer += textOf(line.content) ?? '';
        break;
      case 'tool_use':
        this.answer = '';
        break;
      case 'error':
        this.complaint = textOf(line.message);
        break;
      case 'result': {
        this.tokens += numberOf(objectOf(line.stats).total_tokens);
        const success = line.status === 'success';
        const failure = textOf(objectOf(line.error).message) ?? this.complaint ?? '';
        this.result = { success, summary: success ? this.answer : failure };
        break;
      }
    }
  }
}
