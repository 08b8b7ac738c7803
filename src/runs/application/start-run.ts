import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Queryable } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { RunState } from '../domain/run-state.js';
import { IdempotencyKeyRepository } from '../persistence/idempotency-key.repository.js';
import { conversationIsBusy } from './conversation-is-busy.js';
import { CreateRun } from './create-run.js';
import { PrepareRun, type RunRequest } from './prepare-run.js';
import { RunLifecycle } from './run-lifecycle.js';
import { type NewAttachment, StoreAttachments } from './store-attachments.js';

/** The header `Idempotency-Key`, and what it came with. */
export interface IdempotentRequest {
  key: string;
  /** Everything that decides what the run will be. */
  content: unknown;
}

export interface StartedRun {
  runId: string;
  state: RunState;
  atCapacity: boolean;
  runKey?: string;
}

/**
 * Starts the run that a caller asks for; once only for each idempotency key of an account within 24 hours.
 *
 * What may take long, preparing and storing files, happens before the transaction. A key is looked up before that, so that a repeated
 * request neither does it again nor fails for what has changed since; and the unique origin key decides between requests that come
 * at once: the later one waits for the commit of the first one and answers with its run.
 */
@Injectable()
export class StartRun {
  constructor(
    private readonly prepareRun: PrepareRun,
    private readonly createRun: CreateRun,
    private readonly storeAttachments: StoreAttachments,
    private readonly lifecycle: RunLifecycle,
    private readonly keys: IdempotencyKeyRepository,
    private readonly transactor: Transactor,
    private readonly database: Database,
  ) {}

  /**
   * @throws Problem what {@link PrepareRun} refuses; 409, not retryable, for a key that came with another request, and for a run's own
   *   agent whose execution is over; 409, retryable, when another run continues the conversation
   */
  async execute(
    caller: Caller,
    request: RunRequest,
    attachments: NewAttachment[],
    idempotent?: IdempotentRequest,
  ): Promise<StartedRun> {
    const originKey = idempotent && originKeyOf(caller, idempotent.key);
    const requestHash = hashOf(idempotent?.content ?? null);
    if (originKey !== undefined) {
      const earlier = await this.earlier(this.database, originKey, requestHash);
      if (earlier !== undefined) return earlier;
    }
    const prepared = await this.prepareRun.execute(caller, request);
    const id = newUuid();
    const stored = await this.storeAttachments.execute(id, attachments);
    return this.transactor.run(async (tx) => {
      if (caller.kind === 'run' && !(await this.lifecycle.holdLease(tx, caller))) {
        throw new Problem('conflict', {
          detail: 'The execution is over: it starts no more runs',
          retryable: false,
        });
      }
      if (originKey !== undefined) await this.keys.release(tx, originKey);
      const run = await this.createRun.execute(tx, { ...prepared, id, originKey, attachments: stored });
      switch (run.outcome) {
        case 'created':
          if (originKey !== undefined) {
            const { runId, atCapacity } = run;
            await this.keys.insert(tx, originKey, { runId, requestHash, atCapacity });
          }
          return run;
        case 'existing': {
          const earlier = originKey && (await this.earlier(tx, originKey, requestHash));
          if (earlier) return earlier;
          throw new Error('an origin key of a request without the request');
        }
        case 'conversation_busy':
          throw conversationIsBusy();
      }
    });
  }

  /** What the first request with the key was answered. */
  private async earlier(
    database: Queryable,
    originKey: string,
    requestHash: Buffer,
  ): Promise<StartedRun | undefined> {
    const remembered = await this.keys.find(database, originKey);
    if (remembered === undefined) return undefined;
    if (!remembered.requestHash.equals(requestHash)) {
      throw new Problem('conflict', {
        detail: 'The Idempotency-Key was sent before with another request; send another key',
        retryable: false,
      });
    }
    return { runId: remembered.runId, state: 'QUEUED', atCapacity: remembered.atCapacity };
  }
}

/** By account: keys of different callers never meet. The key is hashed, so that its length does not matter. */
const originKeyOf = (caller: Caller, key: string): string =>
  `idempotency:${caller.kind === 'run' ? caller.runId : caller.uid}:${createHash('sha256').update(key).digest('base64url')}`;

/** The same for values that differ in the order of their keys alone. */
const hashOf = (content: unknown): Buffer =>
  createHash('sha256').update(JSON.stringify(content, sortKeys)).digest();

const sortKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
