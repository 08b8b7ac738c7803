// A replica of the service in a process of its own, in the role of a scheduler alone. Its clock is the table `test_clock`, which the test
// turns for all replicas at once. Environment: DATABASE_URL, DATA_DIR. Needs a build.
import { randomBytes } from 'node:crypto';
import { parseConfig } from '../../dist/config/parse-config.js';
import { createApp } from '../../dist/create-app.js';
import { createDataSource } from '../../dist/database/data-source.js';
import { SystemClock } from '../../dist/kernel/clock.js';
import { DatabaseUrl } from '../../dist/kernel/persistence/database-url.js';
import { SharedClock } from '../../dist/kernel/persistence/shared-clock.js';

class TableClock extends SharedClock {
  async now(database) {
    const [row] = await database.query('SELECT now FROM test_clock');
    return row.now;
  }
}

const { DATABASE_URL, DATA_DIR } = process.env;
const dataSource = createDataSource({ url: DATABASE_URL, poolSize: 3 });
await dataSource.initialize();
const app = await createApp({
  config: parseConfig({ DATA_DIR, ROLES: 'scheduler', LOG_LEVEL: 'warn' }),
  databaseUrl: new DatabaseUrl(DATABASE_URL),
  dataSource,
  encryptionKey: randomBytes(32),
  clock: new SystemClock(),
  sharedClock: new TableClock(),
});
await app.init();
process.send('ready');
process.on('disconnect', () => process.exit(0));
