import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { newApiKey } from '../domain/api-key.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';

/** The keys with which the agents of executions report. A key lives exactly as long as its execution. */
@Injectable()
export class RunKeys {
  constructor(private readonly apiKeys: ApiKeyRepository) {}

  /** @returns the keys, in the order of the executions */
  async issue(tx: Tx, executions: { runId: string; executionId: number }[]): Promise<string[]> {
    const keys = executions.map((execution) => ({ ...execution, key: newApiKey() }));
    await this.apiKeys.insertForExecutions(tx, keys);
    return keys.map(({ key }) => key.key);
  }

  async revoke(tx: Tx, executionIds: number[]): Promise<void> {
    await this.apiKeys.deleteOfExecutions(tx, executionIds);
  }
}
