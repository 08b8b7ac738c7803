import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import {
  type ExecutionRef,
  RunMessageRepository,
  RunRepository,
  type WaitingMessage,
} from '../../runs/index.js';
import type { ResolvedPrompt, ResolvePromptRequest } from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';
import { ExecutionSetting } from './execution-setting.js';

/** Gives the agent of an execution what it is to do: the prompt first, and then the messages that come while it works. */
@Injectable()
export class HandOverMessages {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly runs: RunRepository,
    private readonly messages: RunMessageRepository,
    private readonly setting: ExecutionSetting,
  ) {}

  /**
   * The first execution gets the run's prompt and the follow-ups that came before it, a later one the follow-ups alone; asked again,
   * the same. A run without a prompt of its own carries out its skill: the instructions are the prompt then.
   *
   * @param request a skill that the agent has read itself, in place of the run's; and where it has put the run's files
   */
  async resolvePrompt(
    tx: Tx,
    execution: ExecutionRef,
    { skill, attachments_dir: directory }: ResolvePromptRequest = {},
  ): Promise<ResolvedPrompt> {
    await this.lease.hold(tx, execution);
    const { isFirst, messages } = await this.messages.deliverPrompt(tx, execution);
    const facts = await this.runs.executionFacts(tx, execution.runId);
    if (facts === undefined) throw Problem.notFound('run');
    const { prompt, agentConfig } = facts;
    const instructions = skill?.content ?? agentConfig.base_prompt;
    const carriesOutSkill = isFirst && prompt === '';
    const opening = carriesOutSkill ? instructions : isFirst ? prompt : undefined;
    const text = [opening, ...messages].filter(Boolean).join('\n\n');
    return {
      prompt: text,
      system_prompt: carriesOutSkill ? undefined : instructions,
      resumption_prompt: text === '' ? 'Go on where you stopped.' : undefined,
      context: directory ? await this.filesIn(directory, execution.runId) : undefined,
    };
  }

  /** Tells the agent of the files that it was given; undefined when there are none. */
  private async filesIn(directory: string, runId: string): Promise<string | undefined> {
    const files = await this.setting.filesOf(runId);
    if (files.length === 0) return undefined;
    return `The files that you were given are in ${directory}: ${files.map(({ fileName }) => fileName).join(', ')}`;
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
