import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { isUuid } from '../../kernel/ids.js';
import { toStorableText } from '../../kernel/storable-text.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import {
  classifyFailure,
  ENDED_WITHOUT_RESULT,
  type ExecutionRef,
  ExecutionQueries,
  RunLifecycle,
} from '../../runs/index.js';
import { Dispatcher } from './dispatcher.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerConnections } from './worker-connections.js';

/** Whatever its process wrote last may be in a worker's message. */
const text = z.string().transform(toStorableText);
/** Null counts as left out. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);
const orNothing = optional(text).transform((value) => value ?? '');
const reference = { task_id: z.string(), execution_id: optional(z.string()) };
const messageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('task_claimed'), data: z.object(reference) }),
  z.object({
    type: z.literal('task_rejected'),
    data: z.object({ ...reference, reason: orNothing }),
  }),
  z.object({
    type: z.literal('task_completed'),
    data: z.object({ ...reference, message: orNothing, task_state: optional(z.string()) }),
  }),
  z.object({
    type: z.literal('task_failed'),
    data: z.object({
      ...reference,
      message: orNothing,
      task_state: optional(z.string()),
      failure_reason: optional(text),
      exit_code: optional(z.number()),
    }),
  }),
]);
type Message = z.output<typeof messageSchema>;

/** Handles what a worker says about its runs. Messages of one connection come one after the other. */
@Injectable()
export class ReceiveWorkerMessage {
  private readonly logger = new Logger(ReceiveWorkerMessage.name);

  constructor(
    private readonly transactor: Transactor,
    private readonly lifecycle: RunLifecycle,
    private readonly executions: ExecutionQueries,
    private readonly connections: WorkerConnections,
    private readonly dispatcher: Dispatcher,
  ) {}

  async execute(connection: WorkerConnection, text: string): Promise<void> {
    const message = parse(text);
    if (message === undefined) {
      this.logger.debug({ worker_id: connection.workerId }, 'ignored a message that is unknown or malformed');
      return;
    }
    const execution = await this.executionOf(connection, message);
    if (execution === undefined) {
      this.logger.warn(
        { worker_id: connection.workerId, run_id: message.data.task_id, type: message.type },
        'ignored a message about an execution that is not of this worker',
      );
      return;
    }
    await this.handle(connection, execution, message);
  }

  private async handle(
    connection: WorkerConnection,
    execution: ExecutionRef,
    message: Message,
  ): Promise<void> {
    switch (message.type) {
      case 'task_claimed': {
        const claimed = await this.transactor.run((tx) => this.lifecycle.claim(tx, execution));
        connection.capacity.claimed(execution.executionId);
        // There is room for another offer.
        this.dispatcher.wake();
        // Claimed too late, or after a cancel: the run has gone on without this worker.
        if (!claimed) this.tellToStop(connection, execution);
        return;
      }
      case 'task_rejected':
        connection.capacity.rejected(execution.executionId, Date.now());
        await this.transactor.run((tx) => this.lifecycle.requeue(tx, execution, message.data.reason));
        return;
      case 'task_completed':
        this.release(connection, execution);
        await this.transactor.run((tx) =>
          this.lifecycle.close(tx, execution, 'task_completed', ENDED_WITHOUT_RESULT),
        );
        return;
      case 'task_failed': {
        this.release(connection, execution);
        const { failure_reason: reason = 'unknown', message: detail, exit_code: exitCode } = message.data;
        await this.transactor.run((tx) =>
          this.lifecycle.close(
            tx,
            execution,
            exitCode === undefined ? reason : `${reason} (exit code ${String(exitCode)})`,
            classifyFailure(AGENT_FAULTS.has(reason) ? 'agent_process_failed' : reason, detail),
          ),
        );
        return;
      }
    }
  }

  /** The worker has room again, on whichever of its connections the run was sent. */
  private release(connection: WorkerConnection, { executionId }: ExecutionRef): void {
    for (const each of this.connections.ofWorker(connection.workerId)) each.capacity.released(executionId);
    this.dispatcher.wake();
  }

  private tellToStop(connection: WorkerConnection, { runId, executionId }: ExecutionRef): void {
    connection.send({
      type: 'task_cancellation',
      data: { task_id: runId, execution_id: String(executionId) },
    });
  }

  private async executionOf(
    connection: WorkerConnection,
    message: Message,
  ): Promise<ExecutionRef | undefined> {
    const { task_id: runId, execution_id: id } = message.data;
    if (!isUuid(runId) || (id !== undefined && !/^\d{1,15}$/.test(id))) return undefined;
    return this.executions.ofWorker(connection, runId, id === undefined ? undefined : Number(id));
  }
}

/** Failure reasons of workers that are about the agent or the run's own set-up, not about the machinery. */
const AGENT_FAULTS: ReadonlySet<string> = new Set(['agent_invocation', 'container_exit', 'job_failed']);

function parse(text: string): Message | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
