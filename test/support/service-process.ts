import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ADMIN_KEY, call, type Answer, eventually } from './test-app.js';

const ROOT = new URL('../..', import.meta.url).pathname;
const START_TIMEOUT_MS = 30_000;

/** The service as an operator starts it: `scripts/start.mjs` in a process of its own. */
export class ServiceProcess {
  private constructor(
    readonly child: ChildProcess,
    readonly url: string,
    private readonly lines: string[],
  ) {}

  /**
   * Resolves when it has printed that it is ready.
   *
   * @param limits of bash's `ulimit`, such as `-f 2048`: no file grows beyond 2 MiB
   */
  static async start(environment: Record<string, string>, limits = ''): Promise<ServiceProcess> {
    const port = environment.PORT ?? String(await freePort());
    const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env;
    const script = ['scripts/start.mjs'];
    const limited = `ulimit ${limits} && exec "$0" "$@"`;
    const [command, args] =
      limits === '' ? [process.execPath, script] : ['bash', ['-c', limited, process.execPath, ...script]];
    const child = spawn(command, args, {
      cwd: ROOT,
      env: {
        PATH,
        HOME,
        TMPDIR,
        BOOTSTRAP_API_KEY: ADMIN_KEY,
        LOG_LEVEL: 'warn',
        ...environment,
        PORT: port,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines: string[] = [];
    const service = new ServiceProcess(child, `http://127.0.0.1:${port}`, lines);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => lines.push(text));
    }
    await eventually(
      () => {
        if (child.exitCode !== null) throw new Error(`the service ended:\n${service.output}`);
        return Promise.resolve(service.output.includes('Millwright is ready') ? true : undefined);
      },
      { withinMs: START_TIMEOUT_MS, what: 'the start of the service' },
    );
    return service;
  }

  /** All that it has printed so far. */
  get output(): string {
    return this.lines.join('');
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return call(this.url + path, method, body);
  }

  async startRun(prompt: string): Promise<string> {
    const { status, body } = await this.call('POST', '/v1/agent/runs', { prompt });
    if (status !== 200) throw new Error(`the run was refused: ${JSON.stringify(body)}`);
    return (body as { run_id: string }).run_id;
  }

  async run(
    id: string,
  ): Promise<{ state: string; is_sandbox_running: boolean; status_message?: { message: string } }> {
    return (await this.call('GET', `/v1/agent/runs/${id}`)).body as never;
  }

  /** Waits until the run is in one of the states. */
  reaches(id: string, states: string[], withinMs = 20_000): ReturnType<ServiceProcess['run']> {
    return eventually(
      async () => {
        const run = await this.run(id).catch(() => undefined);
        return run !== undefined && states.includes(run.state) ? run : undefined;
      },
      { withinMs, what: `run ${id} being ${states.join(' or ')}` },
    );
  }

  async eventTypes(id: string): Promise<string[]> {
    const { body } = await this.call('GET', `/v1/agent/runs/${id}/timeline`);
    return (body as { events: { event_type: string }[] }).events.map((event) => event.event_type);
  }

  /** @returns its exit code, or the signal that ended it */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exit = once(this.child, 'exit');
      this.child.kill(signal);
      await exit;
    }
    return this.child.exitCode ?? this.child.signalCode ?? 0;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
