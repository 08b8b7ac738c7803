import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type {
  ExecutionView,
  FinishTaskRequest,
  ReportShutdownRequest,
  SetUpFailureRequest,
  UsageReport,
} from '../../src/execution/protocol/harness-support.js';
import type { ScriptTranscriptLine } from '../../src/execution/protocol/script-transcript.js';
import type { ServerMessage, WorkerMessage } from '../../src/execution/protocol/worker-messages.js';

/** A run as the fake knows it. What a test may set before it assigns the run comes first. */
export interface FakeRun {
  id: string;
  executionId: string;
  prompt: string;
  harness: ExecutionView['harness'];
  mcpServers: ExecutionView['mcp_servers'];
  environment?: ExecutionView['environment'];
  heartbeatSeconds: number;
  stallMinutes: number;
  secrets: Record<string, string>;
  conversationId: string;
  /** The conversation was there before the run. */
  continues: boolean;
  /** Messages that its agent has not been told; the path that fetches them is among `calls` as often as it is asked for. */
  waiting: { message_id: string; message: string }[];
  /** Answers every call of the run with this status instead. */
  refuseWith?: number;

  /** Paths below /v1 in the order of the calls, without the heartbeats. */
  calls: string[];
  heartbeats: number;
  /** Ids of messages, in the order of the reports. */
  delivered: string[];
  transcript: string;
  artifacts: unknown[];
  usage?: UsageReport;
  finished?: FinishTaskRequest;
  setUpFailure?: SetUpFailureRequest;
  shutdown?: ReportShutdownRequest;
}

/** A message of the worker and the connection (counted from 1) on which it came. */
export interface ReceivedMessage {
  connection: number;
  message: WorkerMessage;
}

/**
 * The server's side of the worker protocol and of harness-support, over real sockets, with a memory instead of rules. It can
 * go down and come back on the same port.
 */
export class FakeControlPlane {
  static readonly apiKey = 'wk-worker';

  readonly runs = new Map<string, FakeRun>();
  readonly received: ReceivedMessage[] = [];
  /** Headers of the last websocket handshake. */
  handshake: IncomingMessage['headers'] = {};
  connectionCount = 0;
  /** Refuses websockets while it answers everything else. */
  refusesWorkers = false;

