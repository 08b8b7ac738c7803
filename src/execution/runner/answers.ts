import type {
  ExecutionView,
  ResolvedPrompt,
  UploadTarget,
  WaitingMessage,
} from '../protocol/harness-support.js';

/** An answer that does not have the shape that the protocol gives it. */
export class UnreadableAnswerError extends Error {}

type JsonObject = Record<string, unknown>;

const HARNESS_TYPES: readonly ExecutionView['harness']['type'][] = ['oz', 'claude', 'gemini', 'codex'];

export function parseExecutionView(answer: unknown): ExecutionView {
  const view = object(answer, 'execution');
  const harness = object(view['harness'], 'harness');
  const heartbeatSeconds = view['heartbeat_seconds'];
  if (typeof heartbeatSeconds !== 'number' || !(heartbeatSeconds > 0)) {
    throw new UnreadableAnswerError('heartbeat_seconds is not a positive number');
  }
  return {
    run_id: string(view, 'run_id'),
    execution_id: string(view, 'execution_id'),
    conversation_id: optionalString(view, 'conversation_id'),
    harness: {
      type: oneOf(HARNESS_TYPES, string(harness, 'type')),
      model_id: string(harness, 'model_id'),
      reasoning_level: optionalString(harness, 'reasoning_level'),
    },
    mcp_servers: parseMcpServers(view['mcp_servers'] ?? {}),
    secrets: strings(view['secrets'], 'secrets'),
    missing_secrets: stringList(view['missing_secrets']),
    environment: view['environment'] === undefined ? undefined : parseEnvironment(view['environment']),
    environment_missing: view['environment_missing'] === true,
    attachments: list(view['attachments']).map(parseAttachment),
    heartbeat_seconds: heartbeatSeconds,
    stall_minutes: typeof view['stall_minutes'] === 'number' ? view['stall_minutes'] : 0,
  };
}

function parseMcpServers(value: unknown): ExecutionView['mcp_servers'] {
  const servers = Object.entries(object(value, 'mcp_servers')).map(([name, each]) => {
    const server = object(each, name);
    const optional = (key: 'env' | 'headers') =>
      server[key] === undefined ? undefined : strings(server[key], key);
    return [
      name,
      {
        command: optionalString(server, 'command'),
        args: server['args'] === undefined ? undefined : stringList(server['args']),
        env: optional('env'),
        url: optionalString(server, 'url'),
        headers: optional('headers'),
      },
    ] as const;
  });
  return Object.fromEntries(servers);
}

function parseEnvironment(value: unknown): NonNullable<ExecutionView['environment']> {
  const environment = object(value, 'environment');
  return {
    repositories: list(environment['repositories']).map((item) => {
      const repository = object(item, 'repository');
      return { owner: fileName(repository, 'owner'), repo: fileName(repository, 'repo') };
    }),
    git_base_url: string(environment, 'git_base_url'),
    git_token: optionalString(environment, 'git_token'),
    setup_commands: stringList(environment['setup_commands']),
  };
}

function parseAttachment(value: unknown): ExecutionView['attachments'][number] {
  const attachment = object(value, 'attachment');
  return {
    attachment_id: string(attachment, 'attachment_id'),
    file_name: fileName(attachment, 'file_name'),
    mime_type: string(attachment, 'mime_type'),
    download_url: string(attachment, 'download_url'),
  };
}

export function parseResolvedPrompt(answer: unknown): ResolvedPrompt {
  const resolved = object(answer, 'resolved prompt');
  return {
    prompt: string(resolved, 'prompt'),
    system_prompt: optionalString(resolved, 'system_prompt'),
    resumption_prompt: optionalString(resolved, 'resumption_prompt'),
    context: optionalString(resolved, 'context'),
  };
}

export function parseConversationId(answer: unknown): string {
  return string(object(answer, 'conversation'), 'conversation_id');
}

export function parseWaitingMessages(answer: unknown): WaitingMessage[] {
  const { messages } = object(answer, 'waiting messages');
  if (!Array.isArray(messages)) throw new UnreadableAnswerError('messages is not a list');
  return messages.map((each: unknown) => {
    const message = object(each, 'message');
    return { message_id: string(message, 'message_id'), message: string(message, 'message') };
  });
}

export function parseSetUpFailure(answer: unknown): Date | undefined {
  const until = optionalString(object(answer, 'set-up failure'), 'session_debug_until');
  if (until === undefined) return undefined;
  if (Number.isNaN(Date.parse(until))) throw new UnreadableAnswerError('session_debug_until is not a time');
  return new Date(until);
}

/** A target to which bytes are sent raw. */
export interface RawUploadTarget {
  url: string;
  method: UploadTarget['method'];
  headers: Record<string, string>;
}

/** Refuses a target that asks for a multipart form, which this runner does not speak. */
export function parseUploadTarget(answer: unknown): RawUploadTarget {
  const target = object(answer, 'upload target');
  const fields = target['fields'];
  if (fields !== undefined && fields !== null && !(Array.isArray(fields) && fields.length === 0)) {
    throw new UnreadableAnswerError(
      'the upload target wants a multipart form; this runner uploads raw bytes only',
    );
  }
  return {
    url: string(target, 'url'),
    method: oneOf(['PUT', 'POST'] as const, string(target, 'method')),
    headers: strings(target['headers'], 'headers'),
  };
}

/** Where the bytes of an artifact go, and its uid. */
export function parseArtifactUpload(answer: unknown): { uid: string; target: RawUploadTarget } {
  const upload = object(answer, 'artifact upload');
  return { uid: string(upload, 'artifact_uid'), target: parseUploadTarget(upload['upload_target']) };
}

function object(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new UnreadableAnswerError(`${what} is not an object`);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function string(from: JsonObject, name: string): string {
  const value = from[name];
  if (typeof value === 'string') return value;
  throw new UnreadableAnswerError(`${name} is not a string`);
}

/** Becomes a file of the workspace: nothing that leads out of it. */
function fileName(from: JsonObject, name: string): string {
  const value = string(from, name);
  if (/^(?!\.{1,2}$)[^/\\\0]+$/.test(value)) return value;
  throw new UnreadableAnswerError(`${name} is not the name of a file: ${JSON.stringify(value)}`);
}

function optionalString(from: JsonObject, name: string): string | undefined {
  return from[name] === undefined || from[name] === null ? undefined : string(from, name);
}

function oneOf<T extends string>(allowed: readonly T[], value: string): T {
  const match = allowed.find((candidate) => candidate === value);
  if (match !== undefined) return match;
  throw new UnreadableAnswerError(`${JSON.stringify(value)} is not one of ${allowed.join(', ')}`);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function stringList(value: unknown): string[] {
  return list(value).filter((item) => typeof item === 'string');
}

function strings(value: unknown, what: string): Record<string, string> {
  if (value === undefined || value === null) return {};
  const named = object(value, what);
  return Object.fromEntries(Object.keys(named).map((name) => [name, string(named, name)]));
}
