export { ExecutionModule } from './execution.module.js';
export { BuiltInWorker } from './worker/built-in-worker.js';
