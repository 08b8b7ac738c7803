// The service that bench/auth.mjs measures: the whole application, and two routes that differ in their guard alone.
import { Controller, Get, Module } from '@nestjs/common';
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppModule } from '../dist/app.module.js';
import { parseConfig } from '../dist/config/parse-config.js';
import { RequirePermission } from '../dist/identities/index.js';
import { Public } from '../dist/kernel/http/access.js';
import { Service } from '../dist/service.js';

const KEY = 'wk-bench-key-0123456789abcdefghijklmnopqrstuv';

class BenchController {
  open() {
    return { status: 'ok' };
  }
  guarded() {
    return { status: 'ok' };
  }
}
class BenchModule {}

// Plain JavaScript has no decorators, but they are functions.
decorate('open', Get('public'), Public());
decorate('guarded', Get('authenticated'), RequirePermission('runs:read'));
Controller('bench')(BenchController);
Module({ controllers: [BenchController] })(BenchModule);

const compose = AppModule.for.bind(AppModule);
AppModule.for = (foundation) => {
  const module = compose(foundation);
  return { ...module, imports: [...module.imports, BenchModule] };
};

const dataDir = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
chmodSync(dataDir, 0o711); // as root the database runs under another account
const port = await freePort();
const service = new Service(
  parseConfig({
    DATA_DIR: dataDir,
    PORT: String(port),
    BOOTSTRAP_API_KEY: KEY,
    WORKER_SLOTS: '0',
    LOG_LEVEL: 'warn',
    // Counted like any other budget, and never spent.
    API_REQUESTS_PER_MINUTE: '1000000',
  }),
  () => undefined,
);
await service.start();
process.once('disconnect', () => void stop());
process.on('message', (message) => {
  if (message === 'stop') void stop();
  else process.send({ cpu: cpuTime() });
});
process.send({ url: `http://127.0.0.1:${port}`, key: KEY });

function cpuTime() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function stop() {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.exit(0);
}

function decorate(method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(BenchController.prototype, method);
  for (const decorator of decorators) decorator(BenchController.prototype, method, descriptor);
}

/** A port that nothing listens on just now. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
