import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Keyring } from '../../kernel/security/keyring.js';
import { isWorkloadToken } from '../application/workload-token.js';

/** The headers with which an agent names its run and proves its execution must agree with its key, where they are sent. */
@Injectable()
export class ExecutionHeaderGuard implements CanActivate {
  constructor(private readonly keyring: Keyring) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const caller = callerOf(context);
    if (caller.kind !== 'run')
      throw new Problem('not_authorized', { detail: "This takes a run's own API key" });
    const runId = request.get('x-warp-cloud-agent-id');
    if (runId !== undefined && runId.toLowerCase() !== caller.runId) {
      throw new Problem('not_authorized', {
        detail: 'X-Warp-Cloud-Agent-ID names another run than the key belongs to',
      });
    }
    const token = request.get('x-warp-ambient-workload-token');
    if (token !== undefined && !isWorkloadToken(this.keyring, caller.executionId, token)) {
      throw new Problem('not_authorized', {
        detail: 'X-Warp-Ambient-Workload-Token belongs to another execution',
      });
    }
    return true;
  }
}
