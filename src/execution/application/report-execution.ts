import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import {
  classifyFailure,
  ConversationRepository,
  ENDED_WITHOUT_RESULT,
  type ExecutionFacts,
  type ExecutionRef,
  RunLifecycle,
  RunMessageRepository,
  RunRepository,
} from '../../runs/index.js';
import { executionIsOver } from './execution-is-over.js';
import type {
  ClientEvent,
  FinishTaskRequest,
  ReportShutdownRequest,
  ResolvedPrompt,
  TranscriptFormat,
} from '../protocol/harness-support.js';

const MAX_TRANSCRIPT_BYTES = 100 * 1024 * 1024;

/**
 * What the agent of an execution asks and reports, under the run's own key.
 *
 * Every call renews the lease; one about an execution that is over (ended, asked to stop, or superseded) is a 409, at which the runner
 * stops.
 */
@Injectable()
export class ReportExecution {
  constructor(
    private readonly lifecycle: RunLifecycle,
    private readonly runs: RunRepository,
    private readonly messages: RunMessageRepository,
    private readonly conversations: ConversationRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  /** @throws Problem 409 when the execution is over */
  async heartbeat(execution: ExecutionRef): Promise<void> {
    if (!(await this.lifecycle.renewLease(execution))) throw executionIsOver();
  }

  /**
   * The first execution gets the run's prompt and the follow-ups that came before it, a later one the follow-ups alone; asked again,
   * the same. A run without a prompt of its own carries out its skill: the instructions are the prompt then.
   */
  async resolvePrompt(tx: Tx, execution: ExecutionRef): Promise<ResolvedPrompt> {
    await this.holdLease(tx, execution);
    const { isFirst, messages } = await this.messages.deliverPrompt(tx, execution);
    const { prompt, agentConfig } = await this.factsOf(execution, tx);
    const carriesOutSkill = isFirst && prompt === '';
    const opening = carriesOutSkill ? agentConfig.base_prompt : isFirst ? prompt : undefined;
    const text = [opening, ...messages].filter(Boolean).join('\n\n');
    return {
      prompt: text,
      system_prompt: carriesOutSkill ? undefined : agentConfig.base_prompt,
      resumption_prompt: text === '' ? 'Go on where you stopped.' : undefined,
    };
  }

  private async factsOf(
    { runId }: ExecutionRef,
    database: Queryable = this.database,
  ): Promise<ExecutionFacts> {
    const facts = await this.runs.executionFacts(database, runId);
    if (facts === undefined) throw Problem.notFound('run');
    return facts;
  }

  /** The agent is at work: the run is INPROGRESS. */
  async begin(tx: Tx, execution: ExecutionRef): Promise<{ sequence: number }> {
    await this.holdLease(tx, execution);
    await this.lifecycle.begin(tx, execution);
    return { sequence: await this.runs.latestSequence(tx, execution.runId) };
  }

  /** Opens the run's conversation, or finds it. */
  async openConversation(tx: Tx, execution: ExecutionRef, format: TranscriptFormat): Promise<string> {
    await this.holdLease(tx, execution);
    const id = await this.conversations.open(tx, execution.runId, newUuid(), format);
    if (id === undefined) {
      throw Problem.invalid([
        { field: 'format', message: 'must be the format of the conversation that is continued' },
      ]);
    }
    return id;
  }

  /** Where the transcript of the conversation so far is to be had; undefined when there is none. */
  async storedTranscriptUrl(execution: ExecutionRef, origin: string): Promise<string | undefined> {
    await this.heartbeat(execution);
    const key = (await this.conversations.ofRun(this.database, execution.runId))?.transcript_key;
    if (!key || !(await this.storage.exists(key))) return undefined;
    return this.storage.downloadUrl(key, {
      filename: 'transcript.jsonl',
      contentType: 'application/x-ndjson',
      origin,
    });
  }

  /**
   * Where the raw transcript is to be put; each execution writes its own object, so one that has lost its lease cannot overwrite
   * its successor's. It begins with what was there before, so that the conversation never has less than it had.
   */
  async transcriptTarget(
    tx: Tx,
    execution: ExecutionRef,
    conversationId: string,
    origin: string,
  ): Promise<UploadTarget> {
    await this.holdLease(tx, execution);
    const conversation = await this.conversations.ofRun(tx, execution.runId);
    if (conversation?.id !== conversationId) throw Problem.notFound('conversation of this run');
    const key = `conversations/${conversationId}/${String(execution.executionId)}.jsonl`;
    if (conversation.transcript_key !== key) {
      await this.copyTranscript(conversation.transcript_key, key);
    }
    await this.conversations.setTranscript(tx, conversationId, key);
    return this.storage.uploadTarget(key, {
      contentType: 'application/x-ndjson',
      maxBytes: MAX_TRANSCRIPT_BYTES,
      origin,
    });
  }

  private async copyTranscript(from: string | null, to: string): Promise<void> {
    const earlier = from === null ? undefined : await this.storage.open(from);
    if (earlier !== undefined) await this.storage.put(to, earlier.body, MAX_TRANSCRIPT_BYTES);
  }

  /** The outcome as the agent sees it. The first outcome of a run stands. */
  async finishTask(tx: Tx, execution: ExecutionRef, { success, summary }: FinishTaskRequest): Promise<void> {
    await this.holdLease(tx, execution);
    await this.lifecycle.finish(
      tx,
      execution,
      success
        ? { event: 'succeed', statusMessage: { message: summary } }
        : classifyFailure('agent_process_failed', summary),
    );
  }

  /** The last call: the execution is over. Accepted after a stop was asked for as well: it confirms the stop. */
  async reportShutdown(tx: Tx, execution: ExecutionRef, { error }: ReportShutdownRequest): Promise<void> {
    await this.lifecycle.close(
      tx,
      execution,
      error?.category ?? 'shutdown',
      error === undefined ? ENDED_WITHOUT_RESULT : classifyFailure(error.category, error.message),
    );
  }

  async clientEvent(tx: Tx, execution: ExecutionRef, event: ClientEvent): Promise<void> {
    await this.holdLease(tx, execution);
    await this.runs.addTimelineEvent(tx, {
      eventUuid: event.event_uuid,
      runId: execution.runId,
      executionId: execution.executionId,
      eventType: event.event_name,
      occurredAt: new Date(event.timestamp),
      payload: event.payload ?? null,
    });
  }

  /** In the transaction itself: one that waited for a second connection could wait for ever, when all do. */
  private async holdLease(tx: Tx, execution: ExecutionRef): Promise<void> {
    if (!(await this.lifecycle.holdLease(tx, execution))) throw executionIsOver();
  }
}
