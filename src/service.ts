import type { NestExpressApplication } from '@nestjs/platform-express';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataSource } from 'typeorm';
import type { AppConfig } from './config/app-config.js';
import { hostEnvironment } from './config/host-environment.js';
import { createApp } from './create-app.js';
import { createDataSource } from './database/data-source.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './database/embedded-postgres.js';
import { migrate } from './database/migrate.js';
import { BuiltInWorker } from './execution/index.js';
import { BootstrapInstallation } from './identities/index.js';
import { SystemClock } from './kernel/clock.js';
import { StructuredLogger } from './kernel/observability/logger.js';
import { Readiness } from './kernel/observability/readiness.js';
import { DatabaseUrl } from './kernel/persistence/database-url.js';
import { Transactor } from './kernel/persistence/transactor.js';
import { loadEncryptionKey } from './kernel/security/load-encryption-key.js';
import { welcome } from './welcome.js';

/** How long requests under way may take to end once a stop has begun. */
const CLOSE_TIMEOUT_MS = 10_000;

/** The whole service in one process: the database if it is ours, the application, the built-in worker. */
export class Service {
  private readonly startedAt = performance.now();
  private embedded: EmbeddedPostgres | undefined;
  private dataSource: DataSource | undefined;
  private app: NestExpressApplication | undefined;
  private worker: BuiltInWorker | undefined;
  private starting: Promise<void> | undefined;

  /** @param say tells a person what is going on, a line at a time */
  constructor(
    private readonly config: AppConfig,
    private readonly say: (line: string) => void,
  ) {}

  start(): Promise<void> {
    this.starting = this.run();
    return this.starting;
  }

  private async run(): Promise<void> {
    const { config, say } = this;
    await mkdir(config.dataDir, { recursive: true });
    const databaseUrl = new DatabaseUrl(await this.openDatabase());
    const applied = await migrate(databaseUrl.value);
    if (applied.length > 0) say(`Database migrated (${String(applied.length)} migrations)`);

    this.dataSource = createDataSource({ url: databaseUrl.value, poolSize: config.databasePoolSize });
    await this.dataSource.initialize();
    const app = await createApp({
      config,
      databaseUrl,
      dataSource: this.dataSource,
      encryptionKey: await loadEncryptionKey(config),
      clock: new SystemClock(),
    });
    this.app = app;
    const { generatedKey } = await app
      .get(Transactor)
      .run((tx) => app.get(BootstrapInstallation).execute(tx));
    await app.listen(config.port, config.host);
    const { address, port } = app.getHttpServer().address() as AddressInfo;
    const localUrl = `http://${reachableHost(address)}:${String(port)}`;
    await this.startWorker(app, localUrl, port);
    say(
      welcome({
        publicUrl: config.publicUrl,
        localUrl,
        generatedKey,
        workerSlots: hasBuiltInWorker(config) ? config.workerSlots : 0,
        seconds: (performance.now() - this.startedAt) / 1000,
      }),
    );
  }

  /** Drains and stops everything that was started, in the opposite order; waits for a start that is under way. */
  async stop(): Promise<void> {
    this.say('Stopping …');
    await this.starting?.catch(() => undefined);
    this.app?.get(Readiness).beginStop();
    await this.worker?.stop({ drainMs: this.config.drainSeconds * 1000 });
    if (this.app !== undefined) await withinTime(this.app.close(), CLOSE_TIMEOUT_MS);
    await this.dataSource?.destroy();
    await this.embedded?.stop();
    this.say('Stopped');
  }

  private async openDatabase(): Promise<string> {
    const { config, say } = this;
    if (config.databaseUrl !== undefined) {
      say(`Using PostgreSQL at ${new DatabaseUrl(config.databaseUrl).description}`);
      return config.databaseUrl;
    }
    say(`Starting PostgreSQL in ${config.dataDir} …`);
    this.embedded = await startEmbeddedPostgres({
      dataDir: config.dataDir,
      database: 'millwright',
      log: say,
    });
    return this.embedded.url;
  }

  private async startWorker(app: NestExpressApplication, url: string, port: number): Promise<void> {
    const { config } = this;
    if (!hasBuiltInWorker(config)) return;
    const workerId = `built-in-${hostname().replace(/[^A-Za-z0-9.-]/g, '-')}-${String(port)}`;
    const apiKey = await app
      .get(Transactor)
      .run((tx) => app.get(BootstrapInstallation).issueWorkerKey(tx, workerId));
    this.worker = new BuiltInWorker({
      url,
      apiKey,
      workerId,
      slots: config.workerSlots,
      workspaceRoot: join(config.dataDir, 'workspaces'),
      runnerPath: fileURLToPath(new URL('./execution/runner/main.js', import.meta.url)),
      hostEnvironment: hostEnvironment(),
      logger: workerLogger(new StructuredLogger(config)),
    });
    this.worker.start();
  }
}

/** It connects to this very process, which takes workers only in the role of a dispatcher. */
const hasBuiltInWorker = ({ workerSlots, roles }: AppConfig): boolean =>
  workerSlots > 0 && roles.has('dispatcher');

function workerLogger(logger: StructuredLogger) {
  const context = 'BuiltInWorker';
  return {
    debug: (fields: object, message: string) => {
      logger.debug(fields, message, context);
    },
    info: (fields: object, message: string) => {
      logger.log(fields, message, context);
    },
    warn: (fields: object, message: string) => {
      logger.warn(fields, message, context);
    },
    error: (fields: object, message: string) => {
      logger.error(fields, message, context);
    },
  };
}

/** How this machine reaches a server that listens on the address. */
function reachableHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}

async function withinTime(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