  private readonly changed = new EventEmitter().setMaxListeners(0);
  private readonly sockets = new Set<WebSocket>();
  /** Open streams of events, by the run. */
  private readonly streams = new Map<string, ServerResponse[]>();
  private server: Server = createServer();
  private port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The first time on a free port, later on the same one. */
  async comeUp(): Promise<void> {
    this.server = createServer((request, response) => void this.answer(request, response));
    const websockets = new WebSocketServer({ noServer: true });
    this.server.on('upgrade', (request, socket, head) => {
      if (this.refusesWorkers || request.headers.authorization !== `Bearer ${FakeControlPlane.apiKey}`) {
        socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
        return;
      }
      this.handshake = request.headers;
      websockets.handleUpgrade(request, socket, head, (websocket) => this.accept(websocket));
    });
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** As after a kill: every connection is cut. */
  async goDown(): Promise<void> {
    const closed = once(this.server, 'close');
    this.dropWorkers();
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  dropWorkers(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  addRun(run: Partial<FakeRun> & { prompt: string }): FakeRun {
    const added: FakeRun = {
      id: randomUUID(),
      executionId: randomUUID(),
      harness: { type: 'oz', model_id: 'script' },
      mcpServers: {},
      heartbeatSeconds: 30,
      stallMinutes: 0,
      secrets: {},
      conversationId: randomUUID(),
      continues: false,
      waiting: [],
      calls: [],
      heartbeats: 0,
      delivered: [],
      artifacts: [],
      transcript: '',
      ...run,
    };
    this.runs.set(added.id, added);
    return added;
  }

  assign(run: FakeRun): void {
    const now = new Date().toISOString();
    this.send({
      type: 'task_assignment',
      data: {
        task_id: run.id,
        execution_id: run.executionId,
        task: {
          id: run.id,
          title: 'A run',
          task_definition: { prompt: run.prompt },
          created_at: now,
          updated_at: now,
        },
        env_vars: { OZ_RUN_ID: run.id, WARP_API_KEY: keyOf(run), WARP_WORKLOAD_TOKEN: run.executionId },
      },
    });
  }

  cancel(run: FakeRun, executionId?: string): void {
    this.send({ type: 'task_cancellation', data: { task_id: run.id, execution_id: executionId } });
  }

  /** To the runners that follow the run. */
  announce(run: FakeRun, eventType: string): void {
    for (const stream of this.streams.get(run.id) ?? []) {
      stream.write(`data: ${JSON.stringify({ event_type: eventType, sequence: 1 })}\n\n`);
    }
  }

  /** Resolves once a runner follows the run. */
  untilFollowed(run: FakeRun): Promise<unknown> {
    return this.until(() => this.streams.has(run.id));
  }

  /** On every connection of the worker. */
  send(message: ServerMessage): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    for (const socket of this.sockets) socket.send(text);
  }

  messagesOf(run: FakeRun): WorkerMessage[] {
    return this.received.map(({ message }) => message).filter(({ data }) => data.task_id === run.id);
  }

  /** Resolves to what `look` finds, as soon as it finds something. */
  async until<T>(look: () => T | undefined | false): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false) return found;
      await once(this.changed, 'change');
    }
  }

  untilConnected(): Promise<number> {
    return this.until(() => this.sockets.size > 0 && this.connectionCount);
  }

  /** The message that closes the run's execution. */
  untilClosed(run: FakeRun): Promise<WorkerMessage> {
    return this.until(() =>
      this.messagesOf(run).find(({ type }) => type === 'task_completed' || type === 'task_failed'),
    );
  }

  private accept(socket: WebSocket): void {
    this.connectionCount += 1;
    const connection = this.connectionCount;
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('message', (data: Buffer) => {
      this.received.push({ connection, message: JSON.parse(data.toString()) as WorkerMessage });
      this.changed.emit('change');
    });
    this.changed.emit('change');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const followed = /\/agent\/events\/stream\?.*run_ids=([^&]+)/.exec(request.url ?? '')?.[1];
    if (followed !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': here\n\n');
      this.streams.set(followed, [...(this.streams.get(followed) ?? []), response]);
      this.changed.emit('change');
      return;
    }
    const { status, body } = this.respond(request, Buffer.concat(chunks));
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
    this.changed.emit('change');
  }

  private respond(request: IncomingMessage, bytes: Buffer): { status: number; body: unknown } {
    const path = request.url?.replace(/^\/v1\//, '') ?? '';
    const upload = /^\/uploads\/(.+)$/.exec(path)?.[1];
    if (upload !== undefined) {
      const run = this.runs.get(upload);
      if (run !== undefined) run.transcript = bytes.toString();
      return { status: 200, body: {} };
    }

    const run = this.runs.get(String(request.headers['x-warp-cloud-agent-id']));
    if (run === undefined) return { status: 404, body: { error: 'no such run' } };
    const authorised =
      request.headers.authorization === `Bearer ${keyOf(run)}` &&
      request.headers['x-warp-ambient-workload-token'] === run.executionId;
    if (!authorised) return { status: 401, body: { error: 'not this execution' } };

    if (path === 'harness-support/heartbeat') run.heartbeats += 1;
    else run.calls.push(path);
    if (run.refuseWith !== undefined) return { status: run.refuseWith, body: { error: 'refused' } };

    switch (path) {
      case 'harness-support/execution':
        return { status: 200, body: viewOf(run) };
      case 'harness-support/resolve-prompt':
        return { status: 200, body: { prompt: run.prompt } };
      case 'harness-support/messages':
        return { status: 200, body: { messages: run.waiting } };
      case 'harness-support/messages/delivered': {
        const { message_ids: ids } = JSON.parse(bytes.toString()) as { message_ids: string[] };
        run.delivered.push(...ids);
        run.waiting = run.waiting.filter(({ message_id: id }) => !ids.includes(id));
        return { status: 204, body: '' };
      }
      case 'harness-support/external-conversation':
        return { status: 200, body: { conversation_id: run.conversationId } };
      case 'harness-support/transcript':
        if (request.method === 'GET') return { status: 200, body: run.transcript };
        return {
          status: 200,
          body: { url: `${this.url}/uploads/${run.id}`, method: 'PUT', headers: null, fields: null },
        };
      case 'harness-support/report-artifact':
        run.artifacts.push(JSON.parse(bytes.toString()));
        return { status: 200, body: { artifact_uid: randomUUID() } };
      case 'harness-support/usage':
        run.usage = JSON.parse(bytes.toString()) as UsageReport;
        return { status: 200, body: {} };
      case 'harness-support/finish-task':
        run.finished = JSON.parse(bytes.toString()) as FinishTaskRequest;
        return { status: 200, body: {} };
      case 'harness-support/report-setup-failure':
        run.setUpFailure = JSON.parse(bytes.toString()) as SetUpFailureRequest;
        return { status: 200, body: {} };
      case 'harness-support/report-shutdown':
        run.shutdown = JSON.parse(bytes.toString()) as ReportShutdownRequest;
        return { status: 200, body: {} };
      case 'harness-support/heartbeat':
      case `agent/runs/${run.id}/client-events`:
      case `agent/events/${run.id}`:
        return { status: 200, body: {} };
      default:
        return { status: 404, body: { error: `no such path: ${path}` } };
    }
  }
}

/** The lines of a run's stored transcript. */
export function transcriptOf(run: FakeRun): ScriptTranscriptLine[] {
  return run.transcript
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ScriptTranscriptLine);
}

function keyOf(run: FakeRun): string {
  return `wk-${run.id}`;
}

function viewOf(run: FakeRun): ExecutionView {
  return {
    run_id: run.id,
    execution_id: run.executionId,
    conversation_id: run.continues ? run.conversationId : undefined,
    harness: run.harness,
    mcp_servers: run.mcpServers,
    secrets: run.secrets,
    missing_secrets: [],
    environment: run.environment,
    environment_missing: false,
    attachments: [],
    heartbeat_seconds: run.heartbeatSeconds,
    stall_minutes: run.stallMinutes,
  };
}
