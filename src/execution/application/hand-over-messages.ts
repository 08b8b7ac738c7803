import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import {
  type ExecutionRef,
  RunMessageRepository,
  RunRepository,
  type WaitingMessage,
} from '../../runs/index.js';
import type { ResolvedPrompt } from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';

/** Gives the agent of an execution what it is to do: the prompt first, and then the messages that come while it works. */
@Injectable()
export class HandOverMessages {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly runs: RunRepository,
    private readonly messages: RunMessageRepository,
  ) {}

  /**
   * The first execution gets the run's prompt and the follow-ups that came before it, a later one the follow-ups alone; asked again,
   * the same. A run without a prompt of its own carries out its skill: the instructions are the prompt then.
   */
  async resolvePrompt(tx: Tx, execution: ExecutionRef): Promise<ResolvedPrompt> {
    await this.lease.hold(tx, execution);
    const { isFirst, messages } = await this.messages.deliverPrompt(tx, execution);
    const facts = await this.runs.executionFacts(tx, execution.runId);
    if (facts === undefined) throw Problem.notFound('run');
    const { prompt, agentConfig } = facts;
    const carriesOutSkill = isFirst && prompt === '';
    const opening = carriesOutSkill ? agentConfig.base_prompt : isFirst ? prompt : undefined;
    const text = [opening, ...messages].filter(Boolean).join('\n\n');
    return {
      prompt: text,
      system_prompt: carriesOutSkill ? undefined : agentConfig.base_prompt,
      resumption_prompt: text === '' ? 'Go on where you stopped.' : undefined,
    };
  }

  /** The messages that have come since the prompt and that no agent has been told yet. Changes nothing. */
  async waiting(tx: Tx, execution: ExecutionRef): Promise<WaitingMessage[]> {
    await this.lease.hold(tx, execution);
    return this.messages.waitingFor(tx, execution);
  }

  /**
   * The agent is told these now: no other execution will get them.
   *
   * @throws Problem 400 when one of them does not wait for this execution
   */
  async deliver(tx: Tx, execution: ExecutionRef, ids: string[]): Promise<void> {
    await this.lease.hold(tx, execution);
    if (!(await this.messages.deliver(tx, execution, ids))) {
      throw Problem.invalid([
        { field: 'message_ids', message: 'must be messages that wait for this execution' },
      ]);
    }
  }
}
