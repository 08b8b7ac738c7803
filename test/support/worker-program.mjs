// The worker that comes with the service in a process of its own: argument 1 is its options, its key is in WORKER_KEY.
import { BuiltInWorker } from '../../dist/execution/worker/built-in-worker.js';

const quiet = () => undefined;
new BuiltInWorker({
  ...JSON.parse(process.argv[2]),
  apiKey: process.env.WORKER_KEY,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
}).start();
