// The service that a benchmark measures: the whole application on an embedded PostgreSQL, without a worker of its own. It answers any message
// with what it has used, and ends at the message `stop`.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../dist/config/parse-config.js';
import { Service } from '../../dist/service.js';

const dataDir = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
chmodSync(dataDir, 0o711); // as root the database runs under another account
const port = await freePort();
const service = new Service(
  parseConfig({
    DATA_DIR: dataDir,
    PORT: String(port),
    BOOTSTRAP_API_KEY: process.env.BENCH_KEY,
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
  else {
    globalThis.gc?.();
    process.send({ cpuMs: cpuMs(), residentMib: process.memoryUsage().rss / 2 ** 20 });
  }
});
process.send({ url: `http://127.0.0.1:${port}`, databaseUrl: service.embedded.url });

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function stop() {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.exit(0);
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
