import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import { type ExecutionRef, RunRepository } from '../../runs/index.js';
import type { ExecutionView } from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';
import { ExecutionSetting } from './execution-setting.js';
import { GrantedSecrets } from './granted-secrets.js';

const HEARTBEATS_PER_LEASE = 3;
const MAX_HEARTBEAT_SECONDS = 30;

/** Tells a runner everything that it needs, so that nothing of it stands in an assignment or an argument vector. */
@Injectable()
export class ReadExecution {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly runs: RunRepository,
    private readonly grantedSecrets: GrantedSecrets,
    private readonly setting: ExecutionSetting,
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param origin where the runner reaches this service
   * @throws Problem 409 when the execution is over
   */
  async execute(execution: ExecutionRef, origin: string): Promise<ExecutionView> {
    await this.lease.renew(execution);
    const facts = await this.runs.executionFacts(this.database, execution.runId);
    if (facts === undefined) throw Problem.notFound('run');
    const { harness, model_id: modelId, mcp_servers: mcpServers } = facts.agentConfig;
    const { values, missing } = await this.grantedSecrets.of(facts);
    const environment = await this.setting.environment(facts);
    return {
      run_id: execution.runId,
      execution_id: String(execution.executionId),
      conversation_id: facts.conversationId,
      harness: {
        type: harness?.type ?? 'oz',
        model_id: harness?.model_id ?? modelId ?? '',
        reasoning_level: harness?.reasoning_level,
      },
      mcp_servers: mcpServers ?? {},
      secrets: values,
      missing_secrets: missing,
      environment: environment === 'missing' ? undefined : environment,
      environment_missing: environment === 'missing',
      attachments: await this.setting.downloads(execution.runId, origin),
      heartbeat_seconds: Math.min(MAX_HEARTBEAT_SECONDS, this.config.leaseSeconds / HEARTBEATS_PER_LEASE),
      stall_minutes: this.config.stallMinutes,
    };
  }
}
