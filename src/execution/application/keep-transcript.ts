import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import { ConversationRepository, type ConversationRow, type ExecutionRef } from '../../runs/index.js';
import type { TranscriptFormat } from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';

const MAX_BYTES = 100 * 1024 * 1024;

/** Where the agent of an execution finds and puts the transcript of its conversation, and puts what its terminal shows. */
@Injectable()
export class KeepTranscript {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly conversations: ConversationRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  /** Opens the run's conversation, or finds it. */
  async openConversation(tx: Tx, execution: ExecutionRef, format: TranscriptFormat): Promise<string> {
    await this.lease.hold(tx, execution);
    const id = await this.conversations.open(tx, execution.runId, newUuid(), format);
    if (id === undefined) {
      throw Problem.invalid([
        { field: 'format', message: 'must be the format of the conversation that is continued' },
      ]);
    }
    return id;
  }

  /** Where the transcript of the conversation so far is to be had; undefined when there is none. */
  async storedUrl(execution: ExecutionRef, origin: string): Promise<string | undefined> {
    await this.lease.renew(execution);
    const key = (await this.conversations.ofRun(this.database, execution.runId))?.transcript_key;
    if (!key || (await this.storage.stat(key)) === undefined) return undefined;
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
  async target(
    tx: Tx,
    execution: ExecutionRef,
    conversationId: string,
    origin: string,
  ): Promise<UploadTarget> {
    const conversation = await this.own(tx, execution, conversationId);
    const key = `conversations/${conversationId}/${String(execution.executionId)}.jsonl`;
    await this.copy(conversation.transcript_key, key);
    await this.conversations.setTranscript(tx, conversationId, key);
    return this.storage.uploadTarget(key, {
      contentType: 'application/x-ndjson',
      maxBytes: MAX_BYTES,
      origin,
    });
  }

  /** The same for a snapshot of what the agent's terminal shows. */
  async blockSnapshotTarget(
    tx: Tx,
    execution: ExecutionRef,
    conversationId: string,
    origin: string,
  ): Promise<UploadTarget> {
    const conversation = await this.own(tx, execution, conversationId);
    const key = `conversations/${conversationId}/${String(execution.executionId)}.blocks.json`;
    await this.copy(conversation.block_snapshot_key, key);
    await this.conversations.setBlockSnapshot(tx, conversationId, key);
    return this.storage.uploadTarget(key, { contentType: 'application/json', maxBytes: MAX_BYTES, origin });
  }

  private async own(tx: Tx, execution: ExecutionRef, conversationId: string): Promise<ConversationRow> {
    await this.lease.hold(tx, execution);
    const conversation = await this.conversations.ofRun(tx, execution.runId);
    if (conversation?.id !== conversationId) throw Problem.notFound('conversation of this run');
    return conversation;
  }

  private async copy(from: string | null, to: string): Promise<void> {
    const earlier = from === null || from === to ? undefined : await this.storage.open(from);
    if (earlier !== undefined) await this.storage.put(to, earlier.body, MAX_BYTES);
  }
}
