import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { AppConfig } from '../../config/app-config.js';
import {
  type AccountCaller,
  Authenticate,
  bearerToken,
  type Caller,
  hasPermission,
} from '../../identities/index.js';
import { ERROR_CATALOGUE } from '../../kernel/errors/error-catalogue.js';
import { Problem } from '../../kernel/errors/problem.js';
import { problemHeaders, toProblemBody } from '../../kernel/http/problem-response.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { isUuid } from '../../kernel/ids.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import type { WorkerPool } from '../../runs/index.js';
import { Dispatcher } from '../application/dispatcher.js';
import { WorkerSessions } from '../application/worker-sessions.js';

const PATHS: readonly string[] = ['/v1/selfhosted/worker/ws', '/api/v1/selfhosted/worker/ws'];
const MAX_MESSAGE_BYTES = 1024 * 1024;
const WORKER_ID = /^[\x21-\x7e]{1,256}$/;
/** Names that begin like this mean the hosted pool itself. */
const RESERVED_WORKER_ID = 'warp';

/** The websocket of the workers. One that may not connect is refused at the upgrade, with a problem document. */
@Injectable()
export class WorkerSocketServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(WorkerSocketServer.name);
  private stopping = false;
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly authenticate: Authenticate,
    private readonly sessions: WorkerSessions,
    private readonly dispatcher: Dispatcher,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    server.on('upgrade', (request, socket: Duplex, head) => {
      // A connection reset during the upgrade must not take the process down.
      socket.on('error', () => {
        socket.destroy();
      });
      void withNewTrace(() => this.upgrade(request, socket, head));
    });
  }

  /** Before the HTTP server closes: that would cut the connections without a word. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.dispatcher.drain();
    await this.sessions.closeAll();
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Taken apart by hand: a path such as `//` is no URL, and whoever sends it must not end the process.
    const [path = '/', query] = (request.url ?? '/').split('?', 2);
    try {
      if (!PATHS.includes(path) || !this.config.roles.has('dispatcher')) throw Problem.notFound('websocket');
      if (this.stopping) throw new Problem('resource_unavailable');
      const caller = await this.identify(request);
      const worker = describeWorker(caller, new URLSearchParams(query).get('worker_id') ?? '', request);
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.sessions.open(webSocket, worker);
      });
    } catch (error) {
      refuse(socket, this.toProblem(error), this.config.publicUrl, path);
    }
  }

  private async identify(request: IncomingMessage): Promise<Caller> {
    const key = bearerToken(request.headers.authorization);
    const team = request.headers['x-team-uid'] ?? request.headers['x-warp-team-uid'];
    const teamUid = typeof team === 'string' && isUuid(team) ? team : undefined;
    const found = key === undefined ? undefined : await this.authenticate.execute(key, teamUid);
    if (found?.outcome === 'authenticated') return found.caller;
    throw found?.outcome === 'not_a_member'
      ? new Problem('not_authorized', { detail: 'You are not a member of the team in X-Team-Uid' })
      : new Problem('authentication_required');
  }

  private toProblem(error: unknown): Problem {
    if (error instanceof Problem) return error;
    this.logger.error({ err: error }, 'a worker could not be connected');
    return new Problem(isDatabaseUnavailable(error) ? 'resource_unavailable' : 'internal_error', {
      cause: error,
    });
  }
}

function describeWorker(
  caller: Caller,
  workerId: string,
  request: IncomingMessage,
): { workerId: string; pool: WorkerPool; slots: number | undefined } {
  if (caller.kind === 'run' || !hasPermission(caller, 'workers:connect')) {
    throw new Problem('not_authorized', { detail: 'This key may not connect workers' });
  }
  if (!WORKER_ID.test(workerId) || workerId.startsWith(RESERVED_WORKER_ID)) {
    throw Problem.invalid([
      {
        field: 'worker_id',
        message: 'must be 1 to 256 printable characters without spaces and must not begin with "warp"',
      },
    ]);
  }
  const slots = Number(request.headers['x-millwright-worker-slots']);
  return {
    workerId,
    pool: poolOf(caller, workerId),
    slots: Number.isSafeInteger(slots) && slots > 0 ? slots : undefined,
  };
}

/** An operator's workers serve everybody's hosted runs; anybody else's serve their team's runs for them alone. */
function poolOf(caller: AccountCaller, workerHost: string): WorkerPool {
  if (caller.kind === 'user' && caller.operator) return { kind: 'hosted' };
  if (caller.team === undefined) {
    throw new Problem('not_authorized', { detail: 'Name the team that the worker serves in X-Team-Uid' });
  }
  return { kind: 'self_hosted', teamUid: caller.team.uid, workerHost };
}

function refuse(socket: Duplex, problem: Problem, publicUrl: string, path: string): void {
  const { status } = ERROR_CATALOGUE[problem.code];
  const body = JSON.stringify(toProblemBody(problem, publicUrl, path));
  const headers = {
    ...problemHeaders(problem),
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  // Half of the connection would stay open for as long as the client likes.
  socket.once('finish', () => {
    socket.destroy();
  });
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${head.join('\r\n')}\r\n\r\n${body}`,
  );
}
